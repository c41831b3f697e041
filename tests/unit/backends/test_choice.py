"""The choice of the backend for a state, and when the state moves or is divided."""

from __future__ import annotations

import pytest

from streamreasoner.backends import choice
from streamreasoner.backends.choice import BackendKind, Limit, can_divide, parts_for
from streamreasoner.native import reserved
from streamreasoner.pipeline.observers import SizeMonitor
from streamreasoner.system.capacity import Capacity
from streamreasoner.system.memory import Fill, physical_memory

GIBIBYTE = 1 << 30
MOST = 292_000_000
"""Facts whose records fill no more than three quarters of 16 GiB."""


@pytest.fixture
def machine(monkeypatch):
    """Makes this a machine with as many gibibytes."""

    def make(gibibytes):
        for module in (reserved, choice):
            monkeypatch.setattr(module, "physical_memory", lambda: gibibytes * GIBIBYTE)

    return make


def test_a_state_that_does_not_fit_is_in_executors():
    """A state above the limit goes to executors, and returns only well below it."""
    limit = Limit(1_000_000)
    assert limit.choose(1_000, 1_000) is BackendKind.COLUMNAR
    assert limit.choose(1_000, 1_000, apart=True) is BackendKind.COLUMNAR
    assert limit.choose(8_000, 1_000) is BackendKind.COLUMNAR
    assert limit.choose(8_000, 1_000, apart=True) is BackendKind.EXECUTORS
    assert limit.choose(20_000, 1_000) is BackendKind.EXECUTORS


@pytest.mark.parametrize("gibibytes", [64, 128])
def test_a_state_whose_records_cannot_be_addressed_is_in_executors(machine, gibibytes):
    """On any machine a state leaves one store before 16 GiB of records are full."""
    machine(gibibytes)
    limit = Limit(0)
    assert limit.value > 38 * GIBIBYTE
    assert limit.choose(MOST, 0) is BackendKind.COLUMNAR
    assert limit.choose(MOST + 1_000_000, 0) is BackendKind.EXECUTORS
    assert limit.choose(MOST + 1_000_000, 0, 2) is BackendKind.COLUMNAR
    assert limit.choose(MOST // 2 + 1_000_000, 0, apart=True) is BackendKind.EXECUTORS


def test_parts_have_addresses_of_their_own(machine):
    """As many as records need, by doubling; where memory ends first, more of them do not help."""
    machine(1024)
    assert [parts_for(facts, 1) for facts in (0, MOST, MOST + 1_000_000)] == [1, 1, 2]
    assert [parts_for(facts, 3) for facts in (0, 3 * MOST, 4 * MOST)] == [3, 3, 6]
    assert parts_for(1 << 60, 1) == 64
    assert can_divide(32)
    assert not can_divide(33)
    machine(24)
    assert can_divide(1)
    assert not can_divide(2)
    machine(15)
    assert parts_for(MOST + 1_000_000, 1) == 1
    assert not can_divide(1)


def test_a_state_whose_text_would_not_fit_is_in_executors(machine):
    """Where more memory is allowed than there is, the text of the terms counts on its own."""
    machine(9)
    limit, terms = Limit(1 << 50), 9 * GIBIBYTE * 3 // 4 // 45
    assert limit.choose(0, terms) is BackendKind.COLUMNAR
    assert limit.choose(0, terms + 1) is BackendKind.EXECUTORS
    assert limit.choose(0, terms // 2, apart=True) is BackendKind.COLUMNAR
    assert limit.choose(0, terms // 2 + 1, apart=True) is BackendKind.EXECUTORS


def test_without_a_number_the_limit_is_a_share_of_the_memory():
    """The default limit leaves memory for everything else."""
    assert 0 < Limit(0).value < physical_memory()


def test_the_decision_is_logged(caplog):
    """The message has the estimate, the limit and the decision."""
    with caplog.at_level("INFO", "streamreasoner"):
        Limit(50 << 20).choose(1_000_000, 0)
    assert "Using the backend executors" in caplog.text
    assert "57 of 50 MiB" in caplog.text


@pytest.mark.parametrize("apart", [False, True])
def test_a_state_that_may_not_move_stays_with_a_warning(caplog, apart):
    """Where there is no cluster, a state that does not fit is in memory; it names the way out."""
    limit = Limit(1_000_000)
    with caplog.at_level("WARNING", "streamreasoner"):
        assert limit.choose(16_000, 0, apart=apart, may_move=False) is BackendKind.COLUMNAR
        assert not caplog.records
        assert limit.choose(17_000, 0, apart=apart, may_move=False) is BackendKind.COLUMNAR
    assert 'several machines (pipeline.backend = "executors")' in caplog.text


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
    in memory. Ids do not count: executors have no more of them.
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
    assert Limit(0).choose(0, 0) is BackendKind.COLUMNAR
    assert [each.getMessage() for each in caplog.records] == [
        "Using the backend columnar, for an empty state."
    ]
