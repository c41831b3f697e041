"""The tables of a state: opening, committing, replaying, restoring."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from deltalake import DeltaTable, Schema
from storage_builders import (
    APP,
    NOW,
    PROGRAM,
    changes,
    commit_one,
    offsets,
    open_tables,
    record,
    restored,
    terms,
    trace_rows,
)

from streamreasoner.engine.blocks import Blocks
from streamreasoner.errors import StateError
from streamreasoner.state import restore, rows, schemas
from streamreasoner.state.delta import log, seal, table
from streamreasoner.state.delta.table import Identity
from streamreasoner.state.record import EpochRecord, TableRecord


def test_new_tables_hold_no_epoch(tmp_path):
    """Before the first commit there is no version, no term and nothing to restore."""
    with open_tables(tmp_path / "state") as tables:
        assert tables.version() is None
        assert tables.terms_stored == 0
        assert restored(tables, 10)[0] == {}


def test_tables_are_plain_delta(tmp_path):
    """Every table has reader version 1, writer version 2, and names its application."""
    open_tables(tmp_path).close()

    for name in schemas.NAMES:
        found = DeltaTable(tmp_path / name)
        protocol = found.protocol()
        assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
        assert found.metadata().configuration["streamreasoner.applicationId"] == APP
    assert DeltaTable(tmp_path / "trace").metadata().partition_columns == ["predicate"]


@pytest.mark.parametrize("name", schemas.NAMES)
def test_schemas_are_those_of_delta_rs(name, tmp_path):
    """A table's log has its schema byte for byte as another implementation writes it."""
    open_tables(tmp_path).close()
    logged = log.read_commit(log.commit_path(tmp_path / name, 0))[2]["metaData"]["schemaString"]

    assert logged == Schema.from_arrow(schemas.schema(name, schemas.LEAST_ARGUMENTS)).to_json()


def test_an_epoch_survives_reopening(tmp_path):
    """The next process reads what was committed: version, offsets, terms and trace."""
    with open_tables(tmp_path) as tables:
        tables.commit(
            record(0),
            (0, terms("a", "b", "c")),
            [
                trace_rows("triple", ((0, 1, 2), 0, 2), ((0, 1, 1), 3, -1)),
                trace_rows("edge", ((2, 0), 1, 5)),
            ],
            [(NOW, [changes("triple", (("a", "b", "c"), 1))])],
        )

    with open_tables(tmp_path, create=False) as tables:
        assert tables.version() == 0
        assert tables.offsets(0) == offsets(0)
        found, dictionary = restored(tables, 1)

    assert found == {
        "triple": {((0, 1, 2), 0): 2, ((0, 1, 1), 3): -1},
        "edge": {((2, 0), 1): 5},
    }
    assert dictionary.terms(0, len(dictionary)) == terms("a", "b", "c")


