"""Changing the program. Invariant: rules that both programs share are not evaluated.

The multiplicities of a trace are sums over rules. A removed rule is evaluated once on the current
state and its result subtracted; an added rule is evaluated once and its result added. The epoch
then settles this like any other change, with the plans of the new program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from streamreasoner.backends.spark.epoch import groups
from streamreasoner.backends.spark.epoch.leaves import BoundRows, QueryLeaves
from streamreasoner.backends.spark.queries import sql
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    MULTIPLICITY,
    SIGN,
    STRATUM,
    TRANSITION,
    arguments,
    fact,
    schema,
)
from streamreasoner.backends.spark.queries.patterns import encode, heads, places
from streamreasoner.engine.evaluate import evaluate
from streamreasoner.plan.algebra import Age, Scan
from streamreasoner.plan.program_change import program_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamreasoner.backends.spark.epoch.term_lookup import TermLookup
    from streamreasoner.backends.spark.queries.relation import QueryRunner, Relation
    from streamreasoner.backends.spark.tables.committed import CommittedState
    from streamreasoner.plan.algebra import Delta
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_plan import ProgramPlan, RulePlan


def following(before: ProgramPlan, after: ProgramPlan) -> ProgramPlan:
    """The new program with the predicates of the old, whose facts stay in the state."""
    return replace(
        after, arities=before.arities | after.arities, hidden=before.hidden | after.hidden
    )


@dataclass(frozen=True, slots=True)
class FullLeaves(QueryLeaves):
    """Evaluates plans on all facts, not only on changed ones.

    Attributes:
        sign: 1 or -1, the multiplicity of each derivation.
    """

    sign: int

    def facts(self, pattern: Pattern) -> BoundRows:
        """All transitions of the facts that match."""
        once = pa.table([[0], [self.sign]], schema=schema((ITERATION, SIGN)))
        nothing = BoundRows(self.runner.from_table(once), {})
        facts = self.join(Scan(pattern, Age.NEW), nothing)
        return replace(facts, rows=self.runner.collect_if_small(facts.rows))

    def delta(self, node: Delta) -> BoundRows:
        """All facts of the atom, which `delta_rows` holds."""
        return BoundRows(
            self.delta_rows, {name: f"v{i}" for i, name in enumerate(places(node.pattern))}
        )


@dataclass(frozen=True, slots=True)
class StateDifferences:
    """Differences that a change of program makes to the state.

    Attributes:
        runner: Runs the queries.
        state: The committed state.
        terms: Terms of ids.
        before: The program of the state.
        after: The new program.
        width: Number of argument columns.
    """

    runner: QueryRunner
    state: CommittedState
    terms: TermLookup
    before: ProgramPlan
    after: ProgramPlan
    width: int

    def derived(self) -> Iterator[Relation]:
        """Multiplicities of heads of removed and added rules."""
        change = program_change(self.before, self.after)
        yield from self._rules(change.withdrawn, self.before, -1)
        yield from self._rules(change.added, self.after, 1)
        yield from self._results()

    def regrouped(self) -> Relation:
        """The facts of lattices that only one program has: their transitions may change."""
        changed = set(self.before.lattices) ^ set(self.after.lattices)
        parts, seen = [], ["false"]
        # Sorted, so that a replayed epoch gives terms the same ids.
        for lattice in sorted(changed, key=repr):
            pattern = lattice.pattern
            parts += [
                self.runner.query(sql.filtered(f"NOT ({' OR '.join(seen)})"), rows=rows)
                for rows in self.state.read(groups.group_of_lattice(lattice), None, {})
            ]
            seen.append(sql.condition(pattern.predicate, encode(pattern, self.terms.intern)))
        return self.runner.union(parts, (*fact(self.width), ITERATION, MULTIPLICITY, TRANSITION))

    def _rules(
        self, rules: Iterable[tuple[int, RulePlan]], program: ProgramPlan, sign: int
    ) -> Iterator[Relation]:
        """What rules of a program derive, each driven by its atom with the fewest facts."""
        strata = sql.first_that_holds(heads(program, self.terms.intern), 0)
        none = self.runner.from_table(
            schema((*fact(self.width), STRATUM, ITERATION, TRANSITION)).empty_table()
        )
        facts: dict[tuple[int, Pattern], BoundRows] = {}
        for stratum, rule in rules:
            leaves = FullLeaves(
                runner=self.runner,
                state=self.state,
                terms=self.terms,
                delta_rows=none,
                overlay=lambda _age: none,
                stratum=stratum,
                stratum_of=strata,
                iteration=0,
                width=self.width,
                sign=sign,
            )
            drivers = []
            for plan in rule.plans:
                if plan.delta.negated:
                    continue
                place = stratum, plan.delta.pattern
                if place not in facts:
                    facts[place] = leaves.facts(plan.delta.pattern)
                drivers.append((facts[place].rows, plan))
            rows, plan = min(drivers, key=_size)
            yield evaluate(plan, replace(leaves, delta_rows=rows))

    def _results(self) -> Iterator[Relation]:
        """Results of removed reductions, negated. Added ones follow from their candidates."""
        current = frozenset(self.after.reductions)
        removed = [each for each in self.before.reductions if each not in current]
        cells = arguments(self.width)
        for reduction in removed:
            parts = self.state.read(groups.group_of_reduction(reduction), None, {})
            candidates = self.runner.query(
                sql.candidates_of_none(cells),
                rows=self.runner.union(parts, (*cells, MULTIPLICITY)),
            )
            yield groups.results(
                self.runner, self.terms, reduction, self.runner.materialize(candidates), self.width
            )


def _size(driver: tuple[Relation, object]) -> float:
    table = driver[0].table
    return float("inf") if table is None else table.num_rows
