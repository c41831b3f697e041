"""The data files of the state's table, by arrangement and bucket. Invariant: as in Delta's log.

The driver knows them, so a probe with few keys names its files and needs no job to find them. Spark
lists them once; after that, each commit is read from its entry in the log.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.queries.columns import ARRANGEMENT, BUCKET, EPOCH
from streamreasoner.state.delta.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

    from streamreasoner.backends.spark.tables.delta_table import DeltaTable

Place = tuple[str, int]
"""An arrangement and a bucket."""
UNSPLIT = -1
"""The bucket of files whose rows are of all buckets."""
_RATIO = 4  # an epoch is merged with later ones unless it is more times as large as they are


@dataclass(frozen=True, slots=True)
class File:
    """A data file.

    Attributes:
        path: Where it is.
        size: In bytes.
        rows: How many.
        epoch: The last epoch with rows in the file.
    """

    path: str
    size: int
    rows: int
    epoch: int


class DataFiles:
    """Follows the log of a table.

    Args:
        table: The table.
    """

    def __init__(self, table: DeltaTable) -> None:
        self._table = table
        self._version = -1
        self._files: dict[Place, list[File]] = {}
        self._rows: Counter[str] = Counter()

    def __len__(self) -> int:
        """The number of files."""
        return sum(map(len, self._files.values()))

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.size for held in self._files.values() for file in held)

    def count(self, arrangement: str) -> int:
        """The number of rows of an arrangement."""
        if not self._rows:
            for (name, _), held in self._files.items():
                self._rows[name] += sum(file.rows for file in held)
        return self._rows[arrangement]

    def of(self, arrangement: str, buckets: Iterable[int]) -> list[File]:
        """The files that have rows of some buckets."""
        return [
            file
            for bucket in (UNSPLIT, *buckets)
            for file in self._files.get((arrangement, bucket), ())
        ]

    def since(self, arrangement: str, epoch: int) -> int:
        """The number of rows of all buckets together in files of epochs after *epoch*."""
        held = self._files.get((arrangement, UNSPLIT), ())
        return sum(file.rows for file in held if file.epoch > epoch)

    def fragmented(self, many: int) -> list[tuple[Place, int]]:
        """Places with files of at least *many* epochs to merge, the most fragmented first.

        Each comes with an epoch: merge the files of all later epochs. Older files stay while they
        are much larger, so a row is rewritten only a few times, however large its bucket is.
        Several files of one large epoch in a bucket are no reason to merge.
        """
        fragmented = []
        for place, held in self._files.items():
            if len(held) >= many:
                count, epoch = tail(held)
                if count >= many:
                    fragmented.append((count, place, epoch))
        return [(place, epoch) for _, place, epoch in sorted(fragmented, reverse=True)]

    def open(self, version: int, rows: DataFrame) -> None:
        """List the files of the last version.

        Args:
            version: The last version of the table.
            rows: All rows of the table.
        """
        listing = (
            rows.groupBy(ARRANGEMENT, BUCKET, "_metadata.file_path", "_metadata.file_size")
            .agg(F.count("*"), F.max(EPOCH))
            .toArrow()
        )
        self._files = {}
        self._rows.clear()
        for arrangement, bucket, path, *file in zip(
            *(column.to_pylist() for column in listing.columns), strict=True
        ):
            self._add((arrangement, bucket), File(unquote(path), *file))
        self._version = version

    def follow(self) -> list[str]:
        """Read new commits; returns the files that they removed.

        Raises:
            StateError: They need Delta features that this version does not read.
        """
        commits = Replay(self._table.log)
        self._version = commits.follow(self._version)
        self._rows.clear()
        for path, file in commits.added.items():
            values, stats = file["partitionValues"], json.loads(file["stats"])
            rows, epoch = stats["numRecords"], stats["maxValues"][EPOCH]
            place = values[ARRANGEMENT], int(values[BUCKET])
            self._add(place, File(self._absolute(path), file["size"], rows, epoch))
        removed = list(map(self._absolute, commits.removed))
        names = {path.rsplit("/", 1)[1] for path in removed}
        if names:
            self._files = {
                place: [file for file in held if file.path.rsplit("/", 1)[1] not in names]
                for place, held in self._files.items()
            }
        return removed

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files that the table no longer has; its earlier versions are not read."""
        for path in paths:
            files.delete(self._table.spark, path)

    def _add(self, place: Place, file: File) -> None:
        self._files.setdefault(place, []).append(file)

    def _absolute(self, path: str) -> str:
        """The path of a file that the log names."""
        return f"{self._table.path}/{unquote(path)}"


def tail(files: Iterable[File]) -> tuple[int, int]:
    """How many of a bucket's latest epochs to merge, and the last epoch before them, or -1."""
    sizes: Counter[int] = Counter()
    for file in files:
        sizes[file.epoch] += file.size
    count = total = 0
    for epoch, size in sorted(sizes.items(), reverse=True):
        if count and size > _RATIO * total:
            return count, epoch
        count += 1
        total += size
    return count, -1
