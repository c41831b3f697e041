"""What is kept up to date equals what is evaluated from scratch: facts, iterations and counts."""

from __future__ import annotations

import pytest
from driver import Driver
from hypothesis import assume, given
from oracle import NotConvergingError, closure, derived, evaluate, total
from strategies import scenarios

from streamreasoner.errors import RecursionLimitError


@given(scenarios())
def test_trace_equals_from_scratch_after_every_epoch(scenario):
    """After any sequence of epochs the trace, with its counts, is that of the final input.

    An epoch after which the program would never end is refused, and nothing is left of it.
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
    everything, inferred, trace = {}, {}, {}
    for epoch in scenario.epochs:
        (result,) = driver.run([epoch])
        driver.add_changes(result.closure, everything)
        driver.add_changes(result.derived, inferred)
        driver.add_trace(result.trace, trace)
    expected = evaluate(scenario.checked, total(scenario.epochs))

    assert everything == dict.fromkeys(closure(expected), 1)
    assert inferred == dict.fromkeys(derived(expected), 1)
    assert trace == expected


@given(scenarios())
def test_statistics_count_the_trace(scenario):
    """The sizes that are kept along equal those counted in the trace of all predicates."""
    driver = Driver(scenario.checked)
    driver.run(scenario.epochs)
    trace = driver.trace(driver.predicates)
    statistics = driver.reasoner.engine.statistics()

    assert statistics.facts == len(trace)
    assert statistics.present == len(driver.closure())
    assert statistics.asserted == sum(counts.get(0, 0) > 0 for counts in trace.values())
    assert statistics.below_zero == sum(sum(counts.values()) < 0 for counts in trace.values())
    assert statistics.trace_rows == sum(len(counts) for counts in trace.values())
