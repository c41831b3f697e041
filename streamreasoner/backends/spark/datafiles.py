"""The data files of the state's table, by arrangement and bucket. Invariant: what Delta's log says.

The driver knows them, so a probe of few keys names its files and starts no job to find them. They
are listed once, by Spark; then each commit is read from its own entry of the log.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.columns import ARRANGEMENT, BUCKET, EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

Place = tuple[str, int]
"""An arrangement and a bucket."""
_RATIO = 4  # an epoch is merged with later ones unless it is so many times as large as they are


@dataclass(frozen=True, slots=True)
class File:
    """A data file.

    Attributes:
        path: Where it is.
        size: In bytes.
        rows: How many.
        epoch: The last one that it has rows of.
    """

    path: str
    size: int
    rows: int
    epoch: int


class DataFiles:
    """Follows the log of a table that only this process writes.

    Args:
        spark: The session, with Delta Lake.
        path: The table's folder.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path
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

    def of(self, arrangement: str, buckets: Iterable[int]) -> list[str]:
        """The files of some buckets."""
        return [
            file.path for bucket in buckets for file in self._files.get((arrangement, bucket), ())
        ]

    def fragmented(self, many: int) -> list[tuple[Place, int]]:
        """Places that have files of so many epochs that should be one, those with most first.

        They are the files of all epochs after the one that is given with each place. Older files
        are left alone while they are much larger, so a row is written again a few times only,
        however large its bucket is. The rows of a large epoch may be in several files of a bucket,
        which is no reason to merge them.
        """
        found = []
        for place, held in self._files.items():
            if len(held) >= many:
                count, epoch = tail(held)
                if count >= many:
                    found.append((count, place, epoch))
        return [(place, epoch) for _, place, epoch in sorted(found, reverse=True)]

    def open(self, version: int, rows: DataFrame) -> None:
        """List the files of a version, which is the last.

        Args:
            version: Of the table.
            rows: All rows of the table.
        """
        found = (
            rows.groupBy(ARRANGEMENT, BUCKET, "_metadata.file_path", "_metadata.file_size")
            .agg(F.count("*"), F.max(EPOCH))
            .toArrow()
        )
        self._files = {}
        self._rows.clear()
        for arrangement, bucket, path, *file in zip(
            *(column.to_pylist() for column in found.columns), strict=True
        ):
            self._add((arrangement, bucket), File(unquote(path), *file))
        self._version = version

    def follow(self) -> list[str]:
        """Read the commits since; returns the files that they took away."""
        gone = []
        self._rows.clear()
        while (entry := self._read(self._version + 1)) is not None:
            self._version += 1
            for action in map(json.loads, entry.splitlines()):
                if one := action.get("remove"):
                    gone.append(self._absolute(one["path"]))
                if one := action.get("add"):
                    values = one["partitionValues"]
                    stats = json.loads(one["stats"])
                    rows, epoch = stats["numRecords"], stats["maxValues"][EPOCH]
                    place = values[ARRANGEMENT], int(values[BUCKET])
                    self._add(place, File(self._absolute(one["path"]), one["size"], rows, epoch))
        names = {path.rsplit("/", 1)[1] for path in gone}
        if names:
            self._files = {
                place: [file for file in files if file.path.rsplit("/", 1)[1] not in names]
                for place, files in self._files.items()
            }
        return gone

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files that the table does not have any more; nobody reads its past."""
        for path in paths:
            files.delete(self._spark, path)

    def _add(self, place: Place, file: File) -> None:
        self._files.setdefault(place, []).append(file)

    def _absolute(self, path: str) -> str:
        """A file of the table, as the log names it."""
        return f"{self._path}/{unquote(path)}"

    def _read(self, version: int) -> str | None:
        """The log's entry for a version, None if there is none."""
        return files.text(self._spark, f"{self._path}/_delta_log/{version:020}.json")


def tail(files: Iterable[File]) -> tuple[int, int]:
    """How many of a bucket's latest epochs should be in one file, and the last one before them."""
    sizes: Counter[int] = Counter()
    for file in files:
        sizes[file.epoch] += file.size
    count = together = 0
    for epoch, size in sorted(sizes.items(), reverse=True):
        if count and size > _RATIO * together:
            return count, epoch
        count += 1
        together += size
    return count, -1
