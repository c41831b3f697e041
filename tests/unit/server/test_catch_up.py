"""The expected time to catch up is the true one at steady rates."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamreasoner.server.catch_up import CatchUp

RATES = st.integers(1, 100_000)


@given(RATES, RATES, st.integers(1, 10**9), st.floats(1, 1000))
def test_at_steady_rates_the_estimate_is_exact(processed, arriving, lag, pause):
    """The lag divided by what it shrinks in a second, or never."""
    estimate = CatchUp(0.0)
    estimate.batch(processed * 10, 10.0)
    assert estimate.seconds(lag, 0.0) is None
    later = lag + round(arriving * pause)
    seconds = estimate.seconds(later, pause)
    assume(abs(processed - arriving) > 0.1 * processed + 2)
    if arriving > processed:
        assert seconds == math.inf
    else:
        assert seconds == pytest.approx(later / (processed - arriving), rel=0.6)


def test_nothing_is_known_before_a_batch():
    """Two scrapes of a pipeline that has read nothing yet."""
    estimate = CatchUp(0.0)
    assert estimate.seconds(5, 0.0) is None
    assert estimate.seconds(5, 10.0) is None


def test_no_lag_takes_no_time():
    """Whatever the rates are."""
    assert CatchUp(0.0).seconds(0, 0.0) == 0.0


def test_old_arrivals_are_forgotten():
    """A burst that ended a minute ago does not count any more."""
    estimate = CatchUp(0.0)
    estimate.batch(1000, 10.0)
    assert estimate.seconds(1_000, 0.0) is None
    assert estimate.seconds(1_000_000, 10.0) == math.inf
    for now in range(20, 200, 10):
        seconds = estimate.seconds(1_000_000, float(now))
    assert seconds == pytest.approx(1_000_000 / 100)


def test_a_trigger_interval_bounds_the_rate():
    """A batch that waits for its turn is not faster than its turn."""
    estimate = CatchUp(10.0)
    estimate.batch(1000, 0.1)
    estimate.seconds(1000, 0.0)
    assert estimate.seconds(1000, 10.0) == pytest.approx(10.0)