def test_restore_sums_epochs_below_the_one_that_is_replayed(tmp_path):
    """Differences of a fact are summed, zero sums are dropped, later epochs are excluded."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0, trace=[trace_rows("p", ((7,), 0, 1), ((8,), 0, 1))])
        commit_one(tables, 1, trace=[trace_rows("p", ((7,), 0, -1), ((8,), 0, 3), ((8,), 1, 1))])
        commit_one(tables, 2, trace=[trace_rows("p", ((9,), 0, 1))])

        assert restored(tables, 2)[0] == {"p": {((8,), 0): 4, ((8,), 1): 1}}
        assert restored(tables, 1)[0] == {"p": {((7,), 0): 1, ((8,), 0): 1}}


def test_a_large_predicate_is_restored_in_blocks(tmp_path, monkeypatch):
    """A fact is never split between blocks, and all blocks together equal a single one."""
    with open_tables(tmp_path) as tables:
        for epoch in range(3):
            facts = [((n, n), n % 2, 1 + epoch) for n in range(20)]
            commit_one(
                tables, epoch, trace=[trace_rows("p", *facts), trace_rows("none", ((), 0, 1))]
            )
        expected = restored(tables, 2)[0]
        monkeypatch.setattr(restore, "BLOCK_ROWS", 16)
        blocks = [block for block in tables.restore(2) if block.predicate == "p"]
        assert restored(tables, 2)[0] == expected
    assert len(blocks) == 4
    assert sum(len(block.multiplicity) for block in blocks) == 20


def test_time_travel_reads_epochs_up_to_a_moment(tmp_path):
    """Any reader sees the state after epoch N as the sum over `epoch <= N`."""
    duckdb = pytest.importorskip("duckdb")
    with open_tables(tmp_path) as tables:
        for epoch in range(4):
            commit_one(tables, epoch, trace=[trace_rows("p", ((1, epoch), 0, 1), ((1, 9), 1, 1))])

    trace = DeltaTable(tmp_path / "trace").to_pyarrow_dataset()
    query = "select a1, sum(multiplicity) from trace where epoch <= 1 group by a1 order by a1"
    assert duckdb.from_arrow(trace).query("trace", query).fetchall() == [(0, 1), (1, 1), (9, 2)]


def test_changes_are_readable_without_the_dictionary(tmp_path):
    """`changes` holds decoded arguments, the epoch, its time in UTC and the sign."""
    with open_tables(tmp_path) as tables:
        commit_one(
            tables,
            5,
            changed=[
                changes("triple", (("s", "p", "o"), 1), (("s", "p", "x"), -1)),
                changes("edge", (("s", "o"), 1)),
                ("flag", [], np.array([-1], np.int8)),
            ],
        )

    rows = DeltaTable(tmp_path / "changes").to_pyarrow_table().to_pylist()
    iri = "<http://example.org/{}>".format
    assert [(row["predicate"], row["args"], row["multiplicity"]) for row in rows] == [
        ("triple", [iri("s"), iri("p"), iri("o")], 1),
        ("triple", [iri("s"), iri("p"), iri("x")], -1),
        ("edge", [iri("s"), iri("o")], 1),
        ("flag", [], -1),
    ]
    assert {(row["epoch"], row["ts"]) for row in rows} == {(5, NOW)}


def test_many_rows_are_several_files(tmp_path, monkeypatch):
    """An epoch in blocks is written file by file, in a single commit."""
    monkeypatch.setattr(rows, "_FILE_ROWS", 2)
    names = "abcde"
    with open_tables(tmp_path) as tables:
        tables.commit(
            record(0),
            (0, terms(*names)),
            Blocks(lambda: [trace_rows("p", ((i,), 0, 1)) for i in range(len(names))]),
            [(NOW, Blocks(lambda: [changes("p", ((name,), 1)) for name in names]))],
        )
        assert restored(tables, 1)[0] == {"p": {((i,), 0): 1 for i in range(len(names))}}
    for name, files in (("trace", 3), ("changes", 3)):
        table = DeltaTable(tmp_path / name)
        assert len(table.file_uris()) == files
        assert len(table.to_pyarrow_table()) == len(names)


def test_an_epoch_without_rows_is_recorded_once(tmp_path):
    """An epoch without changes is one commit, to `trace` only."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0, trace=[])
        assert tables.version() == 0

    assert DeltaTable(tmp_path / "trace").version() == 1
    assert DeltaTable(tmp_path / "terms").version() == 0
    with open_tables(tmp_path) as tables:
        assert (tables.version(), tables.offsets(0)) == (0, offsets(0))


def test_replaying_a_complete_epoch_changes_nothing(tmp_path):
    """The same epoch committed again, by the same or another process, is committed once."""
    for _ in range(2):
        with open_tables(tmp_path) as tables:
            for _ in range(2):
                tables.commit(
                    record(0),
                    (0, terms("a")),
                    [trace_rows("p", ((0,), 0, 1))],
                    [(NOW, [changes("p", (("a",), 1))])],
                )

    for name in ("terms", "trace", "changes"):
        assert DeltaTable(tmp_path / name).to_pyarrow_table().num_rows == 1


FULL = {"terms", "trace", "changes"}


@pytest.mark.parametrize(
    "written",
    [
        set(),
        {"terms"},
        {"trace"},
        {"changes"},
        {"terms", "trace"},
        {"terms", "changes"},
        {"trace", "changes"},
        FULL,
    ],
    ids=lambda written: "+".join(sorted(written)) or "nothing",
)
def test_a_crash_between_appends_is_completed_by_the_replay(tmp_path, written):
    """Whichever tables a crashed epoch reached, its replay adds exactly what is missing."""
    _two_epochs(tmp_path / "whole")
    _two_epochs(tmp_path / "crashed")
    for name in FULL - written:
        _forget_last_commit(tmp_path / "crashed" / name)

    with open_tables(tmp_path / "crashed") as tables:
        assert tables.version() == (1 if written == FULL else 0)
        found, dictionary = restored(tables, 1)
        assert found == {"p": {((0,), 0): 1}}
        known = len(dictionary)
        ids = dictionary.encode(terms("b"))
        tables.commit(
            record(1),
            (known, dictionary.terms(known, len(dictionary))),
            [trace_rows("p", ((int(ids[0]),), 0, 1))],
            [(NOW, [changes("p", (("b",), 1))])],
        )
        assert tables.version() == 1

    for name in FULL:
        whole, crashed = (
            DeltaTable(tmp_path / run / name).to_pyarrow_table().to_pylist()
            for run in ("whole", "crashed")
        )
        assert sorted(map(str, crashed)) == sorted(map(str, whole))


