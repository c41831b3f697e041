"""The engine's port over dicts. Invariant: `rollback` returns to a copy, so nothing is undone.

It settles every iteration of a stratum, touched or not, and compares whole states to tell what an
epoch changed. It does not count results that do not fit 64 bits.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from oracle.aggregates import results

from model.leaves import NestedLoops
from model.state import Program, State, difference
from model.terms import Terms
from streamreasoner.engine.epoch import NO_WORK
from streamreasoner.engine.evaluate import evaluate
from streamreasoner.engine.ports import (
    LAST_ITERATION,
    NO_BOUND,
    UNLIMITED,
    BudgetSpentError,
    Effort,
    EpochChanges,
    Selection,
    Statistics,
)
from streamreasoner.engine.updates import Changes, TraceRows, check_arity
from streamreasoner.plan.algebra import Age
from streamreasoner.plan.operands import RESULT, Column
from streamreasoner.system.capacity import Capacity


class ModelBackend:
    """Keeps the state in dicts; see `Backend`.

    Attributes:
        program: The current program.
        state: What the epoch has made of the state so far.

    Args:
        plan: The program.
        dictionary: Terms of ids.
    """

    def __init__(self, plan, dictionary):
        self._terms = Terms(dictionary)
        self.program = self._committed_program = Program(plan, self._terms)
        self.state, self._committed = State(), State()
        self._stratum = 0
        self._present = set()
        self._lower, self._deltas = {}, {}
        self._work, self._budget = 0, UNLIMITED

    def add(self, updates):
        """Add asserted multiplicities."""
        check_arity(updates.predicate, updates.args, self.program.plan.arities)
        for fact, multiplicity in _rows(updates, updates.multiplicity):
            self.state.add(fact, updates.iteration, multiplicity)

    def migrate(self, change):
        """Read the state as another program."""
        self.program = Program(change.after, self._terms)
        self._evaluations = change.evaluations

    def evaluate(self):
        """Add or subtract what the rules of the change derive from all facts."""
        for each in self._evaluations:
            program = self.program if each.sign > 0 else self._committed_program
            self._add_heads(self._in_full(program, each.stratum, each.rule), each.sign)

    def retract(self, reduction):
        """Subtract the facts of a reduction."""
        self._replace_results(reduction, set())

    def resettle(self, lattices):
        """Nothing to do: all iterations are settled."""

    def enter(self, stratum):
        """Start a stratum with the presence that lower strata gained and lost."""
        self._stratum = stratum
        before, after = self._present, self.state.present
        self._lower = {
            fact: (fact in after) - (fact in before)
            for fact in before ^ after
            if self.program.stratum(fact) < stratum
        }

    def effort(self):
        """Sizes of the committed state, and the heads of this epoch."""
        before = self._committed
        return Effort(
            asserted=len(before.asserted),
            derivations=sum(
                multiplicity
                for entries in before.multiplicities.values()
                for iteration, multiplicity in entries.items()
                if iteration > 0
            ),
            work=self._work,
        )

    def limit(self, work):
        """Set the most heads of an epoch."""
        self._budget = work

    def recompute(self):
        """Keep what is asserted and what the program states, as if nothing was there before."""
        barriers = {p.predicate for each in self.program.plan.strata for p in each.barriers}
        former, self.state, self._present = self.state, State(), set()
        for fact, entries in former.multiplicities.items():
            for iteration, multiplicity in entries.items():
                if iteration == 0 or fact[0] in barriers:
                    self.state.add(fact, iteration, multiplicity)
        self._work, self._budget = 0, UNLIMITED
        return True

    def reduce(self, reduction):
        """Replace the facts of a reduction by those of its candidates."""
        self._replace_results(reduction, self._reduced(reduction))

    def next_touched(self, after):
        """The next iteration at which a fact of the stratum has a multiplicity or a transition."""
        later = self.state.iterations(self.program, self._stratum)
        if self._lower:
            later.add(0)
        return min((iteration for iteration in later if iteration > after), default=-1)

    def present(self, predicate, bound):
        """The present facts of a predicate with these ids at these positions."""
        facts = [fact for fact in self.state.present if _matches(fact, predicate, bound)]
        return self._args(predicate, facts)

    def settle(self, iteration):
        """Set the transitions of the stratum at an iteration; returns the number of deltas."""
        self._deltas = self.state.settle(self.program, self._stratum, iteration)
        if iteration == 0:
            self._deltas |= self._lower
        return len(self._deltas)

    def derive(self, iteration):
        """Evaluate the plans of the stratum on the deltas."""
        new = self.state.seen(self.program, self._stratum)
        deltas = {fact: {iteration: change} for fact, change in self._deltas.items()}
        leaves = NestedLoops(self._terms, deltas, {Age.NEW: new, Age.OLD: difference(new, deltas)})
        if self._stratum > 0:
            for plan in self.program.plan.strata[self._stratum - 1].plans:
                heads = evaluate(plan, leaves)
                self._work += len(heads)
                if self._work > self._budget:
                    raise BudgetSpentError
                self._add_heads(heads, 1)

    def changes(self):
        """The difference to the committed state."""
        before, after = self._committed, self.state
        return EpochChanges(
            self._signed(before.present - before.asserted, after.present - after.asserted),
            self._signed(before.present, after.present),
            self._trace_changes(),
        )

    def work(self):
        """It counts none: derived heads are summed."""
        return NO_WORK

    def commit(self):
        """Copy the state."""
        self._committed, self._committed_program = self.state.copy(), self.program
        self._present, self._work = self._committed.present, 0

    def rollback(self):
        """Return to the copy."""
        self.state, self.program = self._committed.copy(), self._committed_program
        self._present, self._work = self._committed.present, 0

    def restore(self, rows):
        """Load multiplicities; results and transitions follow from them."""
        for batch in rows:
            check_arity(batch.predicate, batch.args, self.program.plan.arities)
            iterations = batch.iteration.tolist()
            for (fact, multiplicity), iteration in zip(
                _rows(batch, batch.multiplicity), iterations, strict=True
            ):
                self.state.add(fact, iteration, multiplicity)
        for reduction in self.program.plan.reductions:
            self.state.results[reduction] = self._reduced(reduction)
        self.state.settle_all(self.program)
        self.commit()

    def trace(self, predicate, bound=NO_BOUND):
        """Every (fact, iteration, multiplicity) of the facts with these ids at these positions."""
        held = self.state.multiplicities
        found = {fact: held[fact] for fact in held if _matches(fact, predicate, bound)}
        return self._trace_rows(predicate, found)

    def facts(self, predicate):
        """The present facts of a predicate."""
        return self._args(predicate, [f for f in self.state.present if f[0] == predicate])

    def facts_of(self, predicates):
        """The present facts of predicates."""
        return {predicate: self.facts(predicate) for predicate in predicates}

    def asserted(self, predicate, args):
        """Multiplicities at iteration 0 of facts."""
        held = self.state.multiplicities
        facts = [(predicate, tuple(row)) for row in args.tolist()]
        return np.array([held.get(fact, {}).get(0, 0) for fact in facts], np.int64)

    def members(self, predicate, keys):
        """The present facts that begin with one of these ids."""
        wanted = set(keys.tolist())
        facts = [f for f in self.state.present if f[0] == predicate and f[1][0] in wanted]
        return self._args(predicate, facts)

    def select(self, predicate, bound, iteration=LAST_ITERATION):
        """The facts of a predicate with these ids at these positions."""
        state, chosen, times, sums = self.state, [], [], []
        for fact in state.facts:
            if _matches(fact, predicate, bound):
                transitions = state.transitions.get(fact, {})
                upto = {at: each for at, each in transitions.items() if at <= iteration}
                ends = [at for at in transitions if at > iteration]
                chosen.append(fact)
                present = sum(upto.values()) > 0
                since, until = max(upto, default=-1), min(ends, default=-1)
                times.append(
                    (self.program.stratum(fact), *((since, until) if present else (-1, -1)))
                )
                sums.append((state.multiplicities.get(fact, {}).get(0, 0), state.total(fact)))
        return Selection(
            self._args(predicate, chosen),
            *np.array(times, np.int32).reshape(-1, 3).T,
            *np.array(sums, np.int64).reshape(-1, 2).T,
        )

    def statistics(self):
        """Sizes of the dicts."""
        state, hidden = self.state, self.program.plan.hidden
        return Statistics(
            facts=len(state.facts),
            present=sum(predicate not in hidden for predicate, _ in state.present),
            asserted=len(state.asserted),
            below_zero=sum(state.total(fact) < 0 for fact in state.multiplicities),
            trace_rows=sum(map(len, state.multiplicities.values())),
            bytes=0,
            overflows=0,
            capacity=Capacity(0),
        )

    def _in_full(self, program, stratum, rule):
        """What a rule derives from all facts, driven by its first atom."""
        seen = self.state.seen(program, stratum)
        leaves = NestedLoops(self._terms, seen, {Age.NEW: seen, Age.OLD: seen})
        return evaluate(rule.plans[0], leaves)

    def _add_heads(self, heads, sign):
        for (fact, iteration), multiplicity in heads.items():
            self.state.add(fact, iteration, sign * multiplicity)

    def _replace_results(self, reduction, results):
        """Replace the facts of a reduction by others, at iteration 1."""
        former = self.state.results.pop(reduction, set())
        for fact in former ^ results:
            self.state.add(fact, 1, (fact in results) - (fact in former))
        if results:
            self.state.results[reduction] = results

    def _reduced(self, reduction):
        """The facts of a reduction, computed from all its candidates."""
        groups = defaultdict(list)
        for fact in self.state.multiplicities:
            predicate, args = fact
            if predicate == reduction.candidates:
                key, value = args[: len(reduction.key)], args[len(reduction.key) :]
                # A candidate of `count` has no value.
                text = "".join(map(self._terms.text, value))
                groups[key] += [text] * self.state.total(fact)
        names = [name for name in reduction.head.columns if name != RESULT]
        found = set()
        for key, values in groups.items():
            for text in results(reduction.function, values) if values else ():
                ids = dict(zip(names, key, strict=True)) | {RESULT: self._terms.id(text)}
                found.add((reduction.head.predicate, self._head(reduction.head, ids)))
        return found

    def _head(self, pattern, ids):
        return tuple(
            ids[each.name] if isinstance(each, Column) else self._terms.id(each.term)
            for each in pattern.arguments
        )

    def _signed(self, before, after):
        """The facts of visible predicates that only one of two sets has."""
        by_predicate = defaultdict(list)
        for fact in sorted(before ^ after):
            if fact[0] not in self.program.plan.hidden:
                by_predicate[fact[0]].append(fact)
        return tuple(
            Changes(
                predicate,
                self._args(predicate, facts),
                np.array([1 if fact in after else -1 for fact in facts], np.int8),
            )
            for predicate, facts in by_predicate.items()
        )

    def _trace_changes(self):
        changed = difference(self.state.multiplicities, self._committed.multiplicities)
        predicates = sorted({predicate for predicate, _ in changed})
        return tuple(self._trace_rows(each, changed) for each in predicates)

    def _trace_rows(self, predicate, multiplicities):
        rows = [
            (fact, iteration, multiplicity)
            for fact, entries in multiplicities.items()
            if fact[0] == predicate
            for iteration, multiplicity in entries.items()
        ]
        return TraceRows(
            predicate,
            self._args(predicate, [fact for fact, _, _ in rows]),
            np.array([iteration for _, iteration, _ in rows], np.int32),
            np.array([multiplicity for _, _, multiplicity in rows], np.int64),
        )

    def _args(self, predicate, facts):
        arity = self.program.plan.arities[predicate]
        return np.array([args for _, args in facts], np.int32).reshape(len(facts), arity)


def _matches(fact, predicate, bound):
    """Whether a fact is of a predicate, and has ids at their positions."""
    return fact[0] == predicate and all(
        fact[1][at] in np.atleast_1d(each) for at, each in bound.items()
    )


def _rows(collection, numbers):
    """(fact, number) of each row of a collection."""
    for args, number in zip(collection.args.tolist(), numbers.tolist(), strict=True):
        yield (collection.predicate, tuple(args)), number
