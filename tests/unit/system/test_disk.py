"""Durable file writes: a reader has one content or the other, never a part."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streamreasoner.system import disk

OLD, NEW = b"old " * 1000, b"new"
WRITES = (disk.write, disk.replace)


@pytest.mark.parametrize("write", WRITES)
def test_readers_see_the_old_file_or_the_new_one(tmp_path, write):
    """One who has opened the file reads it to its end as it was; the next reads the new one."""
    path = tmp_path / "state.json"
    write(path, OLD)
    with path.open("rb") as reader:
        start = reader.read(5)
        write(path, NEW)

        assert start + reader.read() == OLD
    assert path.read_bytes() == NEW
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_fails_leaves_the_file(tmp_path, write):
    """What cannot be written replaces nothing, and the next write is not hindered."""
    path = tmp_path / "state.json"
    write(path, OLD)
    with pytest.raises(TypeError):
        write(path, "text")

    assert path.read_bytes() == OLD
    write(path, NEW)
    assert [*tmp_path.iterdir()] == [path]


def test_files_and_folders_are_flushed(tmp_path):
    """Neither stays open, whether it can be flushed or not."""
    disk.write(tmp_path / "file", memoryview(NEW))
    before = [*Path("/proc/self/fd").iterdir()]
    disk.sync(tmp_path / "file")
    disk.sync(tmp_path)
    with pytest.raises(OSError, match="Invalid argument"):
        disk.sync(Path(os.devnull))
    with pytest.raises(FileNotFoundError):
        disk.sync(tmp_path / "none")

    assert [*Path("/proc/self/fd").iterdir()] == before
