"""One Delta table and its writer. Invariant: an epoch is appended at most once.

The writer remembers the last version it has seen. It checks commits that other processes have made
since then before the next append, so a second writer of the same application is detected and never
duplicates an epoch.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from streamreasoner.counts import counted
from streamreasoner.errors import StateError
from streamreasoner.state import schemas
from streamreasoner.state.delta import checkpoint, datafile, log, replay, retention, snapshot
from streamreasoner.state.delta.replay import Replay
from streamreasoner.state.version import StateVersion
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from streamreasoner.state.delta.datafile import DataFile
    from streamreasoner.state.delta.log import Action
    from streamreasoner.state.delta.retention import Retention
    from streamreasoner.state.delta.snapshot import Snapshot
    from streamreasoner.state.record import TableRecord

_TYPES: Final = {
    pa.string(): "string",
    pa.int8(): "byte",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.timestamp("us", tz="UTC"): "timestamp",
}
"""Delta's names of types."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which application owns the tables, and how wide they are.

    Attributes:
        app_id: Application id, the same as the transactional id.
        max_arity: Number of argument columns of `trace`.
    """

    app_id: str
    max_arity: int


class Table:
    """One table; only this process appends to it, one thread at a time.

    Args:
        directory: Directory of an existing table.
        name: Its folder, one of `schemas.NAMES`.
        identity: The expected owner.

    Raises:
        StateError: The log or a data file is damaged, or another application owns the table.

    Attributes:
        epoch: The last epoch with rows in the table, None before the first.
        written: Number of files added to its directory and log since the checkpoint that it was
            opened from; maintenance is due by it.
    """

    def __init__(self, directory: Path, name: str, identity: Identity) -> None:
        self.directory = directory
        self.name = name
        self.identity = identity
        self.schema = schemas.schema(name, identity.max_arity)
        self._newest = current = snapshot.read(directory)
        _check_owner(current, self)
        files = _check_files(current, directory)
        self.epoch = current.epoch(identity.app_id)
        self.written = 2 * (current.version - current.checkpoint)
        self._version = current.version
        self._broken = threading.Event()
        self._committing = threading.Lock()
        self._seal([file for file in files if not file.digest])

    @property
    def partition_columns(self) -> list[str]:
        """Columns that the log holds instead of the data files."""
        return schemas.partition_columns(self.name)

    def append(
        self,
        files: Iterable[tuple[pa.Table, dict[str, str]]],
        record: TableRecord,
        before: Future[int] | None = None,
    ) -> int:
        """Append the rows of one epoch durably, as one commit that carries the record.

        Args:
            files: Rows without partition columns, and the partition they belong to.
            record: The record of the epoch; without files the commit holds the record only.
            before: An append to another table that must be durable before this commit is visible.

        Returns:
            Bytes added; 0 if the table has the epoch already.

        Raises:
            StateError: Another process has written to the table, or it cannot be written.
        """
        if self.epoch is not None and record.epoch <= self.epoch:
            return 0
        transaction = log.transaction(self.identity.app_id, record.epoch)
        added = self._write(files, [log.commit_info("WRITE", record), transaction], before)
        self.epoch = record.epoch
        return added

    def append_first(self, rows: pa.Table) -> None:
        """Durably append rows that belong to no epoch to an empty table.

        Raises:
            StateError: Another process has written to the table, or it cannot be written.
        """
        self._write([(rows, {})], [log.commit_info("WRITE")])

    def _write(
        self,
        files: Iterable[tuple[pa.Table, dict[str, str]]],
        actions: Sequence[Action],
        before: Future[int] | None = None,
    ) -> int:
        """Write files and commit them; returns their total size in bytes."""
        if self._broken.is_set():
            raise StateError(f"An earlier write to {self.directory} failed; restart the process.")
        self._broken.set()
        try:
            added = [datafile.write(self.directory, rows, part) for rows, part in files]
            adding = [datafile.add_action(file, data_change=True) for file in added]
            if added:
                disk.sync(self.directory)
            if before is not None:
                before.result()
            self._commit([*actions, *adding])
        except (OSError, pa.ArrowException) as error:
            raise StateError(
                f"{self.directory} cannot be written: {error}. Fix the cause, then restart the "
                "process."
            ) from error
        self.written += len(added) + 1
        self._broken.clear()
        return sum(file.size for file in added)

    def replace(
        self,
        old: Sequence[DataFile],
        new: Sequence[DataFile],
        exact_from: int | None = None,
        *,
        data_change: bool = False,
    ) -> None:
        """Replace files by others; safe to run concurrently with `append`.

        Args:
            old: Files of the newest snapshot.
            new: Files that are not in the table yet.
            exact_from: The first epoch that can still be asked, if that changes.
            data_change: Whether the new files have other rows.

        Raises:
            StateError: Another process has removed files from the table, or writes epochs to it.
        """
        paths = {file.path for file in old}

        def check(others: list[Action]) -> None:
            if any(action.get("remove", {}).get("path") in paths for action in others):
                raise StateError(
                    f"Another process has removed files from {self.directory}. Stop it."
                )

        disk.sync(self.directory)
        self._commit(
            [
                log.commit_info("DELETE" if data_change else "OPTIMIZE"),
                *([] if exact_from is None else [log.exactness(exact_from)]),
                *(datafile.remove_action(file, data_change=data_change) for file in old),
                *(datafile.add_action(file, data_change=data_change) for file in new),
            ],
            check,
        )

    def snapshot(self) -> Snapshot:
        """The newest snapshot.

        Raises:
            StateError: The table cannot be read.
        """
        self._newest = snapshot.follow(self.directory, self._newest)
        return self._newest

    def save(self) -> None:
        """Write a checkpoint, if the table has changed since the last one.

        Raises:
            StateError: The table cannot be read.
        """
        current = self.snapshot()
        if current.version > current.checkpoint:
            pruned = retention.without_deleted(self.directory, current)
            checkpoint.write(self.directory, pruned.version, pruned.actions(), pruned.records)
            self._newest = replace(pruned, checkpoint=pruned.version)

    def clean(self, kept: Retention = retention.DEFAULT) -> None:
        """Delete old files and commits, see `retention`.

        Raises:
            StateError: The table cannot be read.
        """
        present = {entry.name for entry in os.scandir(self.directory)}
        # A clock that jumps makes files old that an epoch has written, but not committed yet.
        abandoned = set() if self._broken.is_set() else present
        retention.delete_files(self.directory, self.snapshot(), kept, abandoned)
        retention.delete_commits(self.directory, kept)

    def files(self) -> list[DataFile]:
        """The data files of the newest snapshot.

        Raises:
            StateError: The table cannot be read.
        """
        return datafile.of_snapshot(self.directory, self.snapshot())

    @property
    def max_arity(self) -> int:
        """Number of argument columns of `trace`."""
        return self.identity.max_arity

    def read(self, file: DataFile, columns: Sequence[str]) -> pa.Table:
        """Read columns of a data file.

        Raises:
            StateError: The file is damaged.
        """
        return datafile.read(self.directory, file, columns)

    def _seal(self, files: Sequence[DataFile]) -> None:
        """Add digests to files that another program has written, for example by deleting rows."""
        if files:
            sealed = [datafile.verify(self.directory, file) for file in files]
            adding = [datafile.add_action(file, data_change=False) for file in sealed]
            self._commit([log.commit_info("SEAL"), *adding])

    def _commit(
        self, actions: Sequence[Action], check: Callable[[list[Action]], None] | None = None
    ) -> None:
        """Commit actions; any commit that took the version first is another process's."""

        def check_all(others: list[Action]) -> None:
            self._check_writer(others)
            if check is not None:
                check(others)

        with self._committing:
            self._version = log.commit(self.directory, self._version + 1, actions, check_all)

    def _check_writer(self, actions: list[Action]) -> None:
        epoch = log.transaction_version(actions, self.identity.app_id)
        if epoch is not None:
            raise StateError(
                f"Another process with application id {self.identity.app_id!r} has written epoch "
                f"{epoch} to {self.directory}. Stop it, then restart this process."
            )
        self._check_layout(actions)

    def _check_layout(self, actions: list[Action]) -> None:
        changed = Replay(snapshot.place(self.directory))
        changed.apply(actions)
        if changed.metadata is not None or changed.protocol is not None:
            raise StateError(
                f"Another process has changed the schema or the properties of {self.directory}. "
                "Stop it, then restart this process."
            )


