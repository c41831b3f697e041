"""Where a start continues, for every state that a crash leaves, and refusals for the others."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from streamreasoner.errors import StateError
from streamreasoner.streaming.offsets import Checkpoint
from streamreasoner.streaming.recovery import Resume, resume
from streamreasoner.streaming.sink import Marker

HASH = "h" * 64


@dataclass
class StoredTables:
    """Tables that hold all epochs up to a version; epoch n reads offsets [10n, 10n+10)."""

    last: int
    shift: int = 0

    def version(self):
        """The last epoch."""
        return None if self.last < 0 else self.last

    def offsets(self, epoch):
        """Its range."""
        return span(epoch, self.shift) if epoch <= self.last else None


def span(epoch, shift=0):
    """The input range of an epoch."""
    return {"in": {"0": [10 * epoch + shift, 10 * epoch + 10 + shift]}}


def checkpoint(directory, planned, committed):
    """A checkpoint directory as Spark leaves it."""
    for log, last in (("offsets", planned), ("commits", committed), ("sources/0", 0)):
        (directory / log).mkdir(parents=True)
        for batch in range(last + 1):
            (directory / log / f".{batch}.crc").write_text("")
    for batch in range(planned + 1):
        ends = json.dumps({"in": {"0": 10 * batch + 10}})
        (directory / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{ends}")
    for batch in range(committed + 1):
        (directory / "commits" / str(batch)).write_text("v1\n{}")
    (directory / "sources/0/0").write_text('\0v1\n{"in":{"0":0}}')
    return Checkpoint.read(directory)


def marker(batch, program=HASH, shift=0):
    """The marker of a batch, None before the first."""
    return None if batch < 0 else Marker(batch, span(batch, shift), program)


@pytest.mark.parametrize("batch", [0, 3])
@pytest.mark.parametrize(
    ("planned", "stored", "published", "committed"),
    [
        (-1, -1, -1, -1),  # between batches
        (0, -1, -1, -1),  # planned
        (0, 0, -1, -1),  # step 1 done
        (0, 0, 0, -1),  # step 2 done
        (0, 0, 0, 0),  # committed
    ],
)
def test_every_state_of_a_crash_is_resumed(  # noqa: PLR0917 - pytest names them
    tmp_path, batch, planned, stored, published, committed
):
    """The batch after the committed one runs next, whichever steps it had passed."""
    spark = checkpoint(tmp_path, batch + planned, batch + committed)
    point = resume(marker(batch + published), StoredTables(batch + stored), spark, HASH)
    before = batch + committed + 1
    previous = span(before - 1) if before > 0 else None
    assert point == Resume(before, batch + published, previous)


@pytest.mark.parametrize(
    ("planned", "stored", "published", "committed"),
    [
        (-1, 0, 0, -1),  # the checkpoint was deleted
        (-1, 7, 7, -1),
        (5, -1, -1, 5),  # the tables were deleted
        (5, 5, -1, 5),  # the progress topic was deleted, or the app id changed
        (5, 4, 5, 4),  # tables of an older backup
        (5, 6, 6, 5),  # a checkpoint of an older backup
        (5, 5, 3, 4),
    ],
)
def test_what_no_crash_leaves_is_refused(tmp_path, planned, stored, published, committed):
    """The message names all four positions and what to do."""
    spark = checkpoint(tmp_path, planned, committed)
    with pytest.raises(StateError, match=r"do not belong together.*app_id"):
        resume(marker(published), StoredTables(stored), spark, HASH)


def test_another_program_is_refused(tmp_path):
    """State of one program is not continued by another."""
    with pytest.raises(StateError, match="another rule program"):
        resume(marker(2, "x" * 64), StoredTables(2), checkpoint(tmp_path, 2, 2), HASH)


@pytest.mark.parametrize(("table_shift", "marker_shift"), [(1, 0), (0, 1)])
def test_equal_batch_ids_over_other_data_are_refused(tmp_path, table_shift, marker_shift):
    """A new checkpoint counts from 0 again; only the ranges tell that its data is other data."""
    with pytest.raises(StateError, match="covers the offsets"):
        resume(
            marker(2, shift=marker_shift),
            StoredTables(2, table_shift),
            checkpoint(tmp_path, 2, 2),
            HASH,
        )


def test_logs_that_are_torn_are_refused(tmp_path):
    """An empty offset file, or a plan two batches ahead, ends the start."""
    spark = checkpoint(tmp_path, 2, 1)
    (tmp_path / "offsets" / "2").write_text("")
    with pytest.raises(StateError, match="cannot be read"):
        resume(marker(1), StoredTables(1), spark, HASH)
    (tmp_path / "commits" / "1").unlink()
    with pytest.raises(StateError, match="no run leaves behind"):
        Checkpoint.read(tmp_path)
