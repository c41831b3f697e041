"""Maintenance in the background: merging, checkpointing and deleting."""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from storage_builders import changes, commit_one, offsets, open_tables, restored, trace_rows
from thorough import THOROUGH

from streamreasoner.errors import StateError
from streamreasoner.state import schemas
from streamreasoner.state.delta import log
from streamreasoner.state.delta.datafile import DataFile
from streamreasoner.state.delta.retention import Retention
from streamreasoner.state.delta.table import Identity, Table
from streamreasoner.state.maintenance import maintain
from streamreasoner.state.record import TableRecord

EPOCHS = 3000 if THOROUGH else 300
MOST_FILES = 2000 if EPOCHS > 300 else 1500  # without maintenance there would be 11 per epoch
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["p", "q"]),
        st.integers(0, 3),
        st.integers(0, 2),
        st.sampled_from([-2, -1, 1, 2]),
    ),
    max_size=6,
)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(epochs=st.lists(ROWS, min_size=1, max_size=6), history=st.integers(0, 7))
def test_merging_is_invisible(tmp_path_factory, epochs, history):
    """The state at every epoch of the last `trace_epochs` is the same before and after a merge."""
    directory = tmp_path_factory.mktemp("state")
    with open_tables(directory, arity=2) as tables:
        for epoch, rows in enumerate(epochs):
            by_predicate = {
                name: [((arg, 1), iteration, m) for p, arg, iteration, m in rows if p == name]
                for name in "pq"
            }
            commit_one(
                tables, epoch, trace=[trace_rows(name, *by_predicate[name]) for name in "pq"]
            )
        last = len(epochs) - 1
        horizon = last - history
        within = range(max(horizon, 0) + 1, last + 2)
        expected = {before: _state(epochs[:before]) for before in within}
        assert {before: restored(tables, before)[0] for before in within} == expected

        trace = Table(directory / "trace", "trace", Identity("test-application", tables.width))
        for predicate in "pq":
            files = [file for file in trace.files() if file.predicate == predicate]
            if files:
                maintain.merge(trace, [files], horizon)

        assert {before: restored(tables, before)[0] for before in within} == expected
        assert len(trace.files()) <= 2


def test_a_run_in_the_background_loses_nothing(tmp_path):
    """Epochs committed during merges and checkpoints are all retained."""
    epochs = 2 * maintain.EPOCHS_BETWEEN_RUNS + 5
    started = 0
    with open_tables(tmp_path, trace_epochs=3) as tables:
        for epoch in range(epochs):
            commit_one(
                tables, epoch, new_terms=[f"t{epoch}"], changed=[changes("p", ((f"t{epoch}",), 1))]
            )
            started += tables.maintain_if_due()
    assert started >= 1
    statistics = tables.statistics()
    assert statistics.compactions >= 3
    assert statistics.maintenance_failures == 0

    with open_tables(tmp_path) as tables:
        found, dictionary = restored(tables, epochs)
        assert found == {"triple": {((epoch, 1, 2), 0): 1 for epoch in range(epochs)}}
        assert len(dictionary) == epochs
        assert tables.statistics().bytes == statistics.bytes
    for name in schemas.NAMES:
        assert len(list((tmp_path / name / "_delta_log").glob("*.checkpoint.parquet"))) >= 1
    for name in (schemas.TERMS, schemas.TRACE, schemas.CHANGES):
        snapshot = DeltaTable(tmp_path / name)
        assert snapshot.to_pyarrow_table().num_rows == epochs
        assert len(snapshot.file_uris()) < epochs
        assert snapshot.transaction_version("test-application") == epochs - 1


def test_nothing_is_due_before_enough_was_written(tmp_path):
    """No maintenance runs before enough was written."""
    with open_tables(tmp_path) as tables:
        assert not tables.maintain_if_due()
        commit_one(tables, 0)
        assert not tables.maintain_if_due()


def test_facts_that_cancelled_leave_no_row(tmp_path):
    """Merging drops rows that sum to zero, even if no row remains."""
    with open_tables(tmp_path, arity=1) as tables:
        for epoch in range(4):
            row = trace_rows("p", ((7,), 0, 1 if epoch % 2 == 0 else -1))
            commit_one(tables, epoch, trace=[row])
        trace = Table(
            tmp_path / "trace", "trace", Identity("test-application", schemas.LEAST_ARGUMENTS)
        )
        maintain.merge(trace, [trace.files()], 3)

        assert trace.files() == []
        commit_one(tables, 4, trace=[trace_rows("p", ((8,), 0, 1))])
        assert restored(tables, 5)[0] == {"p": {((8,), 0): 1}}