def create(directory: Path, name: str, identity: Identity) -> None:
    """Create an empty table, durably.

    Raises:
        StateError: The directory cannot be written.
    """
    try:
        log.directory_of(directory).mkdir(parents=True, exist_ok=True)
        log.commit(directory, 0, _first_commit(name, identity), _refuse_rival(directory))
        for path in (directory, *list(directory.parents)[:2]):
            disk.sync(path)
    except OSError as error:
        raise StateError(
            f"The table {directory} cannot be created: {error}. Fix the cause, then restart the "
            "process."
        ) from error


def argument_columns(directory: Path) -> int:
    """Number of argument columns of a `trace`.

    Raises:
        StateError: The table cannot be read.
    """
    return schemas.argument_count(snapshot.read(directory).columns)


def rows(directory: Path) -> int:
    """Number of rows of a table, 0 if it does not exist; another process may be writing to it.

    Raises:
        StateError: The table cannot be read.
    """
    if not log.exists(directory):
        return 0
    return sum(file.rows for file in datafile.of_snapshot(directory, snapshot.read(directory)))


def _first_commit(name: str, identity: Identity) -> list[Action]:
    metadata = {
        "id": str(uuid.uuid4()),
        "name": name,
        "description": "Written by streamreasoner; readable by any Delta reader.",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": _schema_string(schemas.schema(name, identity.max_arity)),
        "partitionColumns": schemas.partition_columns(name),
        "configuration": schemas.properties(identity.app_id),
        "createdTime": int(time.time() * 1000),
    }
    protocol = {
        "minReaderVersion": replay.READER_VERSION,
        "minWriterVersion": replay.WRITER_VERSION,
    }
    return [
        log.commit_info("CREATE TABLE"),
        {"protocol": protocol},
        {"metaData": metadata},
        log.exactness(schemas.NOTHING_SUMMED),
    ]


