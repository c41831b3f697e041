"""Data files of a table. Invariant: a file is durable before any log entry names it.

Files lie flat in the table's directory; their partition is in the log only, so a predicate may
contain any character. The `add` action of a file holds the SHA-256 digest of its bytes, which is
verified on every read. Files written by another program have no digest until the next start adds
one.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from streamreasoner.counts import counted
from streamreasoner.errors import StateError
from streamreasoner.state.delta import log, seal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from _typeshed import ReadableBuffer

    from streamreasoner.state.delta.log import Action
    from streamreasoner.state.delta.snapshot import Snapshot

ROW_GROUP_ROWS: Final = 1 << 20
_SMALL: Final = 1 << 20
# Terms and ids have too many values for a dictionary: without one, files are smaller and cheaper.
_FEW_VALUES: Final = ["predicate", "iteration", "epoch", "ts", "multiplicity"]


@dataclass(frozen=True, slots=True)
class DataFile:
    """One data file of a table.

    Attributes:
        path: Relative to the table, URL-encoded as in the log.
        size: Bytes.
        rows: Number of rows.
        partition: Value of each partition column.
        statistics: Statistics of its rows, as Delta's JSON.
        digest: SHA-256 of its bytes, empty if another program wrote it.
    """

    path: str
    size: int
    rows: int
    partition: Mapping[str, str]
    statistics: str = ""
    digest: str = ""

    def may_have(self, column: str, first: int, last: int) -> bool:
        """Whether a whole number between two is in a column: known from its bounds in the log."""
        low, high = _bounds(self.statistics)
        return bool(low.get(column, first) <= last and high.get(column, last) >= first)

    @property
    def predicate(self) -> str:
        """The partition of a file of `trace`, empty in the other tables."""
        return self.partition.get("predicate", "")

    def path_in(self, directory: Path) -> Path:
        """Its path on disk."""
        return directory / unquote(self.path)


def write(directory: Path, rows: pa.Table, partition: Mapping[str, str]) -> DataFile:
    """Write `rows` as one new file; its bytes are flushed, its directory entry is not.

    Args:
        directory: The table.
        rows: Columns without the partition columns.
        partition: Value of each partition column.
    """
    path = directory / f"part-{uuid.uuid4()}.parquet"
    metadata: list[pq.FileMetaData] = []
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        rows.schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=_FEW_VALUES,
        # Bounds of texts prune nothing: they are in order of ids.
        write_statistics=[each.name for each in rows.schema if pa.types.is_primitive(each.type)],
        metadata_collector=metadata,
        store_schema=False,
        write_page_checksum=True,
    ) as writer:
        writer.write_table(rows, row_group_size=ROW_GROUP_ROWS)
    data = sink.getvalue()
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    digest = seal.digest(data)
    return DataFile(
        path.name, data.size, len(rows), partition, _statistics(metadata[0], rows), digest
    )


def read(
    directory: Path, file: DataFile, columns: Sequence[str], held: ReadableBuffer | None = None
) -> pa.Table:
    """Read columns of one data file after verifying its bytes.

    Args:
        directory: The table.
        file: One of its files.
        columns: Names of columns.
        held: The bytes of the file, if it may be deleted.

    Raises:
        StateError: The file is damaged.
    """
    data = _verified(directory, file, held)
    try:
        parquet = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        # Threads cost more than they save in a small file.
        rows = parquet.read(columns=list(columns), use_threads=file.size > _SMALL)
    except (OSError, pa.ArrowException, ValueError, KeyError, IndexError) as error:
        raise _damage(file.path_in(directory), f"cannot be read: {error}") from error
    if rows.num_rows != file.rows or not set(columns) <= set(rows.column_names):
        raise _damage(
            file.path_in(directory), "does not have the rows or columns that the log says"
        )
    # Rebuilt to drop nullability, in which writers differ.
    return pa.table({name: rows.column(name) for name in columns})


def verify(directory: Path, file: DataFile) -> DataFile:
    """Read the whole file, and return it with its digest.

    Raises:
        StateError: The file is damaged.
    """
    return replace(file, digest=seal.digest(_verified(directory, file)))


def of_snapshot(
    directory: Path, snapshot: Snapshot, known: Mapping[str, DataFile] | None = None
) -> list[DataFile]:
    """The data files of one snapshot, in no particular order.

    Args:
        directory: The table.
        snapshot: The snapshot.
        known: Files of an earlier one by path, which never change.

    Raises:
        StateError: Neither the log nor the file itself says how many rows the file has.
    """
    known = known or {}
    return [
        known.get(path) or _of_action(directory, action) for path, action in snapshot.added.items()
    ]


def add_action(file: DataFile, *, data_change: bool) -> Action:
    """The log entry that adds a file; `data_change` is false if the table already had its rows."""
    return {
        "add": {
            "path": file.path,
            "partitionValues": dict(file.partition),
            "size": file.size,
            "modificationTime": int(time.time() * 1000),
            "dataChange": data_change,
            "stats": file.statistics,
            "tags": {seal.KEY: file.digest},
        }
    }


def remove_action(file: DataFile, *, data_change: bool) -> Action:
    """The log entry that removes a file; `data_change` is false if the table still has its rows."""
    return {
        "remove": {
            "path": file.path,
            "deletionTimestamp": int(time.time() * 1000),
            "dataChange": data_change,
            "extendedFileMetadata": True,
            "partitionValues": dict(file.partition),
            "size": file.size,
        }
    }


def _verified(
    directory: Path, file: DataFile, held: ReadableBuffer | None = None
) -> ReadableBuffer:
    path = file.path_in(directory)
    try:
        data = path.read_bytes() if held is None else held
    except OSError as error:
        raise _damage(path, f"cannot be read: {error}") from error
    size = memoryview(data).nbytes
    if size != file.size:
        raise _damage(path, f"has {counted(size, 'byte')}, but the log says {file.size}")
    if file.digest and seal.digest(data) != file.digest:
        raise _damage(path, "is damaged: its digest differs from the one in the log")
    return data


def _of_action(directory: Path, action: Action) -> DataFile:
    statistics = action.get("stats") or ""
    rows = json.loads(statistics).get("numRecords") if statistics else None
    if rows is None:
        path = directory / unquote(action["path"])
        try:
            rows = pq.read_metadata(path).num_rows
        except (OSError, pa.ArrowException) as error:
            raise _damage(path, f"cannot be read: {error}") from error
    digest = (action.get("tags") or {}).get(seal.KEY, "")
    partition = action.get("partitionValues", {})
    return DataFile(action["path"], action["size"], rows, partition, statistics, digest)


def _damage(path: Path, what: str) -> StateError:
    return StateError(f"The data file {path} {what}. {log.RESTORE}")


@lru_cache(maxsize=1 << 12)
def _bounds(statistics: str) -> tuple[dict[str, int], dict[str, int]]:
    """The least and the greatest values of columns."""
    bounds = json.loads(statistics or "{}")
    return bounds.get("minValues", {}), bounds.get("maxValues", {})


def _statistics(metadata: pq.FileMetaData, rows: pa.Table) -> str:
    # Bounds come from the writer's metadata, for integer columns only: they prune best.
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
