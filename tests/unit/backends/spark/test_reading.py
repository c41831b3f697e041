"""Reading: the answers of the committed state are those of the model's dicts."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from unit.backends.spark.in_driver import CHANGES, FEW, MANY, HeldState, Steps

from streamreasoner.backends.spark.epoch.outcome import SIZES
from streamreasoner.backends.spark.epoch.reading import StateReader
from streamreasoner.engine.ports import LAST_ITERATION

STEPS = Steps()


def reader(changes):
    """A reader of a state that the model holds too."""
    STEPS.model.state = STEPS.state(changes)
    return StateReader(STEPS.runner, HeldState(STEPS, STEPS.model.state), STEPS.program)


@FEW
@given(CHANGES, st.sampled_from(STEPS.facts))
def test_traces_and_present_facts_are_those_of_the_state(changes, fact):
    """Facts of a predicate, hidden or not, in any order."""
    found, (predicate, _) = reader(changes), fact
    trace, expected = found.trace(predicate), STEPS.model.trace(predicate)

    assert _sorted(trace.args, trace.iteration, trace.multiplicity) == _sorted(
        expected.args, expected.iteration, expected.multiplicity
    )
    assert _sorted(found.facts(predicate)) == _sorted(STEPS.model.facts(predicate))


@FEW
@given(CHANGES)
def test_sizes_are_counted(changes):
    """A full count of the state gives what the model counts, hidden facts among the held ones."""
    found = reader(changes).sizes().tolist()

    assert found == [getattr(STEPS.model.statistics(), name) for name in SIZES]


@FEW
@given(MANY, st.sampled_from(STEPS.facts), st.sets(st.integers(0, 1)))
@example([(0, 0, 1), (0, 1, -1), (0, 2, 1), (0, 3, -1)], STEPS.facts[0], set())
def test_a_selection_has_the_facts_with_the_bound_ids(changes, fact, positions):
    """Held facts, present or not: since when, until when, and their multiplicities."""
    predicate, args = fact
    bound = {position: args[position] for position in positions if position < len(args)}
    found = reader(changes)
    asked = [(predicate, bound, iteration) for iteration in (0, 2, LAST_ITERATION)]
    asked += [(each, {}, LAST_ITERATION) for each in STEPS.program.plan.arities]
    for query in asked:
        assert _columns(found.select(*query)) == _columns(STEPS.model.select(*query))


@FEW
@given(MANY)
def test_members_are_the_present_facts_with_the_keys(changes):
    """Facts that begin with another id are not among them, wherever they are held."""
    found = reader(changes)
    for predicate in ("e", "p"):
        first = np.unique(STEPS.model.facts(predicate)[:, 0])
        for keys in (first, first[:1]):
            expected = STEPS.model.members(predicate, keys)
            assert _sorted(found.members(predicate, keys)) == _sorted(expected)


def _columns(selection):
    names = ("stratum", "since", "until", "asserted", "total")
    return _sorted(selection.args, *(getattr(selection, name) for name in names))


def _sorted(args, *columns):
    return sorted(zip(args.tolist(), *(each.tolist() for each in columns), strict=True))
