"""The choice of the backend for a state, and when the state moves."""

from __future__ import annotations

import pytest

from streamreasoner.backends import choice
from streamreasoner.backends.choice import BackendKind, Limit
from streamreasoner.engine.ports import Statistics
from streamreasoner.native import reserved
from streamreasoner.pipeline.observers import SizeMonitor
from streamreasoner.system.memory import Fill, physical_memory


def test_a_state_that_does_not_fit_is_in_spark():
    """A state above the limit goes to Spark, and returns only well below it."""
    limit = Limit(1_000_000)
    assert limit.choose(1_000, 1_000, in_spark=False) is BackendKind.COLUMNAR
    assert limit.choose(1_000, 1_000, in_spark=True) is BackendKind.COLUMNAR
    assert limit.choose(8_000, 1_000, in_spark=False) is BackendKind.COLUMNAR
    assert limit.choose(8_000, 1_000, in_spark=True) is BackendKind.SPARK
    assert limit.choose(20_000, 1_000, in_spark=False) is BackendKind.SPARK


@pytest.mark.parametrize(("gibibytes", "facts"), [(64, 214_000_000), (128, 214_000_000)])
def test_a_state_whose_records_cannot_be_addressed_is_in_spark(monkeypatch, gibibytes, facts):
    """On any machine a state goes to Spark before 16 GiB of records are full."""
    for module in (reserved, choice):
        monkeypatch.setattr(module, "physical_memory", lambda: gibibytes << 30)
    limit = Limit(0)
    assert limit.value > 38 << 30
    assert limit.choose(facts, 0, in_spark=False) is BackendKind.COLUMNAR
    assert limit.choose(facts + 1_000_000, 0, in_spark=False) is BackendKind.SPARK
    assert limit.choose(facts // 2 + 1_000_000, 0, in_spark=True) is BackendKind.SPARK


def test_without_a_number_the_limit_is_a_share_of_the_memory():
    """The default limit leaves memory for everything else."""
    assert 0 < Limit(0).value < physical_memory()


def test_the_decision_is_logged(caplog):
    """The message has the estimate, the limit and the decision."""
    with caplog.at_level("INFO", "streamreasoner"):
        Limit(50 << 20).choose(1_000_000, 0, in_spark=False)
    assert "Using the spark backend" in caplog.text
    assert "71 of 50 MiB" in caplog.text


def statistics(size, fill):
    """Statistics of a state with this size and fill."""
    return Statistics(0, 0, 0, 0, 0, size, 0, fill)


@pytest.mark.parametrize(
    ("size", "used", "stops"), [(90, 75, 0), (91, 75, 1), (90, 76, 1), (0, 100, 1)]
)
def test_a_query_ends_when_the_state_has_grown(size, used, stops):
    """The query stops after the batch that makes the state too large, and not before.

    Too large means above the memory limit, or above three quarters of the arena.
    """
    stopped, limit = [], Limit(100)
    monitor = SizeMonitor(
        lambda: limit.exceeded(statistics(size, Fill(used, 100)), 10),
        lambda: stopped.append(True),
    )
    monitor.batch_finished(0, 1.0)
    assert len(stopped) == stops
    assert monitor.exceeded == bool(stops)
