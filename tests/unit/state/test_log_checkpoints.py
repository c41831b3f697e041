"""Snapshots, checkpoints and retention: whatever is deleted, the same table is read."""

from __future__ import annotations

import dataclasses
import os

import pytest
from storage_builders import APP, changes, commit_one, open_tables

from streamreasoner.errors import StateError
from streamreasoner.state import schemas
from streamreasoner.state.delta import checkpoint, log, retention, snapshot
from streamreasoner.state.delta.retention import Retention
from streamreasoner.state.delta.table import Identity, Table

EPOCHS = 6


def content(found):
    """A snapshot, except where its log begins."""
    return dataclasses.replace(found, checkpoint=-1)


@pytest.fixture
def states(tmp_path):
    """The directory of `changes`, and its snapshot after each epoch."""
    directory = tmp_path / schemas.CHANGES
    seen = []
    with open_tables(tmp_path) as tables:
        for epoch in range(EPOCHS):
            commit_one(tables, epoch, changed=[changes("p", ((f"t{epoch}",), 1))])
            seen.append(snapshot.read(directory))
    return directory, seen


def write(directory, seen):
    """A checkpoint of each of these snapshots."""
    for each in seen:
        checkpoint.write(directory, each.version, each.actions(), each.records)


def test_following_a_log_gives_what_reading_it_gives(states):
    """From any earlier snapshot; the one of before is not changed."""
    directory, seen = states
    for earlier in seen:
        kept = dict(earlier.added)
        assert content(snapshot.follow(directory, earlier)) == content(seen[-1])
        assert earlier.added == kept


def test_a_checkpoint_stands_for_the_commits_before_it(states):
    """Without them the same snapshot is read, including the records of epochs."""
    directory, seen = states
    write(directory, seen[2:3])
    for number, path in log.commits(directory):
        if number <= seen[2].version:
            path.unlink()

    read = snapshot.read(directory)
    assert read.checkpoint == seen[2].version
    # A checkpoint says of each file that its rows are not new.
    assert {*read.added} == {*seen[-1].added}
    assert (read.version, read.records) == (seen[-1].version, seen[-1].records)
    assert [record.epoch for record in read.records] == [*range(EPOCHS)]


@pytest.mark.parametrize("path_of", [checkpoint.seal_path, log.checkpoint_path])
def test_a_checkpoint_with_a_changed_byte_is_refused(states, path_of):
    """Of the seal or of what is sealed; one without a seal is not read at all."""
    directory, seen = states
    write(directory, seen[-1:])
    path = path_of(directory, seen[-1].version)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StateError, match=path.name):
        snapshot.read(directory)

    checkpoint.seal_path(directory, seen[-1].version).unlink()
    assert content(snapshot.read(directory)) == content(seen[-1])


@pytest.mark.parametrize("old", [False, True])
def test_commits_are_deleted_up_to_the_checkpoint_before_the_last(states, old):
    """Readers of older snapshots have time, unless commits are many or an hour has passed."""
    directory, seen = states
    write(directory, seen[1::2])
    if old:
        for each in seen[1::2]:
            os.utime(log.checkpoint_path(directory, each.version), (0, 0))
    retention.delete_commits(directory, Retention(log_entries=1000 if old else 0))

    assert min(number for number, _ in log.commits(directory)) == seen[3].version
    assert checkpoint.versions(directory) == [seen[3].version, seen[5].version]
    assert {*snapshot.read(directory).added} == {*seen[-1].added}


def test_young_commits_are_kept(states):
    """Nothing is deleted while few and young."""
    directory, seen = states
    write(directory, seen[1::2])
    retention.delete_commits(directory)

    assert min(number for number, _ in log.commits(directory)) == seen[1].version


def test_files_in_use_are_kept(states):
    """However old; of those that were removed or never committed, only young ones stay."""
    directory, seen = states
    table = Table(directory, schemas.CHANGES, Identity(APP, schemas.LEAST_ARGUMENTS))
    used = {*seen[-1].added}
    for name in ("orphan.parquet", "young.parquet"):
        (directory / name).write_bytes(b"")
    for path in directory.glob("*.parquet"):
        if path.name != "young.parquet":
            os.utime(path, (0, 0))
    first = table.files()[:1]
    table.replace(first, [])
    removed = first[0].path

    orphans = {"orphan.parquet", "young.parquet"}
    retention.delete_files(directory, table.snapshot(), retention.DEFAULT, orphans)
    present = {path.name for path in directory.glob("*.parquet")}
    assert present == used | {"young.parquet"}

    retention.delete_files(directory, table.snapshot(), Retention(unused_files=0), orphans)
    present = {path.name for path in directory.glob("*.parquet")}
    assert present == (used | {"young.parquet"}) - {removed}
    assert [*retention.without_deleted(directory, table.snapshot()).removed] == []