def _schema_string(schema: pa.Schema) -> str:
    """A schema as the log has it."""
    fields = [
        {
            "name": field.name,
            "type": _delta_type(field.type),
            "nullable": field.nullable,
            "metadata": {},
        }
        for field in schema
    ]
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))


def _delta_type(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        element = _delta_type(kind.value_type)
        return {"type": "array", "elementType": element, "containsNull": True}
    return _TYPES[kind]


def _refuse_rival(directory: Path) -> Callable[[list[Action]], None]:
    def check(_: list[Action]) -> None:
        raise StateError(f"Another process is creating the table {directory}. Stop it.")

    return check


def _check_owner(current: Snapshot, table: Table) -> None:
    owner = current.properties.get(schemas.APP_ID)
    if owner != table.identity.app_id:
        raise StateError(
            f"The table {table.directory} was written with application id {owner!r}, this run has "
            f"{table.identity.app_id!r}. Use another state directory, or the application id that "
            "wrote it."
        )
    StateVersion.of_properties(current.properties).check(f"The table {table.directory}")
    if current.columns != table.schema.names:
        raise StateError(
            f"The table {table.directory} has the columns {current.columns}, this version writes "
            f"{table.schema.names}. Use another state directory."
        )


def _check_files(current: Snapshot, directory: Path) -> list[DataFile]:
    """The data files of a snapshot, after checking that each exists with its logged size."""
    files = datafile.of_snapshot(directory, current)
    for file in files:
        path = file.path_in(directory)
        size = path.stat().st_size if path.exists() else None
        if size != file.size:
            state = "is missing" if size is None else f"has {counted(size, 'byte')}"
            raise StateError(
                f"The data file {path} {state}; the log says {file.size} bytes. {log.RESTORE}"
            )
    return files
