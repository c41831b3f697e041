"""How input is ordered, split or batched does not matter once it is all in."""

from __future__ import annotations

from driver import Driver
from hypothesis import given
from hypothesis import strategies as st
from strategies import scenarios


@given(scenarios(), st.randoms(use_true_random=False))
def test_splitting_and_order(scenario, random):
    """One epoch, an epoch for each update, and any shuffle of them give the same trace."""
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
