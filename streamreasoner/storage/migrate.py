"""A state of an earlier version. Invariant: migration changes numbers and layout, never content.

Semantics are adopted where the program in effect derives the same with them. Each table is brought
up in commits of its own, so a migration that was cut short is run again and does what is left.
Format 0 is that of tables without numbers; format 1 has them as properties, and
digests of data files, commits and checkpoints.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from streamreasoner.errors import StateError
from streamreasoner.state_version import FORMAT, SEMANTICS, StateVersion
from streamreasoner.storage import layout, log, programs, snapshot, unsealed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from streamreasoner.storage.log import Action


_AFFECTED: Final = MappingProxyType({2: "matches"})
"""By semantics, the built-in whose meaning they changed: a program without it derives the same."""


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
    """Bring a state to the version of this release; no other process may use it.

    Returns:
        The lowest format that a table had.

    Raises:
        StateError: There is no state, it is of a newer release, its program derives something else
            with the semantics of this release, or the disk refuses.
    """
    before = adopt_format(directory)
    adopt_semantics(directory)
    return before


def adopt_format(directory: Path) -> int:
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


def adopt_semantics(directory: Path) -> None:
    """Bring a state to the semantics of this release, if its program derives the same with them.

    Args:
        directory: Of the tables, in the format of this release; no other process may use them.

    Raises:
        StateError: The program derives something else; says what to do.
    """
    found = versions(directory)
    oldest = min(version.semantics for version in found.values())
    # A crash may have left the last program without its epoch, which the one before evaluates.
    texts = [program.text for _, program in programs.read(directory / layout.PROGRAMS)[-2:]]
    for semantics in range(oldest, SEMANTICS):
        name = _AFFECTED[semantics + 1]
        if any(name in text for text in texts):
            raise StateError(
                f"The state in {directory} has semantics {oldest}, this release has {SEMANTICS}: "
                f"`{name}`, which the program uses, means something else. Derive it again from "
                "what is asserted: streamreasoner rebuild --config CONFIG --into DIRECTORY"
            )
    for name, version in found.items():
        if version.semantics < SEMANTICS:
            set_properties(directory / name, StateVersion.current().properties)


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
