"""Migration of a state. Invariant: it changes version numbers and layout, never content.

The semantics are raised if the program in effect derives the same facts under the new ones. Each
table is migrated in its own commits, so an interrupted migration is completed by running it again.
Format 0 has no version numbers; format 1 has them as table properties, and has digests of data
files, commits and checkpoints; format 2 may have the terms of RDF 1.2, which releases before it
would take for IRIs and damaged literals. Adding digests changes the log, not the rows.
"""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from streamreasoner.errors import StateError
from streamreasoner.rdf.texts import are_iris
from streamreasoner.state import programs, restore, schemas
from streamreasoner.state.delta import checkpoint, datafile, log, snapshot
from streamreasoner.state.delta.held import HeldTable
from streamreasoner.state.version import FORMAT, SEMANTICS, StateVersion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from streamreasoner.state.delta.log import Action
    from streamreasoner.state.delta.snapshot import Snapshot


_AFFECTED: Final = MappingProxyType(
    {
        2: re.compile("matches"),
        3: re.compile(r"\b(?:min|max|lowest|highest|sort_key|effective_boolean)(?=\()"),
    }
)
"""The built-ins whose meaning changed, by semantics; a program without them is not affected."""
_ORDER_OF_IRIS: Final = 3
"""The semantics that change the order of IRIs, which some states do not notice."""
_OF_BOOLEANS: Final = frozenset({"effective_boolean"})
"""What these semantics change besides."""


def versions(directory: Path) -> dict[str, StateVersion]:
    """The version of each existing table of a state.

    Raises:
        StateError: A table cannot be read.
    """
    return {
        name: StateVersion.of_properties(_newest(directory / name).properties)
        for name in schemas.names(directory)
        if log.exists(directory / name)
    }


def check_version(directory: Path) -> None:
    """Refuse a state that this release cannot evaluate.

    Raises:
        StateError: A table has another version.
    """
    for name, version in versions(directory).items():
        version.check(f"The table {directory / name}")


def migrate(directory: Path) -> int:
    """Migrate a state to the version of this release; no other process may use it.

    Returns:
        The lowest format that a table had.

    Raises:
        StateError: There is no state, a newer release wrote it, its program derives different
            facts under the semantics of this release, or it cannot be written.
    """
    before = adopt_format(directory)
    adopt_semantics(directory)
    return before


def adopt_format(directory: Path) -> int:
    """Migrate the tables of a state to the format of this release; no other process may use them.

    Returns:
        The lowest format that a table had.

    Raises:
        StateError: There is no state, a newer release wrote it, or it cannot be written.
    """
    by_table = versions(directory)
    if not by_table:
        raise StateError(f"{directory} holds no state; there is nothing to migrate.")
    if missing := [name for name in schemas.NAMES if name not in by_table]:
        raise StateError(f"{directory} has no table {', '.join(missing)}. {log.RESTORE}")
    for name, version in by_table.items():
        version.check_not_newer(f"The table {directory / name}")
    for name, version in by_table.items():
        seal(directory / name)
        if version.format < FORMAT:
            set_properties(
                directory / name,
                {
                    **schemas.NO_FOREIGN_CLEANUP,
                    **StateVersion(FORMAT, version.semantics).properties,
                },
            )
    return min(version.format for version in by_table.values())


def adopt_semantics(directory: Path) -> None:
    """Raise a state to the semantics of this release, if its program derives the same facts.

    Args:
        directory: Directory of the tables, in the format of this release; no other process may
            use them.

    Raises:
        StateError: The program derives different facts.
    """
    by_table = versions(directory)
    oldest = min(version.semantics for version in by_table.values())
    # After a crash the epoch of the last program may be incomplete: the one before is in effect.
    texts = [program.text for _, program in programs.read(directory / schemas.PROGRAMS)[-2:]]
    for semantics in range(oldest, SEMANTICS):
        found = [name for text in texts for name in _AFFECTED[semantics + 1].findall(text)]
        if found and semantics + 1 == _ORDER_OF_IRIS and _are_ordered_alike(directory):
            found = [name for name in found if name in _OF_BOOLEANS]
        if not found:
            continue
        raise StateError(
            f"The state in {directory} has semantics {oldest}, this release has {SEMANTICS}: "
            f"`{found[0]}`, which the program uses, has a new meaning. Rebuild the state from its "
            "asserted facts: streamreasoner rebuild --config CONFIG --into DIRECTORY"
        )
    for name, version in by_table.items():
        if version.semantics < SEMANTICS:
            set_properties(directory / name, StateVersion.current().properties)


def _are_ordered_alike(directory: Path) -> bool:
    """Whether the IRIs of a state have the same order with and without the bracket at their end."""
    terms = restore.terms_by_id(HeldTable(directory / schemas.TERMS))
    iris = terms.filter(are_iris(terms))
    bare = pc.utf8_slice_codeunits(iris, 0, -1)
    return bool(pc.sort_indices(iris).equals(pc.sort_indices(bare)))


def seal(table: Path) -> None:
    """Seal a table durably, unless it is sealed already; no other process may use it.

    The table of a release without digests is verified as far as possible: its log must be complete,
    and its data files must have their logged sizes. A sealed checkpoint then covers all of it.

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


def set_properties(directory: Path, properties: Mapping[str, str]) -> None:
    """Add or replace properties of a table, in one durable commit.

    Raises:
        StateError: Another process is writing to the table, or it cannot be written.
    """
    current = snapshot.read(directory)
    metadata = {**current.metadata, "configuration": {**current.properties, **properties}}

    def refuse(others: list[Action]) -> None:
        del others
        raise StateError(f"Another process is writing to {directory}. Stop it and try again.")

    try:
        log.commit(
            directory,
            current.version + 1,
            [log.commit_info("SET TBLPROPERTIES"), {"metaData": metadata}],
            refuse,
        )
    except OSError as error:
        raise StateError(f"{directory} cannot be written: {error}. Try again.") from error


def _newest(table: Path) -> Snapshot:
    """The newest snapshot of a table, sealed or not."""
    try:
        return snapshot.read(table)
    except log.UnsealedError:
        return snapshot.read_unsealed(table)
