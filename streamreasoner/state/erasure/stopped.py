"""The tables of a stopped pipeline. Invariant: no epoch is half written or will be replayed.

A replay needs the rows of its epoch as they were, and new terms under the ids that they had.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.analysis.expiry import expiries
from streamreasoner.errors import StateError
from streamreasoner.lang import ast, traversal
from streamreasoner.lang.parser import parse
from streamreasoner.program.checked import check_text
from streamreasoner.state import commit, programs, restore, schemas
from streamreasoner.state.delta import log, table
from streamreasoner.state.delta.held import HeldTable
from streamreasoner.state.delta.table import Identity, Table
from streamreasoner.state.maintenance.waiting import check_none_waits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa

    from streamreasoner.program.checked import CheckedProgram


@dataclass(frozen=True, slots=True)
class StoppedState:
    """The tables of a pipeline that is not running.

    Attributes:
        directory: Their directory.
        tables: Each by its name.
        last: The last epoch, which is complete.
        terms: The terms by id.
    """

    directory: Path
    tables: Mapping[str, Table]
    last: int
    terms: pa.LargeStringArray

    @classmethod
    def open(cls, directory: Path, app_id: str, batches: tuple[int, int] | None) -> StoppedState:
        """Open the tables.

        Args:
            directory: Directory of the tables.
            app_id: The application they belong to.
            batches: The last batch that Spark has committed, -1 for none, and the last one that it
                has planned; None for a state without Spark.

        Raises:
            StateError: They are damaged or another application's, have no epoch, or the next start
                would replay an epoch; or updates wait for their slots.
        """
        missing = [name for name in schemas.NAMES if not log.exists(directory / name)]
        if missing:
            raise StateError(f"{directory} holds no state: {', '.join(missing)} do not exist.")
        identity = Identity(app_id, table.argument_columns(directory / schemas.TRACE))
        names = schemas.names(directory)
        tables = {name: Table(directory / name, name, identity) for name in names}
        last = commit.complete_version(tables, commit.last_record(tables[schemas.TRACE]))
        incomplete = commit.incomplete_epoch(tables, last)
        if last is None and incomplete is None:
            raise StateError(f"{directory} has no epoch yet, so there is nothing to erase.")
        if batches is None:
            if last is None or incomplete is not None:
                raise StateError(
                    f"{directory.parent} was interrupted in epoch {incomplete}. Open it with "
                    "Reasoner.open, which finishes the epoch, close it, and try again."
                )
        elif last is None or incomplete is not None or {*batches} != {last}:
            planned = batches[1]
            raise StateError(
                f"The pipeline was interrupted in epoch {max(planned, incomplete or 0)}, which the "
                "next start replays from the state as it is. Start the pipeline, let it finish "
                "that batch, stop it with SIGTERM, and try again."
            )
        check_none_waits(directory, last, "An erasure")
        terms = restore.terms_by_id(HeldTable(directory / schemas.TERMS))
        return cls(directory, tables, last, terms)

    def program(self) -> CheckedProgram:
        """The program in effect."""
        return check_text(programs.read(self.directory / schemas.PROGRAMS)[-1][1].text, "program")

    def constants(self) -> Iterator[tuple[int, str]]:
        """The constants of all programs that the state has had, with the epoch of the program."""
        for epoch, program in programs.read(self.directory / schemas.PROGRAMS):
            parsed = parse(program.text, f"program of epoch {epoch}")
            parts = [part for rule in parsed.rules for part in (*rule.heads, *rule.body)]
            parts += (expiry.pattern for expiry in expiries([parsed]))
            for part in parts:
                for node in traversal.walk(part):
                    if isinstance(node, ast.Constant):
                        yield epoch, node.term