def test_files_nobody_uses_are_deleted_after_an_hour(tmp_path):
    """Merged files and files of crashed epochs are deleted once they are old; live ones never."""
    with open_tables(tmp_path) as tables:
        for epoch in range(4):
            commit_one(tables, epoch)
        trace = Table(
            tmp_path / "trace", "trace", Identity("test-application", schemas.LEAST_ARGUMENTS)
        )
        orphan, young = (tmp_path / "trace" / f"part-{name}.parquet" for name in ("old", "new"))
        for path in (orphan, young):
            path.write_bytes(b"cut short by a crash")
        two_hours_ago = time.time() - 7200
        os.utime(orphan, (two_hours_ago, two_hours_ago))
        trace.save()
        trace.clean()

        assert not orphan.exists()
        assert young.exists()
        commit_one(tables, 4)
        assert len(restored(tables, 5)[0]["triple"]) == 5
    open_tables(tmp_path).close()


def test_files_of_an_epoch_that_is_being_written_stay(tmp_path):
    """However old they seem, as when the clock jumps before they are committed."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
    identity = Identity("test-application", schemas.LEAST_ARGUMENTS)
    trace, earlier = Table(tmp_path / "trace", "trace", identity), Future()
    known = {*trace.directory.glob("*.parquet")}
    (file,) = trace.files()
    rows = pq.read_table(trace.directory / file.path, partitioning=None)
    record = TableRecord(1, 0, {}, offsets(1), None)
    with ThreadPoolExecutor(1) as pool:
        append = pool.submit(trace.append, [(rows, file.partition)], record, earlier)
        while not (new := {*trace.directory.glob("*.parquet")} - known):
            assert not append.done()
        for path in new:
            os.utime(path, (0, 0))
        trace.clean()
        earlier.set_result(0)
        append.result()
    assert all(path.exists() for path in new)
    assert len(trace.files()) == len(known) + 1


def test_files_of_like_size_are_merged():
    """Small files of a partition are merged; a large one waits for others of its size."""

    def file(name, rows, predicate="p"):
        return DataFile(name, 100, rows, {"predicate": predicate})

    small = [file(f"small{n}", 1 + n) for n in range(9)]
    big = [file("big", 1_000_000)]
    few = [file(f"few{n}", 1, "q") for n in range(3)]

    assert maintain.mergeable([*small, *big, *few]) == [small]


def test_one_merge_reads_a_bounded_number_of_rows():
    """Files that together exceed the bound are not all merged at once."""
    files = [DataFile(f"f{n}", 1, 1_100_000, {}) for n in range(16)]

    assert [sum(file.rows for file in group) for group in maintain.mergeable(files)] == []
    files = [DataFile(f"f{n}", 1, 1_040_000, {}) for n in range(16)]
    assert [len(group) for group in maintain.mergeable(files)] == [8]


def test_another_remover_is_noticed(tmp_path):
    """A merge that conflicts with another program's merge is abandoned, so no row is doubled."""
    with open_tables(tmp_path) as tables:
        for epoch in range(4):
            commit_one(tables, epoch)
        identity = Identity("test-application", schemas.LEAST_ARGUMENTS)
        ours, theirs = (Table(tmp_path / "trace", "trace", identity) for _ in range(2))
        files = ours.files()
        maintain.merge(theirs, [files], -1)
        with pytest.raises(StateError, match="has removed files"):
            maintain.merge(ours, [files], -1)

        assert len(restored(tables, 4)[0]["triple"]) == 4


def test_a_stalled_writer_does_not_write_into_the_past(tmp_path):
    """Versions that were committed and cleaned up while a process was stalled are not reused."""
    identity = Identity("test-application", schemas.LEAST_ARGUMENTS)
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
        stalled = Table(tmp_path / "trace", "trace", identity)
        commit_one(tables, 1)
        commit_one(tables, 2)
        stalled.save()
        for version in range(3):
            log.commit_path(tmp_path / "trace", version).unlink()

        with pytest.raises(StateError, match="another process has been writing"):
            stalled.append([], TableRecord(1, 0, {}, {}, None))


