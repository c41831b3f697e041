"""Incremental evaluation equals batch evaluation: facts, iterations and multiplicities."""

from __future__ import annotations

import pytest
from driver import Driver
from hypothesis import assume, given
from oracle import NotConvergingError, closure, derived, evaluate, total
from strategies import scenarios
from thorough import THOROUGH

from streamreasoner.errors import RecursionLimitError


@pytest.fixture(params=range(10) if THOROUGH else [0])
def repeated():
    """The central law gets ten times the examples of a thorough run."""


@pytest.mark.usefixtures("repeated")
@given(scenarios())
def test_trace_equals_from_scratch_after_every_epoch(scenario):
    """After any sequence of epochs the trace equals that of the sum of their input.

    An epoch that does not converge is rejected and rolled back.
    """
    driver, accepted = Driver(scenario.checked), []
    for epoch in scenario.epochs:
        try:
            expected = evaluate(scenario.checked, total([*accepted, epoch]))
        except NotConvergingError:
            before = driver.trace()
            with pytest.raises(RecursionLimitError):
                driver.apply(epoch)

            assert driver.trace() == before
        else:
            assume(expected.iterations < Driver.recursion_limit // 2)
            driver.apply(epoch)
            accepted.append(epoch)

            assert driver.trace() == expected
            assert driver.closure() == closure(expected)


@given(scenarios())
def test_changes_sum_to_the_closure(scenario):
    """The output of all epochs sums to the closure, to its derived part, and to the trace."""
    driver = Driver(scenario.checked)
    all_changes, derived_changes, trace = {}, {}, {}
    for epoch in scenario.epochs:
        (result,) = driver.run([epoch])
        driver.add_changes(result.closure, all_changes)
        driver.add_changes(result.derived, derived_changes)
        driver.add_trace(result.trace, trace)
    expected = evaluate(scenario.checked, total(scenario.epochs))

    assert all_changes == dict.fromkeys(closure(expected), 1)
    assert derived_changes == dict.fromkeys(derived(expected), 1)
    assert trace == expected


@given(scenarios())
def test_statistics_equal_those_of_the_trace(scenario):
    """Incrementally maintained sizes equal those computed from the trace of all predicates."""
    driver = Driver(scenario.checked)
    driver.run(scenario.epochs)
    trace = driver.trace(driver.predicates)
    statistics = driver.session.engine.statistics()

    assert statistics.facts == len(trace)
    assert statistics.present == len(driver.closure())
    assert statistics.asserted == sum(entries.get(0, 0) > 0 for entries in trace.values())
    assert statistics.below_zero == sum(sum(entries.values()) < 0 for entries in trace.values())
    assert statistics.trace_rows == sum(len(entries) for entries in trace.values())
