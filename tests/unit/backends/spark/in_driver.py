"""The steps of the Spark backend on rows in the driver. Invariant: no session of Spark is needed.

DuckDB answers all queries over few rows, and the committed state is the model's, row by row, so
that each step is compared with dicts.
"""

from __future__ import annotations

from itertools import product
from random import Random

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from model import ModelBackend, State
from oracle.arithmetic import numeral
from strategies import checked
from thorough import THOROUGH

from streamreasoner.backends.spark.epoch.differences import ALL_ITERATIONS, Differences
from streamreasoner.backends.spark.epoch.settling import settled
from streamreasoner.backends.spark.epoch.term_lookup import TermLookup
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    MULTIPLICITY,
    PREDICATE,
    TRANSITION,
    arguments,
    schema,
)
from streamreasoner.backends.spark.queries.encoded_program import EncodedProgram
from streamreasoner.backends.spark.queries.patterns import members
from streamreasoner.backends.spark.queries.spark_rows import QueryRunner
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.rdf.dictionary import Dictionary

FEW = settings(max_examples=300 if THOROUGH else 4)
"""An epoch is some hundred queries, each of which DuckDB plans."""

PROGRAM = """
p(?x, ?y) :- e(?x, ?y), ?x != ?y .
p(?x, ?z) :- p(?x, ?y), e(?y, ?z), not f(?z) .
q(?x, 1) :- f(?x), not p(?x, ?x), ?v = ?x + 1, e(?v, _) .
q(2, ?y) :- e(?y, ?y) .
d(?x, min(?v)) :- e(?x, ?v) .
d(?y, min(?v + 1)) :- d(?x, ?v), p(?x, ?y), ?v < 3 .
n(?x, count(?y)) :- p(?x, ?y) .
s(sum(?y)) :- e(_, ?y) .
"""
"""Recursion, negation, computed values, constants in heads, a lattice and two reductions."""


def _many(seed):
    """Additions to most facts; they shrink to another seed only."""
    random = Random(seed)
    return [
        (random.randrange(10**6), random.choice((0, 0, 1, 2, 3)), random.choice((1, 1, -1, 2, -1)))
        for _ in range(random.randrange(10, 40))
    ]


MANY = st.integers(0, 10**6).map(_many)
"""States in which joins have rows."""
CHANGES = st.one_of(
    MANY,
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 3), st.sampled_from((1, 1, 1, -1, 2, -2))),
        max_size=12,
    ),
)
"""Additions: the number of a fact, an iteration and a multiplicity."""


class Overflows:
    """An accumulator in one process."""

    def __init__(self):
        self.value = 0

    def add(self, count):
        """Add to the value."""
        self.value += count


class HeldState:
    """The committed state as rows in memory; see `CommittedState`. It leaves no row out."""

    def __init__(self, steps, state):
        self._steps = steps
        self._rows = steps.rows_of(state)

    @property
    def empty(self):
        """Whether it has no rows."""
        return self._rows.empty

    def read(self, arrangement, keys, names):  # noqa: ARG002 - they may be used, and need not be
        """The rows of an arrangement."""
        intern = self._steps.terms.intern
        constants = [(position, intern(term)) for position, term in arrangement.constants]
        found = members(self._rows.table, arrangement.predicate, constants)
        return [self._steps.runner.from_table(found)] if found.num_rows else []


class Steps:
    """A program, and what its queries need.

    Attributes:
        runner: Runs them.
        terms: Terms of ids.
        model: The model's view of the program, and of states.
        program: The program of the queries.
        facts: The facts of few terms, of all predicates.
    """

    def __init__(self, text=PROGRAM):
        dictionary = Dictionary()
        plan = lower(checked(text))
        self.runner = QueryRunner(None, "")
        self.terms = TermLookup(self.runner, dictionary, Overflows())
        self.model = ModelBackend(plan, dictionary)
        self.program = EncodedProgram.of(plan, dictionary.intern)
        ids = [dictionary.intern(numeral(number)) for number in (1, 2)]
        self.facts = [
            (predicate, args)
            for predicate, arity in plan.arities.items()
            if predicate != "triple"
            for args in product(ids, repeat=arity)
        ]

    def state(self, changes):
        """A settled state of the model."""
        state = self.changed(State(), changes)
        state.settle_all(self.model.program)
        return state

    def changed(self, state, changes):
        """A copy of a state with additions, not settled."""
        state = state.copy()
        for number, iteration, multiplicity in changes:
            state.add(self.facts[number % len(self.facts)], iteration, multiplicity)
        return state

    def relation(self, rows, *names):
        """Rows of facts and numbers as a relation of the driver."""
        width = self.program.width
        flat = [(fact, (*args, *[0] * (width - len(args))), *n) for (fact, args), *n in rows]
        columns = list(zip(*((fact, *args, *n) for fact, args, *n in flat), strict=True))
        form = schema((PREDICATE, *arguments(width), *names))
        arrays = [
            pa.array(column, kind.type)
            for column, kind in zip(columns or [()] * len(form), form, strict=True)
        ]
        return self.runner.from_table(pa.Table.from_arrays(arrays, schema=form))

    def rows_of(self, state):
        """The rows of a state of the model, as the state's table has them."""
        places = {
            (fact, iteration)
            for entries in (state.multiplicities, state.transitions)
            for fact, of_fact in entries.items()
            for iteration in of_fact
        }
        rows = [
            (
                fact,
                iteration,
                state.multiplicities.get(fact, {}).get(iteration, 0),
                state.transitions.get(fact, {}).get(iteration, 0),
            )
            for fact, iteration in sorted(places)
        ]
        return self.relation(rows, ITERATION, MULTIPLICITY, TRANSITION)

    def read(self, relation, *names):
        """Rows of a relation in the driver: the fact, and the values of columns."""
        table = relation.table
        cells = zip(
            *(table[name].to_pylist() for name in arguments(self.program.width)), strict=True
        )
        values = [table[name].to_pylist() for name in names]
        arities = self.program.plan.arities
        return [
            ((predicate, args[: arities[predicate]]), *rest)
            for predicate, args, *rest in zip(
                table[PREDICATE].to_pylist(), cells, *values, strict=True
            )
        ]

    def differences(self, state, changes):
        """The differences of an epoch that adds multiplicities to a state."""
        differences = Differences(self.runner, HeldState(self, state), self.program)
        differences.add(self.additions(changes))
        return differences

    def additions(self, changes):
        """Additions as a relation."""
        rows = [(self.facts[number % len(self.facts)], *rest) for number, *rest in changes]
        return self.relation(rows, ITERATION, MULTIPLICITY)

    def settled(self, differences):
        """Settle all strata; yields (stratum, iteration, changed transitions or None)."""
        for stratum in range(len(self.program.plan.strata) + 1):
            lower = differences.transitions.select(range(stratum), ALL_ITERATIONS)
            iteration = differences.next_touched(stratum, -1) if lower.empty else 0
            while iteration >= 0:
                yield stratum, iteration, settled(differences, self.terms, stratum, iteration)
                iteration = differences.next_touched(stratum, iteration)


def counted(rows):
    """Fact -> {place: sum}, without zeros, of rows that end with a place and a number."""
    found = {}
    for fact, iteration, number in rows:
        entries = found.setdefault(fact, {})
        entries[iteration] = entries.get(iteration, 0) + number
    cleaned = {
        fact: {place: number for place, number in entries.items() if number}
        for fact, entries in found.items()
    }
    return {fact: entries for fact, entries in cleaned.items() if entries}
