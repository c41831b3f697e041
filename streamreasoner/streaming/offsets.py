"""Ranges of input offsets and Spark's record of them.

Invariant: an epoch's range begins where the range of the epoch before it ended, partition by
partition. Spark writes `offsets/N` before it runs batch N and `commits/N` after it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import pyarrow.compute as pc

from streamreasoner.errors import StateError

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from streamreasoner.streaming.ports import Offsets

    Ends = dict[str, dict[str, int]]

_VERSION = "v1"
_RESTORE = (
    "Restore the state directory and the checkpoint from one backup, or delete both and start from "
    "the beginning."
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What Spark's checkpoint directory says.

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
        """Look at a checkpoint, or at the place where one will be.

        Raises:
            StateError: It holds logs that no run of Spark leaves behind.
        """
        planned, committed = (_last(directory / log) for log in ("offsets", "commits"))
        if planned not in (committed, committed + 1):
            raise StateError(
                f"The checkpoint {directory} has planned batch {planned} and committed batch "
                f"{committed}, which no run leaves behind. {_RESTORE}"
            )
        _check_metadata(directory / "metadata")
        if committed >= 0:
            _entry(directory / "commits" / str(committed))
        return cls(directory, planned, committed)

    @property
    def next(self) -> int:
        """The batch that Spark will run first: the next one, or a replay of the planned one."""
        return self.committed + 1

    @property
    def begun(self) -> bool:
        """Whether Spark has chosen the offsets that the first batch begins at."""
        return _sources(self.directory).exists()

    @property
    def replayed(self) -> int | None:
        """The batch that is planned and not committed, None if there is none."""
        return self.planned if self.planned > self.committed else None

    def range(self, batch: int) -> Offsets:
        """Offsets that a planned batch reads: topic -> partition -> [first, next].

        Raises:
            StateError: The log of that batch cannot be read.
        """
        starts = _initial(self.directory) if batch == 0 else self._ends(batch - 1)
        return range_of(starts, self._ends(batch))

    def _ends(self, batch: int) -> Ends:
        path = self.directory / "offsets" / str(batch)
        _, *sources = _entry(path)
        # There is one source.
        return _ends(path, sources[0] if sources else None)


def range_of(starts: Ends, ends: Ends) -> Offsets:
    """Join first and next offsets; a partition without a first one is new and begins at 0."""
    return {
        topic: {
            partition: [starts.get(topic, {}).get(partition, 0), end]
            for partition, end in sorted(partitions.items())
        }
        for topic, partitions in sorted(ends.items())
    }


def check_follows(epoch: int, previous: Offsets, current: Offsets) -> None:
    """Refuse a range that leaves a gap to, or overlaps, the range of the epoch before.

    Raises:
        StateError: Names topic, partition and offsets, and what to do.
    """
    for topic, partitions in previous.items():
        for partition, (_, end) in partitions.items():
            start = current.get(topic, {}).get(partition, [None])[0]
            if start != end:
                raise StateError(
                    f"Epoch {epoch} begins at offset {start} of partition {partition} of topic "
                    f"{topic}, but epoch {epoch - 1} ended at {end}. The checkpoint does not "
                    "belong to these tables: restore both from one backup, or delete both and "
                    "start from the beginning."
                )


def check_within(epoch: int, batch: pa.Table, current: Offsets) -> None:
    """Refuse rows that lie outside the range of their batch.

    Args:
        epoch: The epoch.
        batch: Columns topic, partition and offset.
        current: The range.

    Raises:
        StateError: Names topic, partition and offsets.
    """
    found = batch.group_by(["topic", "partition"]).aggregate([("offset", "min"), ("offset", "max")])
    for row in found.to_pylist():
        first, after = current.get(row["topic"], {}).get(str(row["partition"]), [0, 0])
        if row["offset_min"] < first or row["offset_max"] >= after:
            raise StateError(
                f"Epoch {epoch} read offsets {row['offset_min']} to {row['offset_max']} of "
                f"partition {row['partition']} of topic {row['topic']}, outside its range {first} "
                f"to {after - 1}. Do not let two pipelines share a checkpoint."
            )


def in_order(batch: pa.Table) -> pa.Table:
    """Rows by topic, partition and offset: the order in which a replay sees them too."""
    keys = [("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
    return batch.take(pc.sort_indices(batch, sort_keys=keys))


def _last(log: Path) -> int:
    names = [path.name for path in log.iterdir()] if log.is_dir() else []
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _sources(directory: Path) -> Path:
    return directory / "sources" / "0" / "0"


def _initial(directory: Path) -> Ends:
    path = _sources(directory)
    return _ends(path, _entry(path)[0])


def _check_metadata(path: Path) -> None:
    """Refuse what Spark cannot read; it makes another file if there is none."""
    if path.exists():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _damage(path, error) from None
        if not isinstance(found, dict) or not isinstance(found.get("id"), str):
            raise _damage(path, "it has no id")


def _entry(path: Path) -> list[object]:
    """What is in a file of a log of Spark: a version, then one JSON text in each line."""
    try:
        lines = path.read_text(encoding="utf-8").lstrip("\0").splitlines()
        found = [json.loads(line) for line in lines[1:]]
    except (OSError, ValueError) as error:
        raise _damage(path, error) from None
    if lines[:1] != [_VERSION] or not found or not all(isinstance(part, dict) for part in found):
        raise _damage(path, f"it is no log entry of version {_VERSION}")
    return found


def _ends(path: Path, source: object) -> Ends:
    try:
        return msgspec.convert(source, dict[str, dict[str, int]])
    except msgspec.ValidationError as error:
        raise _damage(path, error) from None


def _damage(path: Path, what: object) -> StateError:
    return StateError(f"The checkpoint file {path} is damaged ({what}). {_RESTORE}")
