"""Tables that another program has changed: read if this version can read them, refused by name."""

from __future__ import annotations

import json

import pytest
from deltalake import DeltaTable
from storage_builders import changes, commit_one, open_tables, restored, trace_rows

from streamreasoner.errors import StateError
from streamreasoner.state import schemas
from streamreasoner.state.delta import log, seal
from streamreasoner.state.delta.table import Identity, Table

RAISED = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": ["deletionVectors"],
}
NEEDS = r"trace needs Delta reader version 3, writer version 7 and the table features deletionV"


def foreign_commit(table, *actions):
    """Append a commit as another program would."""
    version = log.commits(table)[-1][0] + 1
    info = {"commitInfo": {"operation": "SET TBLPROPERTIES", "engineInfo": "another program"}}
    text = "".join(f"{json.dumps(action)}\n" for action in (info, *actions))
    log.commit_path(table, version).write_text(text)


def test_a_table_with_a_raised_protocol_is_refused(tmp_path):
    """The message says what the table needs, what this version supports, and what to do."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
    foreign_commit(tmp_path / "trace", {"protocol": RAISED})

    with pytest.raises(StateError, match=NEEDS + r".*DROP FEATURE.*Restore|restore"):
        open_tables(tmp_path)


def test_a_protocol_that_is_raised_meanwhile_ends_the_process(tmp_path):
    """The next commit detects it and is not written."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
        foreign_commit(tmp_path / "trace", {"protocol": RAISED})
        with pytest.raises(StateError, match=NEEDS):
            commit_one(tables, 1)
    assert len(log.commits(tmp_path / "trace")) == 3


@pytest.mark.parametrize("running", [True, False])
def test_a_file_with_a_deletion_vector_is_refused(tmp_path, running):
    """Rows that another program has deleted are never read."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
        (add,) = tables._tables["trace"].snapshot().added.values()  # noqa: SLF001 - as logged
        vector = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
        foreign_commit(tmp_path / "trace", {"add": {**add, "deletionVector": vector}})
        if running:
            with pytest.raises(StateError, match="has a deletion vector"):
                commit_one(tables, 1)
    with pytest.raises(StateError, match=rf"{add['path']}.* has a deletion vector.*PURGE"):
        open_tables(tmp_path)


def test_rows_of_changes_may_be_deleted_while_the_process_is_stopped(tmp_path):
    """A Delta writer that does not raise the protocol may do so, as their reference says."""
    for first in (0, 3):
        with open_tables(tmp_path) as tables:
            for epoch in range(first, first + 3):
                commit_one(tables, epoch, changed=[changes("p", ((f"t{epoch}",), 1))])
        DeltaTable(tmp_path / "changes").delete(f"epoch = {first + 1}")

    with open_tables(tmp_path) as tables:
        commit_one(tables, 6, changed=[changes("p", (("t6",), 1))])
        assert tables.version() == 6
    left = DeltaTable(tmp_path / "changes").to_pyarrow_table().column("epoch").to_pylist()
    assert sorted(left) == [0, 2, 3, 5, 6]


def test_files_of_other_programs_get_a_digest(tmp_path):
    """A start adds digests of files that were written in between; later changes are detected."""
    with open_tables(tmp_path) as tables:
        for epoch in range(3):
            commit_one(tables, epoch, new_terms=[f"t{epoch}"])
    DeltaTable(tmp_path / "terms").optimize.compact()
    open_tables(tmp_path).close()

    identity = Identity("test-application", schemas.LEAST_ARGUMENTS)
    (file,) = Table(tmp_path / "terms", "terms", identity).files()
    path = file.path_in(tmp_path / "terms")
    assert file.digest == seal.digest(path.read_bytes())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StateError, match=f"{path.name} is damaged"), open_tables(tmp_path) as again:
        restored(again, 3)


def test_readers_see_files_that_are_in_a_checkpoint(tmp_path):
    """Another Delta implementation reads the log from a checkpoint of this one."""
    with open_tables(tmp_path) as tables:
        for epoch in range(3):
            commit_one(tables, epoch, trace=[trace_rows("p/ %", ((epoch,), 0, 1))])
        trace = tables._tables["trace"]  # noqa: SLF001 - there is no public way to checkpoint
        trace.save()
        commit_one(tables, 3)
    for version in range(3):
        log.commit_path(tmp_path / "trace", version).unlink()

    found = DeltaTable(tmp_path / "trace")
    assert found.to_pyarrow_table().num_rows == 4
    assert found.transaction_version("test-application") == 3
    assert found.metadata().partition_columns == ["predicate"]


def test_a_log_that_ends_before_a_checkpoint_of_another_program_is_refused(tmp_path):
    """A checkpoint proves that its commits existed."""
    with open_tables(tmp_path) as tables:
        for epoch in range(3):
            commit_one(tables, epoch)
        tables._tables["trace"].save()  # noqa: SLF001 - there is no public way to checkpoint
        commit_one(tables, 3)
    DeltaTable(tmp_path / "trace").create_checkpoint()
    open_tables(tmp_path).close()
    log.commits(tmp_path / "trace")[-1][1].unlink()

    with pytest.raises(StateError, match=r"4\.checkpoint\.parquet, but no commits up to it"):
        open_tables(tmp_path)
