"""Epochs are atomic, and a reasoner resumes from nothing but a trace."""

from __future__ import annotations

import numpy as np
import pytest
from driver import Driver
from hypothesis import given
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import scenarios

from streamreasoner.engine.updates import TraceRows, Updates
from streamreasoner.errors import EngineError, MultiplicityOverflowError, RecursionLimitError
from streamreasoner.program.load import load_program


@given(scenarios(), st.integers(0, 3))
def test_a_failed_epoch_leaves_no_trace(scenario, limit):
    """An epoch that exceeds the recursion limit is rolled back, and does not affect later ones."""
    driver = Driver(scenario.checked, recursion_limit=limit)
    accepted = []
    for epoch in scenario.epochs:
        before = driver.trace()
        try:
            driver.apply(epoch)
        except RecursionLimitError:
            assert driver.trace() == before
        else:
            accepted.append(epoch)

            assert driver.trace() == evaluate(scenario.checked, total(accepted))


@given(scenarios(), st.integers(0, 3))
def test_a_rehearsal_predicts_failure_and_changes_nothing(scenario, limit):
    """It fails if and only if the epoch does, and affects neither the trace nor later epochs."""
    driver = Driver(scenario.checked, recursion_limit=limit)
    accepted = []
    for epoch in scenario.epochs:
        before, fails = driver.trace(), False
        try:
            driver.session.rehearse(driver.encode(epoch))
        except RecursionLimitError:
            fails = True

        assert driver.trace() == before
        try:
            driver.apply(epoch)
        except RecursionLimitError:
            assert fails
        else:
            accepted.append(epoch)

            assert not fails
            assert driver.trace() == evaluate(scenario.checked, total(accepted))


@given(scenarios())
def test_overflow_is_an_error_and_rolled_back(scenario):
    """A multiplicity out of range fails the epoch and leaves the state unchanged."""
    driver = Driver(scenario.checked)
    driver.run(scenario.epochs)
    before = driver.trace()
    huge = [("triple", ("<urn:s>", "<urn:p>", "<urn:o>"), 1 << 58)] * 2
    with pytest.raises(MultiplicityOverflowError):
        driver.apply([update for epoch in scenario.epochs for update in epoch] + huge)

    assert driver.trace() == before
    driver.apply([])
    assert driver.trace() == before


@given(scenarios(), st.data())
def test_a_restored_reasoner_continues_identically(scenario, data):
    """A reasoner restored from a trace, in any order, has the same state and later changes."""
    cut = data.draw(st.integers(0, len(scenario.epochs)))
    original, heir = Driver(scenario.checked), Driver(scenario.checked)
    original.run(scenario.epochs[:cut])
    heir.inherit(original, lambda rows: _shuffled(rows, data))

    assert heir.trace() == original.trace()
    sizes = [driver.session.engine.statistics().trace_rows for driver in (heir, original)]
    assert sizes[0] == sizes[1]
    for epoch in scenario.epochs[cut:]:
        (expected,), (actual,) = original.run([epoch]), heir.run([epoch])
        for name in ("closure", "derived"):
            first, second = {}, {}
            original.add_changes(getattr(expected, name), first)
            heir.add_changes(getattr(actual, name), second)

            assert first == second
        assert heir.trace() == original.trace()


def test_unknown_predicates_do_not_start_an_epoch():
    """A batch of an unknown predicate is rejected by name."""
    driver = Driver(load_program("p(?x) :- q(?x)."))
    with pytest.raises(EngineError, match="no predicate 'r'; it has p, q, triple"):
        driver.session.engine.apply(
            0, [Updates("r", np.zeros((1, 1), np.int32), np.ones(1, np.int64))]
        )


def _shuffled(rows, data):
    order = np.array(data.draw(st.permutations(range(len(rows.multiplicity)))), np.int64)
    return TraceRows(
        rows.predicate, rows.args[order], rows.iteration[order], rows.multiplicity[order]
    )
