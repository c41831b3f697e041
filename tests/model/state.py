"""A state as dicts, and presence by definition. Invariant: nothing is kept that can be computed.

A fact is (predicate, ids). Multiplicities and transitions are fact -> {iteration: number}, without
zeros. Transitions are state, and not computed from multiplicities, because derivations count the
transitions that have been settled.
"""

from __future__ import annotations

from collections import defaultdict

from oracle.aggregates import order

from streamreasoner.engine.ports import LAST_ITERATION
from streamreasoner.engine.updates import MAX_MULTIPLICITY
from streamreasoner.errors import MultiplicityOverflowError


class Program:
    """What a plan says about single facts.

    Attributes:
        plan: The plan.
        terms: Terms of ids.
    """

    def __init__(self, plan, terms):
        self.plan = plan
        self.terms = terms
        self._groups = {}
        self._strata = {}

    def matches(self, fact, pattern):
        """Whether a fact has the predicate and the constants of a pattern."""
        predicate, args = fact
        return predicate == pattern.predicate and all(
            args[position] == self.terms.id(term) for position, term in pattern.constants
        )

    def stratum(self, fact):
        """The stratum that derives a fact; 0 if none does."""
        if fact not in self._strata:
            self._strata[fact] = max(
                number
                for number, stratum in enumerate((None, *self.plan.strata))
                if number == 0 or any(self.matches(fact, head) for head in stratum.heads)
            )
        return self._strata[fact]

    def group(self, fact):
        """The lattice of a candidate, or None, and what it has in common with its competitors."""
        if fact not in self._groups:
            predicate, args = fact
            self._groups[fact] = None, fact
            for lattice in self.plan.lattices:
                if self.matches(fact, lattice.pattern):
                    key = predicate, *(args[position] for position in lattice.key)
                    self._groups[fact] = lattice, key
        return self._groups[fact]

    def best(self, lattice, candidates):
        """The one of some facts of a group that wins."""
        if lattice is None:
            (only,) = candidates
            return only
        choose = {"min": min, "max": max}[lattice.function]
        return choose(
            candidates, key=lambda fact: order(self.terms.text(fact[1][lattice.position]))
        )


class State:
    """Facts with their multiplicities, and the transitions that have been settled.

    Attributes:
        multiplicities: Fact -> {iteration: multiplicity}.
        transitions: Fact -> {iteration: 1 if it becomes present, -1 if it becomes absent}.
        results: Reduction -> the facts it has derived.
    """

    def __init__(self):
        self.multiplicities = {}
        self.transitions = {}
        self.results = {}

    def copy(self):
        """A state that shares nothing with this one."""
        state = State()
        state.multiplicities = difference(self.multiplicities, {})
        state.transitions = difference(self.transitions, {})
        state.results = dict(self.results)
        return state

    def add(self, fact, iteration, multiplicity):
        """Add to a multiplicity.

        Raises:
            MultiplicityOverflowError: The sum leaves the range of a multiplicity.
        """
        total = self.multiplicities.get(fact, {}).get(iteration, 0) + multiplicity
        if abs(total) > MAX_MULTIPLICITY:
            raise MultiplicityOverflowError
        put(self.multiplicities, fact, iteration, total)

    def total(self, fact, iteration=LAST_ITERATION):
        """The sum of a fact's multiplicities up to and including an iteration."""
        entries = self.multiplicities.get(fact, {})
        return sum(number for at, number in entries.items() if at <= iteration)

    def holds(self, fact):
        """Whether the settled transitions leave a fact present."""
        return sum(self.transitions.get(fact, {}).values()) > 0

    @property
    def present(self):
        """The facts that the settled transitions leave present."""
        return {fact for fact in self.transitions if self.holds(fact)}

    @property
    def asserted(self):
        """The facts with a positive multiplicity at iteration 0."""
        return {fact for fact, entries in self.multiplicities.items() if entries.get(0, 0) > 0}

    @property
    def facts(self):
        """The facts with a multiplicity or a transition."""
        return self.multiplicities.keys() | self.transitions.keys()

    def iterations(self, program, stratum):
        """The iterations at which facts of a stratum have a multiplicity or a transition."""
        own = [fact for fact in self.facts if program.stratum(fact) == stratum]
        return {
            iteration
            for entries in (self.multiplicities, self.transitions)
            for fact in own
            for iteration in entries.get(fact, ())
        }

    def winners(self, program, stratum, iteration):
        """The facts of a stratum that are present at an iteration, by their multiplicities."""
        groups = defaultdict(list)
        for fact in self.multiplicities:
            if program.stratum(fact) == stratum and self.total(fact, iteration) > 0:
                groups[program.group(fact)].append(fact)
        return {program.best(lattice, each) for (lattice, _), each in groups.items()}

    def settle(self, program, stratum, iteration):
        """Set the transitions of a stratum at an iteration; returns fact -> change."""
        now = self.winners(program, stratum, iteration)
        before = self.winners(program, stratum, iteration - 1)
        changes = {}
        for fact in self.facts:
            if program.stratum(fact) == stratum:
                transition = (fact in now) - (fact in before)
                change = transition - self.transitions.get(fact, {}).get(iteration, 0)
                if change:
                    changes[fact] = change
                    put(self.transitions, fact, iteration, transition)
        return changes

    def settle_all(self, program):
        """Set all transitions."""
        for stratum in range(len(program.plan.strata) + 1):
            for iteration in self.iterations(program, stratum):
                self.settle(program, stratum, iteration)

    def seen(self, program, stratum):
        """The transitions that a stratum reads: facts of lower ones are present from 0 on."""
        return {
            fact: entries if program.stratum(fact) == stratum else {0: 1}
            for fact, entries in self.transitions.items()
            if program.stratum(fact) == stratum
            or (program.stratum(fact) < stratum and self.holds(fact))
        }


def put(entries, fact, iteration, number):
    """Set a number of a fact at an iteration, or remove it if it is 0."""
    of_fact = entries.setdefault(fact, {})
    of_fact[iteration] = number
    if not number:
        del of_fact[iteration]
    if not of_fact:
        del entries[fact]


def difference(entries, others):
    """Numbers by fact and iteration, minus others."""
    result = {fact: dict(of_fact) for fact, of_fact in entries.items()}
    for fact, of_fact in others.items():
        for iteration, number in of_fact.items():
            put(result, fact, iteration, result.get(fact, {}).get(iteration, 0) - number)
    return result
