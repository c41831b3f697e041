"""Leaves as queries: each plan derives what nested loops over dicts derive."""

from __future__ import annotations

from collections import Counter
from functools import cache, partial

from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from model import NestedLoops
from model.state import difference
from oracle.arithmetic import numeral
from thorough import THOROUGH
from unit.backends.spark.in_driver import MANY, HeldState, Steps

from streamreasoner.backends.spark.epoch.leaves import QueryLeaves, holds, value_of
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    LATTICE,
    MULTIPLICITY,
    PLAIN,
    STRATUM,
    TRANSITION,
)
from streamreasoner.engine.evaluate import evaluate
from streamreasoner.plan import operands
from streamreasoner.plan.algebra import Age
from streamreasoner.values.comparison import Operator

RULES = (
    "p(?x, ?z) :- p(?x, ?y), p(?y, ?z), e(?x, ?x) .",
    "p(?x, ?y) :- e(?x, ?y), p(?y, _), not f(?y) .\nf(?x) :- g(?x) .",
    "v(?x, ?v) :- e(?x, ?y), ?v = ?x + ?y, ?y < ?v .\nv(?x, ?x) :- v(?x, ?x), e(?x, 3) .",
    "c(?x) :- e(?x, ?x * 2) .\nc(1) :- c(2), not e(_, 1) .",
    "k(1, ?y) :- k(2, ?y), e(?y, 1) .\nk(2, ?y) :- k(1, ?y), e(1, ?y) .",
)
X, Y = operands.Column("x"), operands.Column("y")
TEXTS = [numeral(1), numeral(2), '"a"']


@examples(max_examples=500 if THOROUGH else 15)
@given(st.sampled_from(RULES), MANY, MANY)
def test_a_plan_derives_what_nested_loops_derive(text, committed, changes):
    """From the deltas of an iteration, with facts old and new, in the state and in the epoch."""
    steps = steps_of(text)
    program = steps.model.program
    before = steps.state(committed)
    state = steps.changed(before, changes)
    differences, held = steps.differences(before, []), HeldState(steps, before)
    for stratum, iteration in _places(steps, state):
        deltas = state.settle(program, stratum, iteration)
        logged = [(fact, stratum, PLAIN, iteration, change) for fact, change in deltas.items()]
        differences.transitions.add(steps.relation(logged, STRATUM, LATTICE, ITERATION, TRANSITION))
        if stratum == 0:
            continue
        if iteration == 0:
            deltas |= _lower(program, before, state, stratum)
        new = state.seen(program, stratum)
        sides = {fact: {iteration: change} for fact, change in deltas.items()}
        loops = NestedLoops(program.terms, sides, {Age.NEW: new, Age.OLD: difference(new, sides)})
        leaves = QueryLeaves(
            runner=steps.runner,
            state=held,
            terms=steps.terms,
            delta_rows=steps.relation(deltas.items(), TRANSITION),
            overlay=partial(differences.visible, stratum=stratum, iteration=iteration),
            stratum=stratum,
            stratum_of=steps.program.stratum_of,
            iteration=iteration,
            width=steps.program.width,
        )
        for plan in steps.program.plan.strata[stratum - 1].plans:
            heads = evaluate(plan, leaves)

            assert _summed(steps.read(heads, ITERATION, MULTIPLICITY)) == evaluate(plan, loops)


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.sampled_from(Operator))
def test_a_condition_without_a_value_does_not_hold(left, right, operator):
    """Terms that cannot be ordered are neither less nor greater; a test is negated if it is."""
    compared = holds(operands.Comparison(X, operator, Y))(left, right)
    ordered = (left == TEXTS[2]) == (right == TEXTS[2])
    expected = {
        Operator.EQ: left == right,
        Operator.NE: left != right,
        Operator.LT: ordered and left < right,
        Operator.LE: ordered and left <= right,
        Operator.GT: ordered and left > right,
        Operator.GE: ordered and left >= right,
    }

    assert compared == expected[operator]
    for negated in (False, True):
        test = holds(operands.Test("contains", (X, Y), negated))

        assert test(left, right) == (left == right == TEXTS[2] and not negated)


def test_an_overflow_is_counted_and_has_no_value():
    """Other values are computed, and a copy is the term itself."""
    counted = []
    add = value_of("+", lambda: counted.append(1))

    assert add(numeral(1), numeral(2)) == numeral(3)
    assert add(numeral(2**63 - 1), numeral(1)) is None
    assert value_of(operands.COPY, lambda: counted.append(1))('"a"') == '"a"'
    assert counted == [1]


@cache
def steps_of(text):
    """The steps of a program."""
    return Steps(text)


def _places(steps, state):
    """The strata with the iterations that the model settles, and 0, whose deltas are lower ones."""
    for stratum in range(len(steps.program.plan.strata) + 1):
        iteration = 0
        while iteration >= 0:
            yield stratum, iteration
            later = state.iterations(steps.model.program, stratum)
            iteration = min((each for each in later if each > iteration), default=-1)


def _lower(program, before, after, stratum):
    """The changed presence of facts of lower strata."""
    return {
        fact: (fact in after.present) - (fact in before.present)
        for fact in before.present ^ after.present
        if program.stratum(fact) < stratum
    }


def _summed(rows):
    heads = Counter()
    for fact, iteration, multiplicity in rows:
        heads[fact, iteration] += multiplicity
    return Counter({place: number for place, number in heads.items() if number})
