"""The facts and the trace of a replica. Invariant: an epoch is one transaction.

The present facts of each predicate are a table in DuckDB, which questions read; a predicate without
arguments has one column of zeros. The trace, from which presence is computed and explanations are
made, is in memory next to it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

import duckdb
import numpy as np
import pyarrow as pa

from streamreasoner.errors import StateFullError
from streamreasoner.history.presence import candidates, winners
from streamreasoner.history.replica.stored_trace import StoredTrace
from streamreasoner.state.consolidate import consolidate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.history.replica.replica_terms import ReplicaTerms
    from streamreasoner.plan.program_plan import Lattice
    from streamreasoner.program.text import ProgramText

LEAST_ROWS_TO_PACK: Final = 1 << 16
"""Facts of a predicate that come and go, at least, before its table is written anew."""


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
    def shared(self) -> int:
        """How many first arguments facts share that may compete with each other."""
        return min((lattice.position for lattice in self.lattices), default=self.arity)


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
        traces: The trace of every predicate at the end of the last epoch.
        committing: Held while an epoch becomes visible.
        programs: The programs up to the last epoch, with the epochs that they took effect in; they
            are known before the epoch is.
    """

    def __init__(self, terms: ReplicaTerms, memory: int | None = None) -> None:
        self.terms = terms
        self.programs: Sequence[tuple[int, ProgramText]] = ()
        self.traces: Mapping[str, StoredTrace] = {}
        self.committing = Lock()
        # A query runs on the thread that asks, so the writer never queues behind readers.
        self._memory = memory
        self._database = duckdb.connect(config={"threads": 1, "temp_directory": ""})
        self._connection = self._database.cursor()
        self._numbers: dict[str, int] = {}
        self._shapes: dict[str, Shape] = {}
        self._changed: dict[str, int] = {}
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
        rows: dict[str, list[TraceRows]] = {}
        for each in trace:
            rows.setdefault(each.predicate, []).append(each)
        is_first = not self._shapes
        traces = dict(self.traces)
        # A program between the last epoch and this one may have had other predicates.
        arities = {name: found[0].args.shape[1] for name, found in rows.items()}
        arities |= {name: shape.arity for name, shape in shapes.items()}
        connection = self._connection
        connection.execute("BEGIN TRANSACTION")
        for predicate in arities.keys() - self._numbers.keys():
            self._create(predicate, arities[predicate])
            traces[predicate] = StoredTrace(arities[predicate])
        touched = {name: np.concatenate([each.args for each in rows[name]]) for name in rows}
        for predicate in touched:
            traces[predicate] = traces[predicate].appended(rows.pop(predicate))
        self._limit(traces)
        for predicate in self._shapes.keys() - shapes.keys():
            connection.execute(f"DELETE FROM {self.facts_table(predicate)}")
        for predicate, shape in shapes.items():
            if self._shapes.get(predicate) != shape:
                self._settle(predicate, shape, traces[predicate], None)
            elif predicate in touched:
                self._settle(predicate, shape, traces[predicate], touched[predicate])
        is_packed = [self._pack(predicate, len(traces[predicate])) for predicate in touched]
        connection.execute("DELETE FROM epochs")
        connection.execute("INSERT INTO epochs VALUES (?, ?)", [epoch, time])
        with self.committing:
            connection.execute("COMMIT")
            self.traces = traces
        self._shapes = dict(shapes)
        if is_first or any(is_packed):
            connection.execute("CHECKPOINT")  # which compresses tables

    def _limit(self, traces: Mapping[str, StoredTrace]) -> None:
        """Leave to DuckDB what the traces do not take."""
        if self._memory is not None:
            left = self._memory - sum(trace.nbytes for trace in traces.values())
            self._connection.execute(f"SET memory_limit = '{max(left, 0)}B'")

    def _create(self, predicate: str, arity: int) -> None:
        self._numbers[predicate] = len(self._numbers)
        fields = ", ".join(f"{name} INTEGER" for name in columns(arity))
        self._connection.execute(f"CREATE TABLE {self.facts_table(predicate)} ({fields})")
        self._changed[predicate] = 0

    def _settle(
        self,
        predicate: str,
        shape: Shape,
        trace: StoredTrace,
        touched: NDArray[np.int32] | None,
    ) -> None:
        """Bring the present facts in step with the trace, for what was touched or for all."""
        connection, names = self._connection, ", ".join(columns(shape.arity))
        facts = self.facts_table(predicate)
        # Facts that agree on this many first arguments may compete; without any, all do.
        width = shape.shared
        among, keys = "", np.empty((0, 1), np.int32)
        if touched is None or not width:
            rows = trace.all()
        else:
            keys = _distinct(touched[:, :width])
            on = " AND ".join(f"rows.a{at} = given.a{at}" for at in range(width))
            among = f"SEMI JOIN given ON {on}"
            rows = trace.beginning_with(keys)
        with _given(connection, keys):
            before = rows_of(arrow(connection, f"SELECT {names} FROM {facts} AS rows {among}"))
        now = candidates(rows.args, rows.multiplicity)
        now = winners(now, shape.lattices, self.terms) if shape.arity else _in_a_column(now)
        both = np.concatenate([before, now])
        signs = np.ones(len(both), np.int64)
        signs[: len(before)] = -1
        keys_of_both, sums = consolidate([*both.T], signs)
        changed = np.stack(keys_of_both, axis=1).astype(np.int32)
        self._changed[predicate] += 0 if touched is None else len(changed)
        if (sums < 0).any():
            on = " AND ".join(f"{facts}.{name} = given.{name}" for name in columns(shape.arity))
            with _given(connection, changed[sums < 0]):
                connection.execute(f"DELETE FROM {facts} USING given WHERE {on}")
        if (sums > 0).any():
            with _given(connection, changed[sums > 0]):
                connection.execute(f"INSERT INTO {facts} SELECT * FROM given")

    def _pack(self, predicate: str, rows: int) -> bool:
        """Write a table anew when as many facts came and went as its trace has rows."""
        if self._changed[predicate] <= max(rows, LEAST_ROWS_TO_PACK):
            return False
        # Deleted rows take memory until then.
        facts = self.facts_table(predicate)
        self._connection.execute(
            f"CREATE OR REPLACE TABLE {facts} AS SELECT * FROM {facts} ORDER BY ALL"
        )
        self._changed[predicate] = 0
        return True


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


def _in_a_column(args: NDArray[np.int32]) -> NDArray[np.int32]:
    """Facts without arguments as rows of one zero."""
    return np.zeros((len(args), 1), np.int32)


def _distinct(args: NDArray[np.int32]) -> NDArray[np.int32]:
    """The distinct rows."""
    keys, _ = consolidate([*args.T], np.ones(len(args), np.int64))
    return np.stack(keys, axis=1).astype(np.int32)
