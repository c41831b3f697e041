"""Data files of a table. Invariant: a file is on the disk before any log entry names it.

Files lie flat in the table's directory: the partition of a file is what the log says, so a
predicate may hold any character.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from streamreasoner.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from deltalake import DeltaTable

ROW_GROUP_ROWS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class DataFile:
    """One data file of a table.

    Attributes:
        path: Relative to the table, as on the disk.
        size: Bytes.
        rows: Number of rows.
        partition: Value of each partition column.
        statistics: Bounds of its integer columns, in Delta's JSON; empty when read from a log.
    """

    path: str
    size: int
    rows: int
    partition: Mapping[str, str]
    statistics: str = ""

    @property
    def predicate(self) -> str:
        """The partition of a file of `trace`, empty in the other tables."""
        return self.partition.get("predicate", "")


def sync_file(path: Path) -> None:
    """Flush one file, or the entries of one directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write(directory: Path, rows: pa.Table, partition: Mapping[str, str]) -> DataFile:
    """Write `rows` as one new file, durably.

    Args:
        directory: The table.
        rows: Columns without the partition columns.
        partition: Value of each partition column.
    """
    path = directory / f"part-{uuid.uuid4()}.parquet"
    written: list[pq.FileMetaData] = []
    with pq.ParquetWriter(
        path,
        rows.schema,
        compression="zstd",
        compression_level=1,
        metadata_collector=written,
        store_schema=False,
    ) as writer:
        writer.write_table(rows, row_group_size=ROW_GROUP_ROWS)
    sync_file(path)
    sync_file(directory)
    statistics = _statistics(written[0], rows)
    return DataFile(path.name, path.stat().st_size, len(rows), partition, statistics)


def read(directory: Path, file: DataFile, columns: Sequence[str]) -> pa.Table:
    """Columns of one data file.

    Raises:
        StateError: The file is damaged.
    """
    path = directory / file.path
    try:
        found = pq.ParquetFile(path).read(columns=list(columns))
    except (OSError, pa.ArrowException) as error:
        raise StateError(
            f"The data file {path} cannot be read: {error}. Restore it from a backup, or delete "
            "the state and start from the beginning."
        ) from error
    # Writers differ in what they call nullable; here it does not matter.
    return pa.table({name: found.column(name) for name in columns})


def of_snapshot(snapshot: DeltaTable) -> list[DataFile]:
    """The data files of one snapshot, in no particular order."""
    actions = pa.table(snapshot.get_add_actions(flatten=True))
    prefix = "partition."
    return [
        DataFile(
            unquote(action["path"]),
            action["size_bytes"],
            action["num_records"],
            {
                key.removeprefix(prefix): value
                for key, value in action.items()
                if key.startswith(prefix)
            },
        )
        for action in actions.to_pylist()
    ]


def add_action(file: DataFile, *, data_change: bool) -> dict[str, Any]:
    """The log entry that adds a file; `data_change` is false for rows that were there before."""
    return {
        "add": {
            "path": file.path,
            "partitionValues": dict(file.partition),
            "size": file.size,
            "modificationTime": int(time.time() * 1000),
            "dataChange": data_change,
            "stats": file.statistics,
        }
    }


def remove_action(file: DataFile) -> dict[str, Any]:
    """The log entry that drops a file whose rows are in the table still."""
    return {
        "remove": {
            "path": file.path,
            "deletionTimestamp": int(time.time() * 1000),
            "dataChange": False,
            "extendedFileMetadata": True,
            "partitionValues": dict(file.partition),
            "size": file.size,
        }
    }


def _statistics(metadata: pq.FileMetaData, rows: pa.Table) -> str:
    # The bounds were computed while the file was written; integers only, they prune best.
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    for index, field in enumerate(rows.schema):
        if not pa.types.is_integer(field.type):
            continue
        groups = [
            metadata.row_group(group).column(index).statistics
            for group in range(metadata.num_row_groups)
        ]
        bounds = [group for group in groups if group is not None and group.has_min_max]
        if bounds:
            low[field.name] = min(bound.min for bound in bounds)
            high[field.name] = max(bound.max for bound in bounds)
    nulls = {
        field.name: rows.column(field.name).null_count
        for field in rows.schema
        if not pa.types.is_nested(field.type)
    }
    return json.dumps(
        {"numRecords": len(rows), "minValues": low, "maxValues": high, "nullCount": nulls}
    )
