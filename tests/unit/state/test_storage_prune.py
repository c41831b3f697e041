"""Old rows of `changes` are deleted by whole epochs, from the oldest on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st
from storage_builders import NOW, PROGRAM, changes, commit_one, open_tables, record
from thorough import THOROUGH

from streamreasoner import config
from streamreasoner.history.epochs import Past
from streamreasoner.state.delta import log, snapshot
from streamreasoner.state.delta.retention import Retention
from streamreasoner.state.maintenance import maintain
from streamreasoner.state.maintenance.prune import prune


def stored_epochs(directory):
    """The epochs with rows, according to another reader."""
    return sorted(DeltaTable(directory / "changes").to_pyarrow_table()["epoch"].to_pylist())


def interrupted(*_):
    """Stands for the end of the process."""
    raise KeyboardInterrupt


def commit_at(tables, epoch, time, rows=1):
    """Commit an epoch of a time, with rows in `changes`."""
    changed = [changes("p", *(((f"t{row}",), 1) for row in range(rows)))] if rows else []
    tables.commit(record(epoch, PROGRAM), (tables.terms_stored, []), [], [(time, changed)])


@settings(max_examples=200 if THOROUGH else 6)
@given(
    epochs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=7),
    merged=st.booleans(),
    hours=st.integers(0, 10),
)
def test_an_epoch_has_all_its_rows_or_none(tmp_path_factory, epochs, merged, hours):
    """Epochs go as long as they are old; the last one stays; how far is recorded with it."""
    directory = tmp_path_factory.mktemp("prune")
    with open_tables(directory) as tables:
        for epoch, (hour, rows) in enumerate(epochs):
            commit_at(tables, epoch, NOW + timedelta(hours=hour), rows)
        table = tables._tables["changes"]  # noqa: SLF001 - what maintenance works on
        if merged and table.files():
            maintain.merge(table, [table.files()], -1)
        last = len(epochs) - 1
        gained = prune(table, NOW + timedelta(hours=hours), last)
        again = prune(table, NOW + timedelta(hours=hours), last)

    first = last
    for epoch, (hour, rows) in reversed(list(enumerate(epochs))):
        if rows and hour >= hours:
            first = min(first, epoch)
    gone = [epoch for epoch, (_, rows) in enumerate(epochs) if rows and epoch < first]
    kept = [epoch for epoch, (_, rows) in enumerate(epochs) for _ in range(rows) if epoch >= first]
    assert stored_epochs(directory) == kept
    assert Past(directory).changes_from == (gone[-1] + 1 if gone else -1)
    assert (gained != 0) == bool(gone)
    assert again == 0
    open_tables(directory).close()


def test_a_deletion_that_is_interrupted_has_not_happened(tmp_path, monkeypatch):
    """Files are written before the commit; without it the table is as it was."""
    with open_tables(tmp_path) as tables:
        for epoch in range(4):
            commit_at(tables, epoch, NOW + timedelta(hours=epoch))
        table = tables._tables["changes"]  # noqa: SLF001 - what maintenance works on
        maintain.merge(table, [table.files()], -1)
        monkeypatch.setattr(log, "commit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            prune(table, NOW + timedelta(hours=2), 3)
        monkeypatch.undo()
    assert stored_epochs(tmp_path) == [0, 1, 2, 3]
    assert snapshot.read(tmp_path / "changes").exact_from == -1

    with open_tables(tmp_path) as tables:
        prune(tables._tables["changes"], NOW + timedelta(hours=2), 3)  # noqa: SLF001 - as above
    assert stored_epochs(tmp_path) == [2, 3]


def test_maintenance_deletes_what_is_older_than_configured(tmp_path, monkeypatch):
    """With `retention.changes`, a run deletes epochs whose time is too long ago."""
    monkeypatch.setattr(maintain, "EPOCHS_BETWEEN_RUNS", 3)
    now = datetime.now(UTC)
    with open_tables(tmp_path, changes=3600) as tables:
        for epoch, age in enumerate((7200, 3700, 60)):
            commit_at(tables, epoch, now - timedelta(seconds=age))
        assert tables.maintain_if_due()
    assert stored_epochs(tmp_path) == [2]


def test_without_configuration_all_rows_stay(tmp_path, monkeypatch):
    """The defaults of the configuration are those of the tables, and delete no row."""
    minimal = {
        "kafka": {"bootstrap_servers": "a:1", "input_topics": ["in"], "output_topic": "out"},
        "rules": {"program": "rho-df"},
        "state": {"directory": "state"},
    }
    parsed = config.parse(minimal, {}, tmp_path).retention
    assert Retention(**{name: getattr(parsed, name) for name in parsed.__slots__}) == Retention()

    monkeypatch.setattr(maintain, "EPOCHS_BETWEEN_RUNS", 2)
    with open_tables(tmp_path) as tables:
        commit_at(tables, 0, datetime(1900, 1, 1, tzinfo=UTC))
        commit_one(tables, 1)
        assert tables.maintain_if_due()
    assert stored_epochs(tmp_path) == [0]
