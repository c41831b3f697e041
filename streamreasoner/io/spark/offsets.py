"""Ranges of input offsets, and Spark's log of them.

Invariant: in each partition, an epoch's range begins where that of the epoch before ended.

Spark writes `offsets/N` before it runs batch N and `commits/N` after it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow.compute as pc

from streamreasoner.errors import StateError
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from streamreasoner.state.record import Offsets

    Ends = dict[str, dict[str, int]]

_VERSION = "v1"
_RESTORE = (
    "Restore the state directory and the checkpoint from one backup, or delete both and start from "
    "scratch."
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of Spark's checkpoint directory.

    Attributes:
        directory: The checkpoint.
        planned: The last batch whose range is fixed, -1 before the first.
        committed: The last batch that is finished, -1 before the first.
    """

    directory: Path
    planned: int
    committed: int

    @classmethod
    def read(cls, directory: Path) -> Checkpoint:
        """Read a checkpoint, or the directory that will become one.

        Raises:
            StateError: Its logs are inconsistent.
        """
        planned, committed = (_last(directory / log) for log in ("offsets", "commits"))
        if planned not in (committed, committed + 1):
            raise StateError(
                f"The checkpoint {directory} has planned batch {planned} and committed batch "
                f"{committed}, which are inconsistent. {_RESTORE}"
            )
        _check_metadata(directory / "metadata")
        if committed >= 0:
            _entry(directory / "commits" / str(committed))
        return cls(directory, planned, committed)

    @staticmethod
    def last_committed(directory: Path) -> int:
        """The last batch that is finished, -1 before the first; Spark may be running."""
        return _last(directory / "commits")

    @property
    def next(self) -> int:
        """The batch that Spark runs first: a new one, or a replay of the planned one."""
        return self.committed + 1

    @property
    def begun(self) -> bool:
        """Whether Spark has chosen the starting offsets of the first batch."""
        return _sources(self.directory).exists()

    @property
    def replayed(self) -> int | None:
        """The batch that is planned and not committed, None if there is none."""
        return self.planned if self.planned > self.committed else None

    def range(self, batch: int) -> Offsets:
        """Offset ranges of a planned batch: topic -> partition -> [first, next].

        Raises:
            StateError: The log entry of the batch cannot be read.
        """
        starts = _initial(self.directory) if batch == 0 else self._ends(batch - 1)
        return range_of(starts, self._ends(batch))

    def withdraw(self) -> Checkpoint:
        """Forget the planned batch, of which nothing is durable, so that Spark plans it anew."""
        log = self.directory / "offsets"
        (log / str(self.planned)).unlink()
        # The checksum that some of Hadoop's file systems write.
        (log / f".{self.planned}.crc").unlink(missing_ok=True)
        disk.sync(log)
        return Checkpoint(self.directory, self.committed, self.committed)

    def _ends(self, batch: int) -> Ends:
        path = self.directory / "offsets" / str(batch)
        _, *sources = _entry(path)
        # The query has one source.
        return _ends(path, sources[0] if sources else None)


def range_of(starts: Ends, ends: Ends) -> Offsets:
    """Join start and end offsets; a partition without a start is new and begins at 0."""
    return {
        topic: {
            partition: [starts.get(topic, {}).get(partition, 0), end]
            for partition, end in sorted(partitions.items())
        }
        for topic, partitions in sorted(ends.items())
    }


def parts(offsets: Offsets) -> Iterator[tuple[str, str, int, int]]:
    """Topic, partition, first offset and the one after the last, of each partition."""
    for topic, partitions in offsets.items():
        for partition, (first, after) in partitions.items():
            yield topic, partition, first, after


def size(offsets: Offsets) -> int:
    """How many offsets a range has, at least as many as messages."""
    return sum(after - first for _, _, first, after in parts(offsets))


