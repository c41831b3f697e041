"""The table `programs`: which program was in effect from which epoch on."""

from __future__ import annotations

import shutil
from itertools import product

import pytest
from deltalake import DeltaTable
from storage_builders import NOW, PROGRAM, changes, commit_one, open_tables, record, terms

from streamreasoner.errors import StateError
from streamreasoner.program.text import ProgramText
from streamreasoner.state import programs, schemas
from streamreasoner.state.delta import log
from streamreasoner.state.maintenance import maintain

OTHER = ProgramText("other-hash", "r(?x) :- q(?x) .\n", ("q/1", "r/1"))
THIRD = ProgramText("third-hash", "s(?x, 1) :- q(?x) .\n", ("q/1", "s/2"))


def commit_change(tables, epoch, program=OTHER):
    """An epoch with rows for every table."""
    changed = [changes("p", (("a",), 1))]
    commit_one(tables, epoch, new_terms=["a"], changed=changed, program=program)


def test_a_state_begins_with_a_program_and_keeps_all_that_follow(tmp_path):
    """Programs are read in order with their epochs; the first, before all epochs, occurs once."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
        commit_one(tables, 1, program=OTHER)
        commit_one(tables, 2)
        commit_one(tables, 3, program=THIRD)
        found = ((-1, PROGRAM), (1, OTHER), (3, THIRD))
        assert tables.programs == found

    with open_tables(tmp_path, program=THIRD) as tables:
        assert tables.programs == found
    assert programs.read(tmp_path / "programs") == found
    assert THIRD.arities == {"q": 1, "s": 2}


def test_merged_files_hold_the_same_programs(tmp_path):
    """The programs do not depend on how files were merged."""
    with open_tables(tmp_path) as tables:
        for epoch in range(10):
            commit_one(tables, epoch, program=(OTHER, THIRD)[epoch % 2])
        before = tables.programs
        table = tables._tables[schemas.PROGRAMS]  # noqa: SLF001 - there is no public way to merge
        maintain.merge(table, [table.files()], 5)

    assert len(DeltaTable(tmp_path / "programs").file_uris()) == 1
    assert programs.read(tmp_path / "programs") == before


@pytest.mark.parametrize("kept", [*product((False, True), repeat=len(schemas.NAMES))])
def test_an_epoch_that_changes_the_program_is_complete_in_all_tables(tmp_path, kept):
    """Whichever tables had the epoch at a crash, after the replay each has it exactly once."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
        commit_change(tables, 1)
    for name, is_kept in zip(schemas.NAMES, kept, strict=True):
        if not is_kept:
            log.commits(tmp_path / name)[-1][1].unlink()

    with open_tables(tmp_path) as tables:
        assert tables.version() == (1 if all(kept) else 0)
        tables.commit(
            record(1, OTHER),
            (0, terms("a")),
            [],
            [(NOW, [changes("p", (("a",), 1))])],
            OTHER,
        )
        assert tables.version() == 1

    assert programs.read(tmp_path / "programs") == ((-1, PROGRAM), (1, OTHER))
    for name in (schemas.TERMS, schemas.CHANGES):
        assert DeltaTable(tmp_path / name).to_pyarrow_table().num_rows == 1


@pytest.mark.parametrize("program", [None, THIRD])
@pytest.mark.parametrize("lost", [None, schemas.TRACE, schemas.PROGRAMS])
def test_a_replay_that_comes_to_another_program_is_refused(tmp_path, lost, program):
    """The log of `trace` or `programs` has the first attempt's program; the replay must agree."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
        commit_change(tables, 1)
    if lost is not None:
        log.commits(tmp_path / lost)[-1][1].unlink()

    with (
        open_tables(tmp_path) as tables,
        pytest.raises(StateError, match=r"with program other-hash.*results in .*recursion_limit"),
    ):
        commit_change(tables, 1, program)


def test_a_program_that_nobody_knows_is_refused(tmp_path):
    """Tables that have epochs but lack their first program are refused."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
    log.commits(tmp_path / "programs")[-1][1].unlink()

    with pytest.raises(StateError, match="their program is unknown"):
        open_tables(tmp_path)

    shutil.rmtree(tmp_path / "programs")
    with pytest.raises(StateError, match="but not programs"):
        open_tables(tmp_path)


def test_a_creation_that_was_cut_short_begins_with_the_program_of_the_next_start(tmp_path):
    """Until the first row of `programs` is written, nothing depends on it."""
    open_tables(tmp_path).close()
    log.commits(tmp_path / "programs")[-1][1].unlink()

    with open_tables(tmp_path, program=OTHER) as tables:
        assert tables.programs == ((-1, OTHER),)


def test_a_table_that_is_not_there_is_one_message(tmp_path):
    """Reading the programs of a state that does not exist gives one message."""
    with pytest.raises(StateError, match="no pipeline has used this state yet"):
        programs.read(tmp_path / "programs")
