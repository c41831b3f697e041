"""Retraction is exact: nothing is left of what was asserted and of what followed from it."""

from __future__ import annotations

from driver import Driver
from hypothesis import given
from hypothesis import strategies as st
from strategies import scenarios


@given(scenarios(), st.randoms(use_true_random=False))
def test_retracting_everything_empties_the_trace(scenario, random):
    """Retracting every update, in any order and any cut, leaves an empty trace and no memory."""
    driver = Driver(scenario.checked)
    updates = [update for epoch in scenario.epochs for update in epoch]
    for epoch in scenario.epochs:
        driver.apply(epoch)
    for predicate, args, multiplicity in random.sample(updates, len(updates)):
        driver.apply([(predicate, args, -multiplicity)])
    statistics = driver.reasoner.engine.statistics()

    assert driver.trace() == {}
    assert (statistics.facts, statistics.counts, statistics.present) == (0, 0, 0)


@given(scenarios())
def test_an_update_and_its_negation_cancel(scenario):
    """An epoch that takes back what it gives changes nothing and says nothing."""
    driver = Driver(scenario.checked)
    for epoch in scenario.epochs:
        driver.apply(epoch)
    before = driver.trace()
    updates = [update for epoch in scenario.epochs for update in epoch]
    result = driver.apply(updates + [(p, args, -multiplicity) for p, args, multiplicity in updates])

    assert (result.closure, result.derived, result.trace) == ((), (), ())
    assert driver.trace() == before
