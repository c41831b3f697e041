"""The table `programs`: which program took effect when. Invariant: the first row has epoch -1.

The first row is the initial program, in effect before epoch 0, written when the table is created;
each other row belongs to the epoch that changed the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from streamreasoner.errors import StateError
from streamreasoner.program.text import ProgramText
from streamreasoner.state import rows, schemas
from streamreasoner.state.delta import log
from streamreasoner.state.delta.held import HeldTable

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.state.delta.table import Table

    ProgramsByEpoch = tuple[tuple[int, ProgramText], ...]

BEGINNING: Final = -1
"""Epoch of the first row."""


def read(directory: Path) -> ProgramsByEpoch:
    """Every program that was in effect, with the epoch it took effect in, oldest first.

    Args:
        directory: The table; another process may be writing to it.

    Raises:
        StateError: There is no such table, or it cannot be read.
    """
    return of_table(HeldTable(directory))


def of_table(table: HeldTable) -> ProgramsByEpoch:
    """The same of one version of the table.

    Raises:
        StateError: It cannot be read.
    """
    names = schemas.schema(schemas.PROGRAMS, 0).names
    stored = [row for file in table.files() for row in table.read(file, names).to_pylist()]
    return tuple(
        (row["epoch"], ProgramText(row["hash"], row["text"], tuple(row["predicates"])))
        for row in sorted(stored, key=lambda row: row["epoch"])
    )


def begin(programs: Table, program: ProgramText, *, used: bool) -> None:
    """Write the first row if the table is empty.

    Args:
        programs: The table.
        program: The initial program of a new state.
        used: Whether any table holds an epoch.

    Raises:
        StateError: The table is empty and the state is not new, the program has more arguments
            than `trace` has columns, or the table cannot be written.
    """
    if programs.files():
        return
    if used:
        raise StateError(
            f"The table {programs.directory} is empty, but the other tables are not: their program "
            f"is unknown. {log.RESTORE}"
        )
    width, widest = programs.identity.max_arity, max(program.arities.values())
    if widest > width:
        raise StateError(
            f"The tables in {programs.directory.parent} were created for {width} arguments, but "
            f"the program has {widest}. They are empty: delete them and restart the process."
        )
    [(first, _)] = rows.program_files(program, BEGINNING)
    programs.append_first(pa.table(first))
