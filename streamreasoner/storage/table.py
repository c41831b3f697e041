"""One Delta table and its writer. Invariant: an epoch is appended at most once.

The writer knows the last version it has seen. A commit that another process has put after it is
looked at before the next append, so a second writer of the same application is noticed, and never
doubles an epoch.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable, PostCommitHookProperties
from deltalake.exceptions import DeltaError

from streamreasoner.errors import StateError
from streamreasoner.state_version import StateVersion
from streamreasoner.storage import datafile, layout, log

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from streamreasoner.storage.datafile import DataFile
    from streamreasoner.storage.log import Action, EpochRecord

# Checkpoints and clean-up are the work of maintenance.
NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose tables these are.

    Attributes:
        app_id: Application id, the same as the transactional id.
        max_arity: Number of argument columns of `trace`.
    """

    app_id: str
    max_arity: int


class Table:
    """One table, appended to by this process only and by one thread at a time.

    Args:
        directory: Where the table is; it exists.
        name: One of `layout.NAMES`.
        identity: Whose table it must be.

    Raises:
        StateError: The log or a data file is damaged, or the table belongs to somebody else.
    """

    def __init__(self, directory: Path, name: str, identity: Identity) -> None:
        self.directory = directory
        self.name = name
        self.identity = identity
        self.schema = layout.schema(name, identity.max_arity)
        log.verify(directory)
        current = self.snapshot()
        _check_owner(current, self)
        _check_files(current, directory)
        self.epoch = current.transaction_version(identity.app_id)
        self._version = current.version()
        self._broken = threading.Event()

    @property
    def partition_columns(self) -> list[str]:
        """Columns that the log holds instead of the data files."""
        return layout.partition_columns(self.name)

    def append(
        self,
        files: Iterable[tuple[pa.Table, dict[str, str]]],
        record: EpochRecord,
        before: Future[int] | None = None,
    ) -> int:
        """Append the rows of one epoch durably, as one commit that carries the record.

        Args:
            files: Rows without partition columns, and the partition they belong to.
            record: The epoch; a commit without rows is one that only records it.
            before: An append to another table that is to be durable before this one can be seen.

        Returns:
            Bytes added; 0 if the table has the epoch.

        Raises:
            StateError: Another process has written to the table, or the disk refuses.
        """
        if self.epoch is not None and record.epoch <= self.epoch:
            return 0
        transaction = log.transaction(self.identity.app_id, record.epoch)
        added = self._write(files, [log.commit_info("WRITE", record), transaction], before)
        self.epoch = record.epoch
        return added

    def append_first(self, rows: pa.Table) -> None:
        """Append rows that belong to no epoch to a table that has none, durably.

        Raises:
            StateError: Another process has written to the table, or the disk refuses.
        """
        self._write([(rows, {})], [log.commit_info("WRITE")])

    def _write(
        self,
        files: Iterable[tuple[pa.Table, dict[str, str]]],
        actions: Sequence[Action],
        before: Future[int] | None = None,
    ) -> int:
        """One commit that adds files; returns their bytes."""
        if self._broken.is_set():
            raise StateError(f"An earlier write to {self.directory} failed; restart the process.")
        self._broken.set()
        try:
            added = [datafile.write(self.directory, rows, part) for rows, part in files]
            adding = [datafile.add_action(file, data_change=True) for file in added]
            if before is not None:
                before.result()
            self._version = log.commit(
                self.directory, self._version + 1, [*actions, *adding], self._check_writer
            )
        except (OSError, pa.ArrowException) as error:
            raise StateError(
                f"{self.directory} cannot be written: {error}. Start again when that is solved."
            ) from error
        self._broken.clear()
        return sum(file.size for file in added)

    def replace(self, old: Sequence[DataFile], new: Sequence[DataFile]) -> None:
        """Replace files by others that hold the same content; safe beside `append`.

        Raises:
            StateError: Another process has removed files from the table.
        """
        actions = [
            log.commit_info("OPTIMIZE"),
            *(datafile.remove_action(file) for file in old),
            *(datafile.add_action(file, data_change=False) for file in new),
        ]
        paths = {file.path for file in old}

        def check(others: list[Action]) -> None:
            if any(action.get("remove", {}).get("path") in paths for action in others):
                raise StateError(f"Another process has removed files from {self.directory}.")
            self._check_layout(others)

        log.commit(self.directory, self._version + 1, actions, check)

    def snapshot(self) -> DeltaTable:
        """The newest snapshot.

        Raises:
            StateError: The table cannot be read.
        """
        return snapshot(self.directory)

    def files(self) -> list[DataFile]:
        """The data files of the newest snapshot."""
        return datafile.of_snapshot(self.snapshot())

    def _check_writer(self, actions: list[Action]) -> None:
        epoch = log.transaction_version(actions, self.identity.app_id)
        if epoch is not None:
            raise StateError(
                f"Another process with application id {self.identity.app_id!r} has written epoch "
                f"{epoch} to {self.directory}. Stop it and start again."
            )
        self._check_layout(actions)

    def _check_layout(self, actions: list[Action]) -> None:
        if any("metaData" in action or "protocol" in action for action in actions):
            raise StateError(
                f"Another process has changed the schema or the properties of {self.directory}. "
                "Start again."
            )