@pytest.mark.parametrize("predicates", [1, 8])
def test_small_epochs_leave_few_files(tmp_path, predicates):
    """However many epochs there are, the tables hold under 2,000 files."""
    names = [f"p{n}" for n in range(predicates)]
    most = 0
    with open_tables(tmp_path) as tables:
        for epoch in range(EPOCHS):
            term = f"t{epoch}"
            commit_one(
                tables,
                epoch,
                trace=[trace_rows(name, ((epoch,), 0, 1)) for name in names],
                new_terms=[term],
                changed=[changes("p", ((term,), 1))],
            )
            if tables.maintain_if_due():
                most = max(most, sum(len(names) for _, _, names in os.walk(tmp_path)))
        assert tables.statistics().maintenance_failures == 0
    assert most < MOST_FILES
    with open_tables(tmp_path) as tables:
        found, dictionary = restored(tables, EPOCHS)
        expected = {((epoch,), 0): 1 for epoch in range(EPOCHS)}
        assert found == dict.fromkeys(names, expected)
        assert len(dictionary) == EPOCHS
    assert DeltaTable(tmp_path / "changes").to_pyarrow_table().num_rows == EPOCHS


def test_readers_keep_what_they_read_for_some_time(tmp_path):
    """Files that were merged since a reader began are retained, up to a maximum number."""
    with open_tables(tmp_path) as tables:
        trace = tables._tables["trace"]  # noqa: SLF001 - there is no public way to merge
        for epoch in range(5):
            commit_one(tables, epoch)
        reader = DeltaTable(tmp_path / "trace").to_pyarrow_dataset()
        maintain.merge(trace, [trace.files()], -1)
        assert reader.to_table().num_rows == 5
        trace.clean(Retention(unused_files=3))

    merged = list((tmp_path / "trace").glob("*.parquet"))
    assert len(merged) == 1 + 3


def test_old_commits_go_and_the_last_two_checkpoints_stay(tmp_path):
    """A reader that began with the checkpoint before the last one finds all later commits."""
    with open_tables(tmp_path) as tables:
        trace = tables._tables["trace"]  # noqa: SLF001 - there is no public way to checkpoint
        for epoch in range(12):
            commit_one(tables, epoch)
            if epoch % 2:
                trace.save()
                trace.clean(Retention(log_entries=4))

    logs = log.directory_of(tmp_path / "trace")
    checkpoints = sorted(int(path.name[:20]) for path in logs.glob("*.checkpoint.parquet"))
    commits = [version for version, _ in log.commits(tmp_path / "trace")]
    assert checkpoints[-2:] == [10, 12]
    assert commits == list(range(checkpoints[0], 13))
    assert len(commits) <= 4 + 3
    with open_tables(tmp_path) as tables:
        assert len(restored(tables, 12)[0]["triple"]) == 12


def test_a_bug_in_maintenance_ends_the_process(tmp_path, monkeypatch):
    """An unexpected error is counted, and raised in the thread of the batches."""
    monkeypatch.setattr(maintain, "EPOCHS_BETWEEN_RUNS", 1)
    monkeypatch.setattr(maintain, "mergeable", lambda _: 1 / 0)
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
        assert tables.maintain_if_due()
        tables._maintenance.wait()  # noqa: SLF001 - there is no other way to wait for a run
        assert tables.statistics().maintenance_failures == 1
        with pytest.raises(ZeroDivisionError):
            tables.maintain_if_due()


def test_damage_that_maintenance_meets_is_counted_and_tried_again(tmp_path, monkeypatch, caplog):
    """The state in memory is correct, so the pipeline continues; log and metric report it."""
    monkeypatch.setattr(maintain, "EPOCHS_BETWEEN_RUNS", 1)
    with open_tables(tmp_path) as tables:
        for epoch in range(8):
            commit_one(tables, epoch)
        path = next((tmp_path / "trace").glob("*.parquet"))
        path.write_bytes(bytes(path.stat().st_size))
        for run in (1, 2):
            assert tables.maintain_if_due()
            tables._maintenance.wait()  # noqa: SLF001 - as above
            assert tables.statistics().maintenance_failures == run
            commit_one(tables, 7 + run)
    assert f"{path.name} is damaged" in caplog.text


def test_a_merge_says_so_in_the_log(tmp_path):
    """The commit of a merge is not marked as an append."""
    with open_tables(tmp_path) as tables:
        for epoch in range(4):
            commit_one(tables, epoch)
        trace = tables._tables["trace"]  # noqa: SLF001 - there is no public way to merge
        maintain.merge(trace, [trace.files()], -1)
    note = DeltaTable(tmp_path / "trace").history(1)[0]
    assert (note["operation"], note.get("operationParameters")) == ("OPTIMIZE", {})


def _state(epochs):
    state = {}
    for name in "pq":
        counts = Counter()
        for rows in epochs:
            for predicate, arg, iteration, multiplicity in rows:
                if predicate == name:
                    counts[(arg, 1), iteration] += multiplicity
        kept = {key: count for key, count in counts.items() if count}
        if kept:
            state[name] = kept
    return state
