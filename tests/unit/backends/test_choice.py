"""Where a state is taken up, and when it moves."""

from __future__ import annotations

import pytest

from streamreasoner.backends.choice import Limit, Place
from streamreasoner.rdf.memory import physical_memory
from streamreasoner.streaming.growth import Growth


def test_a_state_that_does_not_fit_is_in_spark():
    """What would take more than the limit goes to Spark; with room to spare it comes back."""
    limit = Limit(1_000_000)
    assert limit.choose(1_000, 1_000, in_spark=False) is Place.COLUMNAR
    assert limit.choose(1_000, 1_000, in_spark=True) is Place.COLUMNAR
    assert limit.choose(8_000, 1_000, in_spark=False) is Place.COLUMNAR
    assert limit.choose(8_000, 1_000, in_spark=True) is Place.SPARK
    assert limit.choose(20_000, 1_000, in_spark=False) is Place.SPARK


def test_without_a_number_the_limit_is_a_share_of_the_memory():
    """Some of what this process may use is left for everything else."""
    assert 0 < Limit(0).value < physical_memory()


def test_the_decision_is_logged(caplog):
    """Both numbers are said, and what follows from them."""
    with caplog.at_level("INFO", "streamreasoner"):
        Limit(50 << 20).choose(1_000_000, 0, in_spark=False)
    assert "The backend is spark" in caplog.text
    assert "71 MiB, and may take 50" in caplog.text


@pytest.mark.parametrize(("size", "stops"), [(100, 0), (101, 1)])
def test_a_query_ends_when_the_state_has_grown(size, stops):
    """After the batch that makes the state too large, and not before."""
    stopped = []
    growth = Growth(lambda: size, Limit(100), lambda: stopped.append(True))
    growth.batch_finished(0, 1.0)
    assert len(stopped) == stops
    assert growth.exceeded == bool(stops)