def create(directory: Path, name: str, identity: Identity) -> None:
    """Create an empty table, durably.

    Raises:
        StateError: The directory cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        DeltaTable.create(
            directory,
            layout.schema(name, identity.max_arity),
            mode="error",
            partition_by=layout.partition_columns(name),
            name=name,
            description="Written by streamreasoner; readable by any Delta reader.",
            configuration=layout.properties(identity.app_id),
            raise_if_key_not_exists=False,
        )
        datafile.sync_file(log.commit_path(directory, 0))
        for path in (log.directory_of(directory), directory, *list(directory.parents)[:2]):
            datafile.sync_file(path)
    except (DeltaError, OSError) as error:
        raise StateError(f"The table {directory} cannot be created: {error}") from error


def snapshot(directory: Path) -> DeltaTable:
    """The newest snapshot of a table.

    Raises:
        StateError: The table cannot be read.
    """
    try:
        return DeltaTable(directory)
    except DeltaError as error:
        raise StateError(
            f"The table {directory} cannot be opened: {error}. Restore it from a backup, "
            "or delete the state and start from the beginning."
        ) from error


def version(directory: Path) -> StateVersion:
    """The version of a table.

    Raises:
        StateError: The table cannot be read.
    """
    log.verify(directory)
    return StateVersion.of_properties(snapshot(directory).metadata().configuration)


def argument_columns(directory: Path) -> int:
    """How many arguments a `trace` has columns for.

    Raises:
        StateError: The table cannot be read.
    """
    log.verify(directory)
    return layout.argument_count(field.name for field in snapshot(directory).schema().fields)


def exists(directory: Path) -> bool:
    """Whether a Delta log is there, even a damaged one."""
    return next(log.directory_of(directory).glob("*.json"), None) is not None


def rows(directory: Path) -> int:
    """How many rows a table has that may not be there; anyone may ask.

    Raises:
        StateError: The table cannot be read.
    """
    if not exists(directory):
        return 0
    return sum(file.rows for file in datafile.of_snapshot(snapshot(directory)))


def _check_owner(current: DeltaTable, table: Table) -> None:
    properties = current.metadata().configuration
    found = properties.get(layout.APP_ID)
    if found != table.identity.app_id:
        raise StateError(
            f"The table {table.directory} was written with application id {found!r}, this run has "
            f"{table.identity.app_id!r}. Use another state directory, or go back to the "
            "application that wrote it."
        )
    StateVersion.of_properties(properties).check(f"The table {table.directory}")
    columns = [field.name for field in current.schema().fields]
    if columns != table.schema.names:
        raise StateError(
            f"The table {table.directory} has the columns {columns}, this version writes "
            f"{table.schema.names}. Use another state directory."
        )


def _check_files(current: DeltaTable, directory: Path) -> None:
    for file in datafile.of_snapshot(current):
        path = directory / file.path
        size = path.stat().st_size if path.exists() else None
        if size != file.size:
            state = "is missing" if size is None else f"has {size} bytes"
            raise StateError(
                f"The data file {path} {state}; the log says {file.size} bytes. Restore it from a "
                "backup, or delete the state and start from the beginning."
            )