def test_ids_are_never_stored_without_their_terms(tmp_path):
    """If `terms` does not get its rows, `trace` does not get the epoch."""
    with open_tables(tmp_path) as tables, open_tables(tmp_path) as other:
        first = TableRecord(0, None, {}, offsets(0), None)
        other._tables[schemas.TERMS].append([], first)  # noqa: SLF001 - takes the version
        with pytest.raises(StateError, match=r"has written epoch 0 to .*terms"):
            commit_one(tables, 0, new_terms=["a"])
    assert len(log.commits(tmp_path / "trace")) == 1


def test_an_incomplete_epoch_must_be_replayed(tmp_path):
    """Skipping an incomplete epoch is refused, because its rows would be lost."""
    _two_epochs(tmp_path)
    _forget_last_commit(tmp_path / "changes")

    with (
        open_tables(tmp_path) as tables,
        pytest.raises(StateError, match="Epoch 1 was interrupted"),
    ):
        commit_one(tables, 2)


def test_a_replay_with_other_input_is_refused(tmp_path):
    """After the loss of a checkpoint, epochs are reused for other data; the offsets reveal it."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
        with pytest.raises(StateError, match="checkpoint does not belong"):
            tables.commit(EpochRecord(0, offsets(7), PROGRAM.hash), (0, terms()), [], [])


def test_two_writers_do_not_both_write(tmp_path):
    """The second of two processes to write an epoch is refused, and the message says why."""
    with open_tables(tmp_path) as first, open_tables(tmp_path) as second:
        commit_one(first, 0)
        with pytest.raises(StateError, match="Another process with application id"):
            commit_one(second, 0)
        with pytest.raises(StateError, match="restart the process"):
            commit_one(second, 0)
        commit_one(first, 1)

    assert DeltaTable(tmp_path / "trace").to_pyarrow_table().num_rows == 2


def test_tables_of_somebody_else_are_refused(tmp_path):
    """Another application is refused; the message has both names and what to do."""
    open_tables(tmp_path).close()

    message = "application id 'test-application', this run has 'another'"
    with pytest.raises(StateError, match=message):
        open_tables(tmp_path, app="another")


def test_tables_of_another_layout_are_refused(tmp_path):
    """A table with unexpected columns is refused; the message names both sets of columns."""
    table.create(tmp_path / "terms", "changes", Identity(APP, 8))

    with pytest.raises(StateError, match=r"terms has the columns .*'args'.*this version writes"):
        open_tables(tmp_path)


@pytest.mark.parametrize(("arity", "width"), [(0, 8), (8, 8), (11, 11)])
def test_the_trace_keeps_the_columns_it_was_made_with(tmp_path, arity, width):
    """A new trace has columns for at least 8 arguments, and an old one keeps its columns."""
    with open_tables(tmp_path, arity=arity) as tables:
        assert tables.width == width
        commit_one(tables, 0, trace=[trace_rows("p", (tuple(range(width)), 0, 1))])
        with pytest.raises(ValueError, match=f"the table holds {width}"):
            commit_one(tables, 1, trace=[trace_rows("p", (tuple(range(width + 1)), 0, 1))])
    with open_tables(tmp_path, arity=3) as tables:
        assert tables.width == width
        assert restored(tables, 1)[0] == {"p": {(tuple(range(width)), 0): 1}}


def test_missing_state_is_not_created_when_it_must_exist(tmp_path):
    """Without `create`, an empty directory is an error, not a new state."""
    with pytest.raises(StateError, match="holds no state"):
        open_tables(tmp_path, create=False)


def test_a_lost_table_is_refused(tmp_path):
    """If one table is missing and others have epochs, the state is refused."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0, new_terms=["a"])
    shutil.rmtree(tmp_path / "changes")

    with pytest.raises(StateError, match="but not changes"):
        open_tables(tmp_path)


def test_an_interrupted_creation_is_completed(tmp_path):
    """A crash during the creation of tables does not block the next start."""
    open_tables(tmp_path).close()
    shutil.rmtree(tmp_path / "changes")
    (tmp_path / "changes" / "_delta_log").mkdir(parents=True)

    with open_tables(tmp_path) as tables:
        commit_one(tables, 0, changed=[changes("p", (("a",), 1))])
        assert tables.version() == 0