def following(current: Offsets, latest: Ends, messages: int) -> Offsets:
    """A range that has the next batch: as Spark does, it divides a limit in proportion to backlogs.

    Args:
        current: The range of the current batch.
        latest: Where the partitions end.
        messages: Most messages in the next batch, but for one in each partition.
    """
    backlogs = [
        (topic, partition, after, max(0, latest.get(topic, {}).get(partition, after) - after))
        for topic, partition, _, after in parts(current)
    ]
    share = min(1.0, messages / max(1, sum(backlog for *_, backlog in backlogs)))
    found: Offsets = {}
    for topic, partition, after, backlog in backlogs:
        found.setdefault(topic, {})[partition] = [after, after + math.ceil(backlog * share)]
    return found


def check_follows(epoch: int, previous: Offsets, current: Offsets) -> None:
    """Refuse a range that leaves a gap after, or overlaps, that of the epoch before.

    Raises:
        StateError: Names topic, partition, offsets and the remedy.
    """
    for topic, partition, _, end in parts(previous):
        start = current.get(topic, {}).get(partition, [None])[0]
        if start != end:
            raise StateError(
                f"Epoch {epoch} begins at offset {start} of partition {partition} of topic "
                f"{topic}, but epoch {epoch - 1} ended at {end}. The checkpoint does not "
                "belong to these tables. Restore both from one backup, or delete both and "
                "start from scratch."
            )


def check_within(epoch: int, batch: pa.Table, current: Offsets) -> None:
    """Refuse rows outside the range of their batch.

    Args:
        epoch: The epoch.
        batch: Columns topic, partition and offset.
        current: The range.

    Raises:
        StateError: Names topic, partition and offsets.
    """
    read = batch.group_by(["topic", "partition"]).aggregate([("offset", "min"), ("offset", "max")])
    for row in read.to_pylist():
        first, after = current.get(row["topic"], {}).get(str(row["partition"]), [0, 0])
        if row["offset_min"] < first or row["offset_max"] >= after:
            raise StateError(
                f"Epoch {epoch} read offsets {row['offset_min']} to {row['offset_max']} of "
                f"partition {row['partition']} of topic {row['topic']}, outside its range {first} "
                f"to {after - 1}. Two pipelines must not share a checkpoint."
            )


def in_order(batch: pa.Table) -> pa.Table:
    """Rows by topic, partition and offset, the same order in every replay."""
    keys = [("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
    order = pc.sort_indices(batch, sort_keys=keys)
    if np.array_equal(order, np.arange(len(batch))):
        return batch
    return batch.take(order)


def _last(log: Path) -> int:
    names = [path.name for path in log.iterdir()] if log.is_dir() else []
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _sources(directory: Path) -> Path:
    return directory / "sources" / "0" / "0"


def _initial(directory: Path) -> Ends:
    path = _sources(directory)
    return _ends(path, _entry(path)[0])


def _check_metadata(path: Path) -> None:
    """Refuse a file that Spark cannot read; Spark creates a missing one."""
    if path.exists():
        try:
            metadata = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _damage(path, error) from None
        if not isinstance(metadata, dict) or not isinstance(metadata.get("id"), str):
            raise _damage(path, "no id")


def _entry(path: Path) -> list[object]:
    """The entries of a Spark log file: JSON lines after a line with the version."""
    try:
        lines = path.read_text(encoding="utf-8").lstrip("\0").splitlines()
        entries = [json.loads(line) for line in lines[1:]]
    except (OSError, ValueError) as error:
        raise _damage(path, error) from None
    if (
        lines[:1] != [_VERSION]
        or not entries
        or not all(isinstance(entry, dict) for entry in entries)
    ):
        raise _damage(path, f"not a log entry of version {_VERSION}")
    return entries


def _ends(path: Path, source: object) -> Ends:
    try:
        return msgspec.convert(source, dict[str, dict[str, int]])  # noqa: TID251 - no struct
    except msgspec.ValidationError as error:
        raise _damage(path, error) from None


def _damage(path: Path, what: object) -> StateError:
    return StateError(f"The checkpoint file {path} is damaged ({what}). {_RESTORE}")
