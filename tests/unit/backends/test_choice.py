"""The choice of the backend for a state, and when the state moves."""

from __future__ import annotations

import pytest

from streamreasoner.backends import choice
from streamreasoner.backends.choice import BackendKind, Limit
from streamreasoner.native import reserved
from streamreasoner.pipeline.observers import SizeMonitor
from streamreasoner.system.capacity import Capacity
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


def test_a_state_whose_text_would_not_fit_is_in_spark(monkeypatch):
    """Where more memory is allowed than there is, the text of the terms counts on its own."""
    for module in (reserved, choice):
        monkeypatch.setattr(module, "physical_memory", lambda: 9 << 30)
    limit, terms = Limit(1 << 50), (9 << 30) * 3 // 4 // 90
    assert limit.choose(0, terms) is BackendKind.COLUMNAR
    assert limit.choose(0, terms + 1) is BackendKind.SPARK
    assert limit.choose(0, terms // 2, in_spark=True) is BackendKind.COLUMNAR
    assert limit.choose(0, terms // 2 + 1, in_spark=True) is BackendKind.SPARK


def test_without_a_number_the_limit_is_a_share_of_the_memory():
    """The default limit leaves memory for everything else."""
    assert 0 < Limit(0).value < physical_memory()


def test_the_decision_is_logged(caplog):
    """The message has the estimate, the limit and the decision."""
    with caplog.at_level("INFO", "streamreasoner"):
        Limit(50 << 20).choose(1_000_000, 0, in_spark=False)
    assert "Using the spark backend" in caplog.text
    assert "71 of 50 MiB" in caplog.text


@pytest.mark.parametrize("in_spark", [False, True])
def test_a_state_that_may_not_move_stays_with_a_warning(caplog, in_spark):
    """With `columnar` a state that does not fit is in memory; the warning has the way out."""
    limit = Limit(1_000_000)
    with caplog.at_level("WARNING", "streamreasoner"):
        assert limit.choose(13_000, 0, in_spark=in_spark, may_move=False) is BackendKind.COLUMNAR
        assert not caplog.records
        assert limit.choose(14_000, 0, in_spark=in_spark, may_move=False) is BackendKind.COLUMNAR
    assert 'set pipeline.backend = "spark" or "auto"' in caplog.text


@pytest.mark.parametrize(
    ("size", "records", "text", "ids", "stops"),
    [
        (100, 75, 75, 75, 0),
        (101, 75, 75, 75, 1),
        (100, 76, 75, 75, 1),
        (100, 75, 76, 75, 1),
        (100, 75, 75, 100, 0),
        (0, 100, 0, 0, 1),
    ],
)
def test_a_query_ends_when_the_state_has_grown(size, records, text, ids, stops):
    """The query stops after the batch that makes the state too large, and not before.

    Too large means above the memory limit, or above three quarters of what facts or terms can take
    in memory. Ids do not count: Spark has no more of them.
    """
    stopped, limit = [], Limit(100)
    capacity = Capacity(size, *(Fill(used, 100) for used in (records, text, ids)))
    monitor = SizeMonitor(lambda: limit.exceeded(capacity), lambda: stopped.append(True))
    monitor.batch_finished(0, 1.0)
    assert len(stopped) == stops
    assert monitor.exceeded == bool(stops)


def test_an_empty_state_has_no_sizes(caplog):
    """A first start says where the state will be, and not what nothing takes."""
    caplog.set_level("INFO")
    assert Limit(0).choose(0, 0, in_spark=False, may_move=True) is BackendKind.COLUMNAR
    assert [each.getMessage() for each in caplog.records] == [
        "Using the columnar backend, for an empty state."
    ]
