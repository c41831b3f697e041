"""Settling: transitions and results follow from multiplicities, as they do in dicts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.spark.in_driver import CHANGES, FEW, Steps, counted

from streamreasoner.backends.spark.epoch.settling import reduce, settled
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    MULTIPLICITY,
    STRATUM,
    TRANSITION,
)
from streamreasoner.engine.updates import MAX_MULTIPLICITY
from streamreasoner.errors import MultiplicityOverflowError

STEPS = Steps()
DERIVATIONS = st.lists(
    st.tuples(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 2)), max_size=20
)
"""Additions to multiplicities that are never below zero, like those of hidden predicates."""


@FEW
@given(CHANGES, CHANGES)
def test_an_iteration_changes_the_transitions_that_the_model_changes(committed, changes):
    """Touched iterations change them, the others do not, and the state ends as it does there."""
    state, program = STEPS.changed(STEPS.state(committed), changes), STEPS.model.program
    differences = STEPS.differences(STEPS.state(committed), changes)
    for stratum, iteration, transitions in STEPS.settled(differences):
        rows = []
        if transitions is not None:
            rows = STEPS.read(transitions, STRATUM, ITERATION, TRANSITION)

        assert {row[1:3] for row in rows} <= {(stratum, iteration)}
        assert {row[0]: row[3] for row in rows} == state.settle(program, stratum, iteration)
    settled_state = state.copy()
    state.settle_all(program)

    assert state.transitions == settled_state.transitions


@FEW
@given(DERIVATIONS, DERIVATIONS, st.integers(0, 20))
def test_a_reduction_replaces_the_results_of_changed_groups(committed, added, kept):
    """Former results disappear at iteration 1 and new ones appear, unless they are the same."""
    removed = [(number, iteration, -count) for number, iteration, count in committed[kept:]]
    before = STEPS.state(committed)
    after = STEPS.changed(before, [*added, *removed])
    for number, stratum in enumerate(STEPS.program.plan.strata, start=1):
        for reduction in stratum.reductions:
            differences = STEPS.differences(before, [*added, *removed])
            additions = STEPS.read(differences.multiplicities.everything(), ITERATION, MULTIPLICITY)
            reduce(differences, STEPS.terms, number, reduction)
            found = STEPS.read(differences.multiplicities.everything(), ITERATION, MULTIPLICITY)
            found += [(fact, iteration, -count) for fact, iteration, count in additions]
            former, results = (_results(state, reduction) for state in (before, after))

            assert counted(found) == {
                fact: {1: (fact in results) - (fact in former)} for fact in former ^ results
            }


def test_a_sum_of_iterations_out_of_range_is_refused():
    """Multiplicities of one iteration are in range by themselves, but their sum is not."""
    most = (0, 0, MAX_MULTIPLICITY)
    differences = STEPS.differences(STEPS.state([most]), [most])

    with pytest.raises(MultiplicityOverflowError):
        settled(differences, STEPS.terms, STEPS.model.program.stratum(STEPS.facts[0]), 0)


def _results(state, reduction):
    STEPS.model.state = state
    return STEPS.model._reduced(reduction)  # noqa: SLF001 - its definition of a reduction
