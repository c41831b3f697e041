"""The facts and the trace of a replica, in DuckDB. Invariant: an epoch is one transaction.

Each predicate has two tables: the present facts, which questions read, and the trace, from which
presence is computed and explanations are made. A predicate without arguments has one column of
zeros.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import duckdb
import numpy as np
import pyarrow as pa

from streamreasoner.errors import StateFullError
from streamreasoner.history.presence import winners
from streamreasoner.state.consolidate import consolidate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.history.replica.replica_terms import ReplicaTerms
    from streamreasoner.plan.program_plan import Lattice
    from streamreasoner.program.text import ProgramText

LEAST_ROWS_TO_SUM: Final = 1 << 16
"""Rows that are appended to a trace, at least, before equal ones are summed."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What presence of a predicate's facts depends on, besides their trace.

    Attributes:
        arity: Number of arguments.
        lattices: Its lattices in the program in effect.
    """

    arity: int
    lattices: tuple[Lattice, ...] = ()

    @property
    def same(self) -> tuple[int, ...]:
        """Positions on which facts agree that may compete with each other."""
        compared = {lattice.position for lattice in self.lattices}
        return tuple(position for position in range(self.arity) if position not in compared)


def columns(arity: int) -> tuple[str, ...]:
    """The columns of the arguments."""
    return tuple(f"a{position}" for position in range(max(arity, 1)))


class FactStore:
    """Writes epochs, and opens cursors that read them; for one writer and any number of readers.

    Args:
        terms: The terms of the ids.
        memory: Bytes that facts and answers may take; None for DuckDB's limit.

    Attributes:
        terms: The same.
        programs: The programs up to the last epoch, with the epochs that they took effect in; they
            are known before the epoch is.
    """

    def __init__(self, terms: ReplicaTerms, memory: int | None = None) -> None:
        self.terms = terms
        self.programs: Sequence[tuple[int, ProgramText]] = ()
        # A query runs on the thread that asks, so the writer never queues behind readers.
        limit = {} if memory is None else {"memory_limit": f"{memory}B"}
        self._database = duckdb.connect(config={"threads": 1, "temp_directory": "", **limit})
        self._connection = self._database.cursor()
        self._numbers: dict[str, int] = {}
        self._shapes: dict[str, Shape] = {}
        self._rows: dict[str, int] = {}
        self._appended: dict[str, int] = {}
        self._connection.execute("CREATE TABLE epochs (epoch BIGINT, time BIGINT)")

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own; close it."""
        return self._database.cursor()

    def close(self) -> None:
        """Release the memory when the last cursor is closed."""
        self._connection.close()
        self._database.close()

    def facts_table(self, predicate: str) -> str:
        """The table of a predicate's present facts, with the columns a0, a1, ... of int32."""
        return f"facts_{self._numbers[predicate]}"

    def trace_table(self, predicate: str) -> str:
        """The table of its trace, which has the columns iteration and multiplicity besides."""
        return f"trace_{self._numbers[predicate]}"

    def apply(
        self,
        epoch: int,
        time: int | None,
        trace: Iterable[TraceRows],
        shapes: Mapping[str, Shape],
    ) -> None:
        """Take the rows up to the end of an epoch, in one transaction.

        Args:
            epoch: The epoch.
            time: Its time, in milliseconds since 1970; None if it is not known.
            trace: The rows of all epochs after the last one.
            shapes: Every predicate of the program in effect.

        Raises:
            StateFullError: There is not enough memory. Nothing more can be written.
        """
        try:
            self._apply(epoch, time, trace, shapes)
        except duckdb.OutOfMemoryException:
            raise StateFullError(
                f"The facts of epoch {epoch} do not fit the memory of the server. Raise "
                "server.max_memory, or ask the tables with SQL."
            ) from None

    def _apply(
        self,
        epoch: int,
        time: int | None,
        trace: Iterable[TraceRows],
        shapes: Mapping[str, Shape],
    ) -> None:
        connection = self._connection
        connection.execute("BEGIN TRANSACTION")
        for predicate in shapes.keys() - self._numbers.keys():
            self._create(predicate, shapes[predicate].arity)
        touched: dict[str, list[NDArray[np.int32]]] = {}
        for rows in trace:
            if rows.predicate not in self._numbers:
                # A program between the last epoch and this one had it.
                self._create(rows.predicate, rows.args.shape[1])
            touched.setdefault(rows.predicate, []).append(self._append(rows))
        for predicate in self._shapes.keys() - shapes.keys():
            connection.execute(f"DELETE FROM {self.facts_table(predicate)}")
        for predicate, shape in shapes.items():
            if self._shapes.get(predicate) != shape:
                self._settle(predicate, shape, None)
            elif predicate in touched:
                self._settle(predicate, shape, np.concatenate(touched[predicate]))
        for predicate in touched:
            self._sum(predicate)
        connection.execute("DELETE FROM epochs")
        connection.execute("INSERT INTO epochs VALUES (?, ?)", [epoch, time])
        connection.execute("COMMIT")
        self._shapes = dict(shapes)

    def _create(self, predicate: str, arity: int) -> None:
        self._numbers[predicate] = len(self._numbers)
        fields = ", ".join(f"{name} INTEGER" for name in columns(arity))
        self._connection.execute(f"CREATE TABLE {self.facts_table(predicate)} ({fields})")
        self._connection.execute(
            f"CREATE TABLE {self.trace_table(predicate)} "
            f"({fields}, iteration INTEGER, multiplicity BIGINT)"
        )
        self._rows[predicate] = self._appended[predicate] = 0

    def _append(self, rows: TraceRows) -> NDArray[np.int32]:
        """Append to a trace; returns the arguments, with one column even for arity 0."""
        args = rows.args if rows.args.shape[1] else np.zeros((len(rows.args), 1), np.int32)
        connection = self._connection
        with _given(connection, args, iteration=rows.iteration, multiplicity=rows.multiplicity):
            connection.execute(
                f"INSERT INTO {self.trace_table(rows.predicate)} SELECT * FROM given"
            )
        self._appended[rows.predicate] += len(args)
        return args

    def _settle(self, predicate: str, shape: Shape, touched: NDArray[np.int32] | None) -> None:
        """Bring the present facts in step with the trace, for what was touched or for all."""
        connection, names = self._connection, ", ".join(columns(shape.arity))
        trace, facts = self.trace_table(predicate), self.facts_table(predicate)
        # Without a position that competitors share, all facts compete.
        same = shape.same if shape.arity else (0,)
        among, keys = "", np.empty((0, 1), np.int32)
        if touched is not None and same:
            keys = _distinct(touched[:, same])
            on = " AND ".join(f"rows.a{at} = given.a{i}" for i, at in enumerate(same))
            among = f"SEMI JOIN given ON {on}"
        candidates = (
            f"SELECT {names} FROM {trace} AS rows {among} GROUP BY ALL HAVING sum(multiplicity) > 0"
        )
        with _given(connection, keys):
            now = rows_of(arrow(connection, candidates))
            before = rows_of(arrow(connection, f"SELECT {names} FROM {facts} AS rows {among}"))
        if shape.arity:
            now = winners(now, shape.lattices, self.terms)
        both = np.concatenate([before, now])
        signs = np.ones(len(both), np.int64)
        signs[: len(before)] = -1
        keys_of_both, sums = consolidate([*both.T], signs)
        changed = np.stack(keys_of_both, axis=1).astype(np.int32)
        if (sums < 0).any():
            on = " AND ".join(f"{facts}.{name} = given.{name}" for name in columns(shape.arity))
            with _given(connection, changed[sums < 0]):
                connection.execute(f"DELETE FROM {facts} USING given WHERE {on}")
        if (sums > 0).any():
            with _given(connection, changed[sums > 0]):
                connection.execute(f"INSERT INTO {facts} SELECT * FROM given")

    def _sum(self, predicate: str) -> None:
        """Sum the rows of a trace when as many were appended as it had, so that it stays small."""
        if not self._shapes:
            # What is loaded is summed already.
            self._rows[predicate], self._appended[predicate] = self._appended[predicate], 0
        if self._appended[predicate] <= max(self._rows[predicate], LEAST_ROWS_TO_SUM):
            return
        trace, facts = self.trace_table(predicate), self.facts_table(predicate)
        connection = self._connection
        connection.execute(
            f"CREATE OR REPLACE TABLE {trace} AS SELECT * EXCLUDE (multiplicity), "
            f"sum(multiplicity)::BIGINT AS multiplicity FROM {trace} GROUP BY ALL "
            "HAVING sum(multiplicity) != 0"
        )
        # Deleted rows take memory until their table is written anew.
        connection.execute(f"CREATE OR REPLACE TABLE {facts} AS SELECT * FROM {facts} ORDER BY ALL")
        [(self._rows[predicate],)] = connection.execute(f"SELECT count(*) FROM {trace}").fetchall()
        self._appended[predicate] = 0


@contextmanager
def _given(
    connection: duckdb.DuckDBPyConnection, args: NDArray[np.int32], **more: NDArray[np.integer]
) -> Iterator[None]:
    """A table `given` of rows of ids, with more columns."""
    named = dict(zip(columns(args.shape[1]), args.T, strict=True)) | more
    connection.register("given", pa.table({name: pa.array(each) for name, each in named.items()}))
    yield
    connection.unregister("given")


def arrow(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    """The rows of a query."""
    return connection.sql(query).to_arrow_table()


def rows_of(table: pa.Table) -> NDArray[np.int32]:
    """Columns of ids as rows, int32 of shape (n, columns)."""
    rows = np.empty((len(table), table.num_columns), np.int32)
    for position, column in enumerate(table.columns):
        rows[:, position] = column.to_numpy()
    return rows


def _distinct(args: NDArray[np.int32]) -> NDArray[np.int32]:
    """The distinct rows."""
    keys, _ = consolidate([*args.T], np.ones(len(args), np.int64))
    return np.stack(keys, axis=1).astype(np.int32)