def test_tables_that_are_two_epochs_apart_are_refused(tmp_path):
    """At most one epoch can be incomplete; otherwise the tables are from different times."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
        commit_one(tables, 1, changed=[changes("p", (("a",), 1))])
        commit_one(tables, 2)
    for _ in range(2):
        _forget_last_commit(tmp_path / "trace")
    with open_tables(tmp_path) as tables:
        assert tables.version() == 0
    _two_epochs(tmp_path / "other")
    shutil.rmtree(tmp_path / "terms")
    shutil.copytree(tmp_path / "other" / "terms", tmp_path / "terms")
    _set_last_epoch(tmp_path / "terms", 3)

    with pytest.raises(StateError, match="that no crash can leave"):
        open_tables(tmp_path)


def test_terms_that_the_table_has_are_skipped(tmp_path):
    """Given terms may begin at any id; a gap is refused."""
    with open_tables(tmp_path) as tables:
        tables.commit(record(0), (0, terms("a", "b")), [], [])
        tables.commit(record(1), (0, terms("a", "b", "c")), [], [])
        assert tables.terms_stored == 3
        assert restored(tables, 2)[1].terms(0, 3) == terms("a", "b", "c")
        with pytest.raises(StateError, match="begin at id 5"):
            tables.commit(record(2), (5, terms("f")), [], [])


def test_a_dictionary_that_is_not_empty_is_refused(tmp_path):
    """Terms must keep their ids, so the dictionary must not have assigned any."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0, new_terms=["a", "b"])

        _, dictionary = restored(tables, 0)
        dictionary = type(dictionary)()
        dictionary.encode(terms("b"))
        with pytest.raises(StateError, match="has id 0 in"):
            tables.restore_terms(dictionary)


def test_offsets_of_the_last_epochs_are_remembered(tmp_path):
    """The offsets of an epoch are read from its commit; an unknown epoch has none."""
    with open_tables(tmp_path) as tables:
        for epoch in range(3):
            commit_one(tables, epoch)
        assert [tables.offsets(epoch) for epoch in range(4)] == [*map(offsets, range(3)), None]


@pytest.mark.parametrize(
    ("content", "state"),
    [(b"", "empty"), (b'{"add": {"path": "par', "damaged"), (b"\xff", "damaged")],
)
def test_a_damaged_last_commit_is_refused(tmp_path, content, state):
    """The message names an empty or truncated commit, and its advice works."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
        commit_one(tables, 1)
    path = log.commit_path(tmp_path / "trace", 2)
    path.write_bytes(content)

    with pytest.raises(StateError, match=f"{path.name} is {state}. Restore the state directory"):
        open_tables(tmp_path)


def test_the_commit_of_an_epoch_that_was_not_finished_may_be_deleted(tmp_path):
    """A replay writes the last epoch again if its commit is missing."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
        commit_one(tables, 1)
    log.commit_path(tmp_path / "trace", 2).unlink()

    with open_tables(tmp_path) as tables:
        assert tables.version() == 0
        commit_one(tables, 1)
        assert restored(tables, 2)[0] == {"triple": {((e, 1, 2), 0): 1 for e in range(2)}}


@pytest.mark.parametrize("name", ["terms", "changes", "programs"])
def test_a_table_that_lost_its_last_commits_is_refused(tmp_path, name):
    """Each epoch records where the other tables ended, so lost commits are detected."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0, new_terms=["a"], changed=[changes("p", (("a",), 1))])
        commit_one(tables, 1, new_terms=["b"], changed=[changes("p", (("b",), 1))], program=PROGRAM)
        commit_one(tables, 2)
    _forget_last_commit(tmp_path / name)

    with pytest.raises(StateError, match=rf"{name} ends with epoch .* had rows of epoch 1.*Rest"):
        open_tables(tmp_path)


def test_the_record_of_the_last_epochs_outlives_their_commits(tmp_path):
    """After the log was cleaned up to its checkpoint, the last epochs' offsets are still known."""
    with open_tables(tmp_path) as tables:
        for epoch in range(3):
            commit_one(tables, epoch)
        tables._tables["trace"].save()  # noqa: SLF001 - there is no public way to checkpoint
    for _, path in log.commits(tmp_path / "trace"):
        path.unlink()

    with open_tables(tmp_path) as tables:
        assert tables.version() == 2
        assert [tables.offsets(epoch) for epoch in (1, 2)] == [offsets(1), offsets(2)]
        commit_one(tables, 3)
        assert len(restored(tables, 4)[0]["triple"]) == 4


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b'{"version": 1000000}'])
def test_the_pointer_to_the_last_checkpoint_does_not_matter(tmp_path, content):
    """A damaged `_last_checkpoint` changes nothing, and the next checkpoint replaces it."""
    with open_tables(tmp_path) as tables:
        for epoch in range(3):
            commit_one(tables, epoch)
        trace = tables._tables["trace"]  # noqa: SLF001 - there is no public way to checkpoint
        trace.save()
    pointer = log.directory_of(tmp_path / "trace") / "_last_checkpoint"
    pointer.write_bytes(content)

    with open_tables(tmp_path) as tables:
        commit_one(tables, 3)
        assert tables.version() == 3
        tables._tables["trace"].save()  # noqa: SLF001 - as above
    assert json.loads(pointer.read_text())["version"] == DeltaTable(tmp_path / "trace").version()


