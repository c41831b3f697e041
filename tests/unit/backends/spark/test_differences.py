"""Differences: what an epoch has added so far, and what it has read of the state."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from unit.backends.spark.in_driver import CHANGES, FEW, MANY, Steps, counted

from streamreasoner.backends.spark.epoch.differences import Differences
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    LATTICE,
    MULTIPLICITY,
    STRATUM,
    TRANSITION,
)
from streamreasoner.engine.updates import MAX_MULTIPLICITY
from streamreasoner.errors import MultiplicityOverflowError
from streamreasoner.plan.algebra import Age

STEPS = Steps()
PLACE = (STRATUM, LATTICE, ITERATION)
COMPETITORS = [number for number, (name, _) in enumerate(STEPS.facts) if name == "d"][:2]
"""The numbers of two facts of one group of a lattice."""


@FEW
@given(st.lists(CHANGES, max_size=3))
def test_additions_are_summed_by_fact_and_iteration(additions):
    """Each step logs its sums with the stratum of the fact; zeros are not rows."""
    differences = STEPS.differences(STEPS.state([]), [])
    for changes in additions:
        differences.add(STEPS.additions(changes))
    expected = STEPS.changed(STEPS.state([]), [each for changes in additions for each in changes])
    rows = STEPS.read(
        differences.multiplicities.everything(), ITERATION, MULTIPLICITY, STRATUM, LATTICE
    )

    assert counted(row[:3] for row in rows) == expected.multiplicities
    assert 0 not in {multiplicity for _, _, multiplicity, *_ in rows}
    for fact, _, _, stratum, lattice in rows:
        assert stratum == STEPS.model.program.stratum(fact)
        assert (lattice >= 0) == (STEPS.model.program.group(fact)[0] is not None)


def test_a_sum_out_of_range_is_refused():
    """The largest multiplicity is taken, and a greater one fails the epoch."""
    differences = STEPS.differences(STEPS.state([]), [(0, 0, MAX_MULTIPLICITY)])
    differences.add(STEPS.additions([(0, 0, -MAX_MULTIPLICITY)]))

    with pytest.raises(MultiplicityOverflowError):
        differences.add(STEPS.additions([(0, 0, MAX_MULTIPLICITY), (0, 0, 1)]))


@FEW
@given(CHANGES, CHANGES, CHANGES)
@example([(number, 1, 1) for number in COMPETITORS], [(COMPETITORS[0], 1, 1)], [])
def test_the_rows_of_touched_facts_and_groups_are_read_once(committed, first, second):
    """A fact is read with its own rows, and a candidate with those of all its competitors."""
    state = STEPS.state(committed)
    differences = STEPS.differences(state, [])
    touched = set()
    for changes in (first, second, first):
        rows = list(_touched(changes))
        touched |= {_place(fact) for fact, _ in rows}
        differences.load(STEPS.relation(rows, LATTICE))
    known = STEPS.read(differences.known.everything(), ITERATION, MULTIPLICITY, TRANSITION)
    held = STEPS.read(STEPS.rows_of(state), ITERATION, MULTIPLICITY, TRANSITION)

    assert sorted(known) == [row for row in sorted(held) if _place(row[0]) in touched]


@FEW
@given(MANY)
def test_a_join_sees_what_has_changed_before(changes):
    """Lower strata have changed for good; of its own, old is before an iteration, new up to it."""
    differences = STEPS.differences(STEPS.state([]), [])
    logged = [(fact, stratum, at, sign) for fact, stratum, _, at, sign in _logged(changes)]
    differences.transitions.add(STEPS.relation(_logged(changes), *PLACE, TRANSITION))
    for stratum, iteration in ((0, 0), (1, 0), (1, 1), (2, 3), (9, 1)):
        for age, last in ((Age.OLD, iteration - 1), (Age.NEW, iteration)):
            seen = differences.visible(age, stratum, iteration)

            assert sorted(STEPS.read(seen, STRATUM, ITERATION, TRANSITION)) == sorted(
                row
                for row in logged
                if last >= 0 and (row[1] < stratum or (row[1] == stratum and row[2] <= last))
            )


@FEW
@given(MANY, MANY, MANY)
def test_everything_is_the_sum_of_what_was_logged(first, second, transitions):
    """By fact and iteration, of multiplicities and of transitions, without zeros."""
    differences = STEPS.differences(STEPS.state([]), [])
    for changes in (first, second):
        differences.multiplicities.add(STEPS.relation(_logged(changes), *PLACE, MULTIPLICITY))
    differences.transitions.add(STEPS.relation(_logged(transitions), *PLACE, TRANSITION))
    rows = STEPS.read(differences.everything(), ITERATION, MULTIPLICITY, TRANSITION)

    assert len({row[:2] for row in rows}) == len(rows)
    assert all(multiplicity or transition for *_, multiplicity, transition in rows)
    for column, changes in ((2, [*first, *second]), (3, transitions)):
        assert counted((*row[:2], row[column]) for row in rows) == counted(
            (fact, at, number) for fact, _, _, at, number in _logged(changes)
        )


@FEW
@given(MANY, st.integers(0, 4), st.integers(-1, 8))
def test_the_next_iteration_has_an_addition_or_a_known_row(changes, stratum, iteration):
    """Of the stratum, whatever other strata have."""
    differences = STEPS.differences(STEPS.state([]), [])
    rows = _logged(changes)
    known = [(*place, at + 4, number) for *place, at, number in rows[::2]]
    differences.multiplicities.add(STEPS.relation(rows, *PLACE, MULTIPLICITY))
    differences.known.add(
        STEPS.relation([(*row, 1) for row in known], *PLACE, MULTIPLICITY, TRANSITION)
    )
    later = [at for _, of, _, at, _ in (*rows, *known) if of == stratum and at > iteration]

    assert differences.next_touched(stratum, iteration) == min(later, default=-1)


def test_an_epoch_without_input_changes_nothing():
    """No row is read or logged, and no iteration is touched."""
    differences = Differences(STEPS.runner, None, STEPS.program)
    differences.add(STEPS.additions([]))
    differences.remember(STEPS.relation([], LATTICE, ITERATION, MULTIPLICITY, TRANSITION))

    assert all(log.everything().empty for log in differences.logs.values())
    assert differences.next_touched(0, -1) == -1


def _logged(changes):
    """Additions as rows of a log: fact, stratum, lattice, iteration and number."""
    facts = [(STEPS.facts[number % len(STEPS.facts)], *rest) for number, *rest in changes]
    return [(fact, STEPS.model.program.stratum(fact), -1, *rest) for fact, *rest in facts]


def _touched(changes):
    """Facts with the numbers of their lattices."""
    lattices = STEPS.program.plan.lattices
    for number, *_ in changes:
        fact = STEPS.facts[number % len(STEPS.facts)]
        lattice, _ = STEPS.model.program.group(fact)
        yield fact, -1 if lattice is None else lattices.index(lattice)


def _place(fact):
    return STEPS.model.program.group(fact)[1]
