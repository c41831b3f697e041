"""A version of a table that outlives its files. Invariant: what is read belongs to one version.

For readers beside a running pipeline, which merges files and deletes old ones. The files are mapped
when the version is read: a mapping stays valid when its file is deleted, and takes neither memory
nor a file descriptor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from streamreasoner.errors import StateError
from streamreasoner.state import schemas
from streamreasoner.state.delta import datafile, log, snapshot

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

    Attributes:
        directory: The same.
        max_arity: Number of argument columns of `trace`.
        epoch: The last epoch with rows in the table, None before the first.

    Raises:
        StateError: There is no such table, or it is damaged.
    """

    def __init__(self, directory: Path) -> None:
        if not log.exists(directory):
            raise StateError(f"There is no table {directory}: no pipeline has used this state yet.")
        self.directory = directory
        for last in range(_TRIES):
            self._snapshot = snapshot.read(directory)
            self._files = datafile.of_snapshot(directory, self._snapshot)
            try:
                self._held = {file.path: _hold(directory, file) for file in self._files}
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
        return datafile.read(self.directory, file, columns, self._held[file.path])


def _hold(directory: Path, file: DataFile) -> pa.Buffer:
    with pa.memory_map(str(file.path_in(directory))) as mapped:
        return mapped.read_buffer()