@pytest.mark.parametrize("suffix", ["parquet", "seal"])
def test_a_damaged_checkpoint_is_refused_with_the_way_out(tmp_path, suffix):
    """While the commits before it exist, deleting the checkpoint repairs the table."""
    with open_tables(tmp_path) as tables:
        for epoch in range(3):
            commit_one(tables, epoch)
        tables._tables["trace"].save()  # noqa: SLF001 - there is no public way to checkpoint
    (path,) = log.directory_of(tmp_path / "trace").glob(f"*.checkpoint.{suffix}")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    with pytest.raises(StateError, match=f"{path.name} is damaged, .*Delete .*and restart"):
        open_tables(tmp_path)
    for each in log.directory_of(tmp_path / "trace").glob("*.checkpoint.*"):
        each.unlink()
    with open_tables(tmp_path) as tables:
        assert (tables.version(), tables.offsets(2)) == (2, offsets(2))


def test_a_hole_in_the_log_is_refused(tmp_path):
    """A missing commit in the middle is named."""
    with open_tables(tmp_path) as tables:
        for epoch in range(3):
            commit_one(tables, epoch)
    log.commit_path(tmp_path / "trace", 2).unlink()

    with pytest.raises(StateError, match=r"but not version 2: .*02.json is missing\. Restore"):
        open_tables(tmp_path)


@pytest.mark.parametrize("damage", ["missing", "shorter", "overwritten"])
def test_a_damaged_data_file_is_refused(tmp_path, damage):
    """A data file that is missing, truncated or not Parquet is refused by name."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
    (path,) = (tmp_path / "trace").glob("*.parquet")
    size = path.stat().st_size
    match damage:
        case "missing":
            path.unlink()
        case "shorter":
            path.write_bytes(path.read_bytes()[:-7])
        case "overwritten":
            path.write_bytes(bytes(size))

    with pytest.raises(StateError, match=path.name), open_tables(tmp_path) as tables:
        restored(tables, 1)


def test_predicates_may_be_any_text(tmp_path):
    """A predicate whose name is an IRI, or has a space or a percent sign, is a valid partition."""
    names = ["http://example.org/a b%20c?d=e&f", "Ünïcode/..", "p"]
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0, trace=[trace_rows(name, ((1,), 0, 1)) for name in names])

    with open_tables(tmp_path) as tables:
        assert sorted(restored(tables, 1)[0]) == sorted(names)
    column = DeltaTable(tmp_path / "trace").to_pyarrow_table().column("predicate").to_pylist()
    assert sorted(column) == sorted(names)


def test_a_full_or_forbidden_disk_is_one_message(tmp_path, monkeypatch):
    """A disk error raises a StateError, and the process writes nothing more."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", _no_space)
            with pytest.raises(StateError, match=r"cannot be written: .*No space left"):
                commit_one(tables, 1)
        with pytest.raises(StateError, match="restart the process"):
            commit_one(tables, 1)

    with open_tables(tmp_path) as tables:
        assert tables.version() == 0
        commit_one(tables, 1)
        assert tables.version() == 1


def _no_space(_descriptor):
    raise OSError(28, "No space left on device")


def _two_epochs(directory):
    with open_tables(directory) as tables:
        for epoch, name in enumerate("ab"):
            commit_one(
                tables,
                epoch,
                trace=[trace_rows("p", ((epoch,), 0, 1))],
                new_terms=[name],
                changed=[changes("p", ((name,), 1))],
            )


def _forget_last_commit(table):
    log.commits(table)[-1][1].unlink()


def _set_last_epoch(table, epoch):
    path = log.commits(table)[-1][1]
    actions = log.read_commit(path)
    actions[0]["commitInfo"][seal.KEY] = seal.BLANK
    for action in actions:
        if "txn" in action:
            action["txn"]["version"] = epoch
    path.write_bytes(seal.sealed("".join(f"{json.dumps(action)}\n" for action in actions)))
