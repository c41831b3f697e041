"""A state of an earlier format. Invariant: migration changes the format alone, table by table.

Each table is brought up in commits of its own, so a migration that was cut short is run again and
does what is left. Format 0 is that of tables without numbers; format 1 has them as properties, and
digests of data files, commits and checkpoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.errors import StateError
from streamreasoner.state_version import FORMAT, StateVersion
from streamreasoner.storage import layout, log, snapshot, unsealed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from streamreasoner.storage.log import Action


def versions(directory: Path) -> dict[str, StateVersion]:
    """The version of each table of a state that is there.

    Raises:
        StateError: A table cannot be read.
    """
    return {
        name: StateVersion.of_properties(unsealed.read(directory / name).properties)
        for name in layout.NAMES
        if log.exists(directory / name)
    }


def check_version(directory: Path) -> None:
    """Refuse a state that this release does not evaluate.

    Raises:
        StateError: Says both numbers and what to do.
    """
    for name, version in versions(directory).items():
        version.check(f"The table {directory / name}")


def migrate(directory: Path) -> int:
    """Bring the tables of a state to the format of this release; no other process may use them.

    Returns:
        The lowest format that a table had.

    Raises:
        StateError: There is no state, it is of a newer release, or the disk refuses.
    """
    found = versions(directory)
    if not found:
        raise StateError(f"{directory} holds no state; there is nothing to migrate.")
    if missing := [name for name in layout.NAMES if name not in found]:
        raise StateError(f"{directory} has no table {', '.join(missing)}. {log.RESTORE}")
    for name, version in found.items():
        version.check_not_newer(f"The table {directory / name}")
    for name, version in found.items():
        unsealed.seal(directory / name)
        if version.format < FORMAT:
            set_properties(
                directory / name,
                {**layout.CLEANED_HERE, **StateVersion(FORMAT, version.semantics).properties},
            )
    return min(version.format for version in found.values())


def set_properties(directory: Path, properties: Mapping[str, str]) -> None:
    """Give a table properties besides those that it has, in one durable commit.

    Raises:
        StateError: Another process writes to the table, or the disk refuses.
    """
    current = snapshot.read(directory)
    metadata = {**current.metadata, "configuration": {**current.properties, **properties}}

    def refuse(others: list[Action]) -> None:
        del others
        raise StateError(f"Another process writes to {directory}. Stop it and try again.")

    try:
        log.commit(
            directory,
            current.version + 1,
            [log.commit_info("SET TBLPROPERTIES"), {"metaData": metadata}],
            refuse,
        )
    except OSError as error:
        raise StateError(f"{directory} cannot be written: {error}. Try again.") from error
