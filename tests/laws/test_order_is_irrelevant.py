"""The trace does not depend on how input is ordered or split into epochs."""

from __future__ import annotations

from driver import Driver
from hypothesis import given
from hypothesis import strategies as st
from strategies import scenarios


@given(scenarios(), st.randoms(use_true_random=False))
def test_splitting_and_order(scenario, random):
    """One epoch, one epoch per update, and any shuffle give the same trace."""
    updates = [update for epoch in scenario.epochs for update in epoch]
    shuffled = random.sample(updates, len(updates))

    def trace_after(epochs):
        driver = Driver(scenario.checked)
        driver.run(epochs)
        return driver.trace()

    expected = trace_after([updates])

    assert trace_after(scenario.epochs) == expected
    assert trace_after([[], *([update] for update in updates)]) == expected
    assert trace_after([[], *([update] for update in shuffled)]) == expected
    assert trace_after([shuffled]) == expected
