"""Tables of releases without digests. Invariant: sealing changes the log, not the rows.

Such a table is verified as far as possible: its log must be complete, and its data files must have
their logged sizes. A sealed checkpoint then covers all of it, including the digests of its files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.errors import StateError
from streamreasoner.state.delta import checkpoint, datafile, log, snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.state.delta.snapshot import Snapshot


def read(table: Path) -> Snapshot:
    """The newest snapshot of a table, sealed or not.

    Raises:
        StateError: The log is damaged or incomplete, or needs unsupported Delta features.
    """
    try:
        return snapshot.read(table)
    except log.UnsealedError:
        return snapshot.read_unsealed(table)


def seal(table: Path) -> None:
    """Seal a table durably, unless it is sealed already. No other process may use it.

    Raises:
        StateError: The table cannot be read or written.
    """
    try:
        snapshot.read(table)
    except log.UnsealedError:
        current = snapshot.read_unsealed(table)
    else:
        return
    files = datafile.of_snapshot(table, current)
    sealed = [datafile.verify(table, file) for file in files]
    added = {file.path: datafile.add_action(file, data_change=False)["add"] for file in sealed}
    try:
        checkpoint.write(
            table, current.version, replace(current, added=added).actions(), current.records
        )
    except OSError as error:
        raise StateError(f"{table} cannot be written: {error}. Try again.") from error
