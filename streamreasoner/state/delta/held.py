"""A version of a table that outlives its files. Invariant: what is read belongs to one version.

For readers of a running pipeline, which merges files and deletes old ones. The files are mapped
when the version is read: a mapping stays valid when its file is deleted, and takes neither memory
nor a file descriptor. A version that follows another one shares its mappings, and reads only the
commits between them.
"""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from streamreasoner.errors import StateError
from streamreasoner.state import schemas
from streamreasoner.state.delta import checkpoint, datafile, log, snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from streamreasoner.state.delta.datafile import DataFile
    from streamreasoner.state.delta.snapshot import Snapshot

_TRIES: Final = 5


class HeldTable:
    """The newest version of a table, for reading only; another process may be writing to it.

    Args:
        directory: Directory of the table.
        earlier: A version to follow, None to read the table from its last checkpoint on.

    Attributes:
        directory: The same.
        follows: Whether *earlier* was a version of the same table, and not of one before it in the
            same place.
        mapped: The bytes of its data files, by path.
        max_arity: Number of argument columns of `trace`.
        epoch: The last epoch with rows in the table, None before the first.

    Raises:
        StateError: There is no such table, or it is damaged.
    """

    def __init__(self, directory: Path, earlier: HeldTable | None = None) -> None:
        if not log.exists(directory):
            raise StateError(f"There is no table {directory}: no pipeline has used this state yet.")
        self.directory = directory
        self._log = os.open(log.directory_of(directory), os.O_RDONLY)
        weakref.finalize(self, os.close, self._log)
        self._listed: int | None = None
        self.follows = earlier is not None and self._same_log(earlier)
        held, known = {}, {}
        if earlier is not None and self.follows:
            held, known = earlier.mapped, {file.path: file for file in earlier.files()}
        for last in range(_TRIES):
            self._snapshot = self._newest(earlier)
            self._files = datafile.of_snapshot(directory, self._snapshot, known)
            try:
                self.mapped: dict[str, pa.Buffer] = {
                    file.path: held.get(file.path) or _hold(directory, file) for file in self._files
                }
            except OSError as error:
                # Merged and deleted since the log was read, unless the log still has it.
                if last == _TRIES - 1:
                    raise StateError(
                        f"A data file of {directory} cannot be read: {error}. {log.RESTORE}"
                    ) from error
            else:
                break
        self.max_arity = schemas.argument_count(self._snapshot.columns)
        self.epoch = self._snapshot.epoch(self._snapshot.properties.get(schemas.APP_ID, ""))

    @property
    def is_newest(self) -> bool:
        """Whether the table has no newer version, and is still the same table."""
        version = self._snapshot.version
        if log.commit_path(self.directory, version + 1).exists() or not self._same_log(self):
            return False
        # The next commit was cleaned up if this process was stopped for long: there is a checkpoint
        # after it then. Most calls find the directory as it was when they were last listed.
        changed = os.fstat(self._log).st_mtime_ns
        if changed != self._listed:
            if checkpoint.versions(self.directory)[-1:] > [version]:
                return False
            self._listed = changed
        return True

    def snapshot(self) -> Snapshot:
        """The version."""
        return self._snapshot

    def files(self) -> list[DataFile]:
        """Its data files, in no particular order."""
        return self._files

    def read(self, file: DataFile, columns: Sequence[str]) -> pa.Table:
        """Read columns of a data file.

        Raises:
            StateError: The file is damaged.
        """
        return datafile.read(self.directory, file, columns, self.mapped[file.path])

    def _same_log(self, other: HeldTable) -> bool:
        """Whether the log in place is the one that a version was read from.

        Its directory is open as long as the version exists, so that no other one gets its number.
        """
        try:
            place = log.directory_of(self.directory).stat()
        except OSError:
            return False
        return os.path.samestat(place, os.fstat(other._log))

    def _newest(self, earlier: HeldTable | None) -> Snapshot:
        if earlier is not None and self.follows:
            before = earlier.snapshot()
            try:
                found = snapshot.follow(self.directory, before)
            except FileNotFoundError:
                found = before  # cleaned up between the check and the reading
            if found is not before or earlier.is_newest:
                return found
        return snapshot.read(self.directory)


def _hold(directory: Path, file: DataFile) -> pa.Buffer:
    with pa.memory_map(str(file.path_in(directory))) as mapped:
        return mapped.read_buffer()
