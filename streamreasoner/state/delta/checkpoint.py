"""Checkpoints of a log in Delta's format. Invariant: only sealed ones are read.

A checkpoint is one Parquet file with the actions in effect at its version; readers need no commit
up to it. Its seal is a JSON file next to it, with the digest of the Parquet file and what Delta's
checkpoints do not store: the records of the last epochs. Checkpoints written by other programs have
no seal; the commits that they cover are read instead.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from streamreasoner.errors import StateError
from streamreasoner.state.delta import log, seal
from streamreasoner.state.record import TableRecord
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from streamreasoner.state.delta.log import Action

_SUFFIX: Final = ".checkpoint.parquet"
_SEAL: Final = ".checkpoint.seal"
_STRING, _LONG, _INT, _FLAG = pa.string(), pa.int64(), pa.int32(), pa.bool_()
_MAP: Final = pa.map_(_STRING, _STRING)
_SCHEMA: Final = pa.schema(
    {
        "protocol": pa.struct({"minReaderVersion": _INT, "minWriterVersion": _INT}),
        "metaData": pa.struct(
            {
                "id": _STRING,
                "name": _STRING,
                "description": _STRING,
                "format": pa.struct({"provider": _STRING, "options": _MAP}),
                "schemaString": _STRING,
                "partitionColumns": pa.list_(_STRING),
                "configuration": _MAP,
                "createdTime": _LONG,
            }
        ),
        "txn": pa.struct({"appId": _STRING, "version": _LONG, "lastUpdated": _LONG}),
        "add": pa.struct(
            {
                "path": _STRING,
                "partitionValues": _MAP,
                "size": _LONG,
                "modificationTime": _LONG,
                "dataChange": _FLAG,
                "stats": _STRING,
                "tags": _MAP,
            }
        ),
        "remove": pa.struct(
            {
                "path": _STRING,
                "deletionTimestamp": _LONG,
                "dataChange": _FLAG,
                "extendedFileMetadata": _FLAG,
                "partitionValues": _MAP,
                "size": _LONG,
            }
        ),
    }
)


@dataclass(frozen=True, slots=True)
class LogCheckpoint:
    """The content of a checkpoint.

    Attributes:
        version: Its table version; -1 for the beginning of the log.
        actions: Its actions.
        records: Records of the last epochs up to it, oldest first.
    """

    version: int
    actions: tuple[Action, ...]
    records: tuple[TableRecord, ...]


BEGINNING: Final = LogCheckpoint(-1, (), ())


def seal_path(table: Path, version: int) -> Path:
    """Path of the seal of the checkpoint at one version."""
    return log.directory_of(table) / f"{version:020}{_SEAL}"


def versions(table: Path, *, sealed: bool = True) -> list[int]:
    """Versions that have a checkpoint, oldest first.

    Args:
        table: The table.
        sealed: Return only checkpoints with a seal.
    """
    names = {file.name for file in log.directory_of(table).glob("*.checkpoint.*")}
    return sorted(
        int(stem)
        for name in names
        if name.endswith(_SUFFIX)
        and (stem := name.removesuffix(_SUFFIX)).isdigit()
        and (not sealed or f"{stem}{_SEAL}" in names)
    )


def write(
    table: Path, version: int, actions: Iterable[Action], records: Sequence[TableRecord]
) -> None:
    """Write a checkpoint durably, so that the commits up to it may be deleted.

    Args:
        table: The table.
        version: Its version.
        actions: The actions in effect at that version.
        records: Records of the last epochs, oldest first.
    """
    rows = [{name: _to_row(value, name) for name, value in action.items()} for action in actions]
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.Table.from_pylist(rows, schema=_SCHEMA),
        sink,
        store_schema=False,
        write_page_checksum=True,
    )
    data = sink.getvalue()
    disk.write(log.checkpoint_path(table, version), data)
    note = {
        seal.KEY: seal.BLANK,
        "checkpoint": seal.digest(data),
        "records": [record.to_json() for record in records],
    }
    disk.write(seal_path(table, version), seal.sealed(json.dumps(note)))
    disk.sync(log.directory_of(table))
    # Readers find the checkpoint without this pointer, so it is not flushed.
    pointer = {"version": version, "size": len(rows), "sizeInBytes": data.size}
    disk.replace(log.directory_of(table) / "_last_checkpoint", json.dumps(pointer).encode())


def newest(table: Path) -> LogCheckpoint:
    """The newest checkpoint with a seal, `BEGINNING` if there is none.

    Raises:
        StateError: It is damaged.
        FileNotFoundError: It was cleaned up in the meantime.
    """
    sealed = versions(table)
    if not sealed:
        return BEGINNING
    version = sealed[-1]
    text = seal_path(table, version).read_bytes()
    data = log.checkpoint_path(table, version).read_bytes()
    if not seal.intact(text):
        raise StateError(_damage_message(table, version, seal_path(table, version)))
    note = json.loads(text)
    if seal.digest(data) != note["checkpoint"]:
        raise StateError(_damage_message(table, version, log.checkpoint_path(table, version)))
    records = tuple(map(TableRecord.from_json, note["records"]))
    return LogCheckpoint(version, _actions(data), records)


def newest_unsealed(table: Path) -> LogCheckpoint:
    """The newest checkpoint, written by a release without seals; `BEGINNING` if there is none.

    Raises:
        StateError: It is damaged.
    """
    existing = versions(table, sealed=False)
    if not existing:
        return BEGINNING
    path = log.checkpoint_path(table, existing[-1])
    try:
        return LogCheckpoint(existing[-1], _actions(path.read_bytes()), ())
    except (OSError, pa.ArrowException, ValueError, KeyError) as error:
        raise StateError(f"The checkpoint {path} is damaged: {error}. {log.RESTORE}") from error


def _actions(data: bytes) -> tuple[Action, ...]:
    table = pq.read_table(pa.BufferReader(data), page_checksum_verification=True)
    known = table.select([name for name in table.column_names if name in _SCHEMA.names])
    rows = known.to_pylist(maps_as_pydicts="strict")
    return tuple(
        {name: _without_nulls(value) for name, value in row.items() if value is not None}
        for row in rows
    )


def _without_nulls(value: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in value.items() if part is not None}


def _to_row(value: Action, name: str) -> dict[str, Any]:
    """The fields of an action that the checkpoint has columns for; maps become lists of pairs."""
    kind = _SCHEMA.field(name).type
    return {
        field.name: (
            _to_column(value[field.name], field.type) if value.get(field.name) is not None else None
        )
        for field in kind
    }


def _to_column(part: Any, kind: pa.DataType) -> Any:
    if pa.types.is_map(kind):
        return list(part.items())
    if pa.types.is_struct(kind):
        return {field.name: _to_column(part.get(field.name), field.type) for field in kind}
    return part


def _damage_message(table: Path, version: int, damaged: Path) -> str:
    older = versions(table)[:-1]
    first = older[-1] + 1 if older else 0
    present = {number for number, _ in log.commits(table)}
    if present.issuperset(range(first, version + 1)):
        return (
            f"The checkpoint {damaged} is damaged, but the commits before it are present. Delete "
            f"{log.checkpoint_path(table, version)} and {seal_path(table, version)}, and restart "
            "the process."
        )
    return f"The checkpoint {damaged} is damaged. {log.RESTORE}"
