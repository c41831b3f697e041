"""The state: a Delta table, and recent epochs in the driver. Invariant: both are differences.

Small changes are buffered in the driver and flushed together: a commit of Spark costs as much for
one row as for a thousand. The buffer need not be durable: the trace has its rows, and a start reads
them again. A trace may have merged epochs further back than `TRACE_EPOCHS`, so the table is never
that far behind.

Small arrangements, such as those of a schema, are read once and held in the driver.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from streamreasoner.backends.spark.queries import sql
from streamreasoner.backends.spark.queries.columns import (
    EPOCH,
    ITERATION,
    MULTIPLICITY,
    TRANSITION,
    fact,
    schema,
)
from streamreasoner.backends.spark.queries.patterns import members
from streamreasoner.backends.spark.tables.arranged import ArrangedTable
from streamreasoner.backends.spark.tables.held_rows import HeldRows
from streamreasoner.engine.updates import TRACE_EPOCHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa

    from streamreasoner.backends.spark.queries.spark_rows import QueryRunner, SparkRows
    from streamreasoner.plan.algebra import Arrangement

RECENT = 1_000_000
"""Most rows buffered in the driver, unless fewer fit it."""
EPOCHS = TRACE_EPOCHS // 2
"""Most epochs buffered in the driver."""
MANY = 100_000
"""Rows from which generated code and several tasks pay off in a write."""


class CommittedState:
    """Reads and appends the trace.

    Args:
        runner: Runs the queries.
        path: The table's folder, which may not exist yet.
        intern: Gives the id of a term.
        buckets: Number of buckets per arrangement.

    Attributes:
        last: The last committed epoch, -1 if there is none.
    """

    def __init__(
        self, runner: QueryRunner, path: str, intern: Callable[[str], int], buckets: int
    ) -> None:
        self._runner = runner
        self._stored = ArrangedTable(runner, path, intern, buckets)
        self._intern = intern
        self._recent: pa.Table | None = None
        self.last = -1
        self._written = 0
        # Arrangements in the driver: whole ones, and of others the rows of the buffer.
        self._held: dict[Arrangement, HeldRows] = {}
        self._buffered: dict[Arrangement, HeldRows] = {}

    def use(self, width: int, arrangements: Sequence[Arrangement], meaning: str) -> None:
        """Choose what to open, and what to maintain from the next commit on.

        Args:
            width: Number of columns of arguments.
            arrangements: All maintained ones, including those of whole facts.
            meaning: Text for whatever else rows depend on; a state of another meaning is not read.
        """
        if self._recent is not None:
            self._flush(self._runner.from_table(self._recent), self.last)
        self._forget()
        self._width = width
        self._columns = (*fact(width), ITERATION, MULTIPLICITY, TRANSITION)
        self._stored.use(width, arrangements, meaning)

    @property
    def empty(self) -> bool:
        """Whether nothing has been committed."""
        return self._recent is None and self._stored.empty

    def read(
        self, arrangement: Arrangement, keys: pa.Table | None, names: Mapping[int, str]
    ) -> list[SparkRows]:
        """The rows of an arrangement, in parts: some in the driver, some for Spark to read.

        Args:
            arrangement: Any; a maintained one needs less reading.
            keys: If given, rows without these keys may be left out.
            names: Columns of *keys* by position of the fact: the arrangement's key, and possibly
                others.
        """
        if (held := self._in_driver(arrangement)) is not None:
            parts = [self._runner.from_table(held.probe(keys, names))]
        else:
            if arrangement not in self._buffered:
                self._buffered[arrangement] = self._holding(arrangement, ())
            recent = self._buffered[arrangement].probe(keys, names)
            rows = self._stored.read(arrangement, keys, names)
            parts = [self._runner.from_table(recent), *([] if rows is None else [rows])]
        return [part for part in parts if not part.empty]

    def append(self, differences: SparkRows, epoch: int, *, more: bool = False) -> None:
        """Add the differences of an epoch; a second time does nothing.

        Args:
            differences: Facts, iterations, differences of multiplicity and of transition.
            epoch: The epoch.
            more: Whether more differences of the epoch follow: until then they stay in the driver,
                because the table has all of an epoch or nothing.

        Raises:
            StateError: A process that died wrote the epoch with another program.
        """
        rows = self._runner.query(sql.of_epoch(self._columns, epoch), rows=differences)
        recent = [self._runner.from_table(self._recent)] if self._recent is not None else []
        merged = self._runner.union((*recent, rows), (*self._columns, EPOCH))
        small = merged.table is not None and len(merged.table) <= self._most_recent
        if more:
            self._recent = None if merged.empty else merged.arrow()
        elif small and not self._stored.needs(epoch) and epoch < self._written + EPOCHS:
            self._recent = None if merged.empty else merged.table
        else:
            self._flush(merged, epoch)
        if rows.table is None:
            self._forget()
        else:
            for arrangement, held in (*self._held.items(), *self._buffered.items()):
                held.add(self._members(arrangement, rows.table))
        self.last = epoch

    @property
    def _most_recent(self) -> int:
        return min(RECENT, self._runner.capacity)

    def holds(self, epoch: int) -> bool:
        """Whether the table already has a coming epoch, written by a process that died."""
        return self._stored.holds(epoch)

    def missing(self) -> SparkRows | None:
        """The rows of arrangements that the table does not have yet, None if it has all."""
        return self._stored.missing()

    def open(self, before: int) -> int:
        """Read the rows of the epochs below *before* from now on.

        Returns:
            The first epoch whose rows are missing; 0 if all epochs or too many are missing.
        """
        since = self._stored.open(before)
        self._written = since if before - since <= TRACE_EPOCHS else 0
        self.last = self._written - 1
        return self._written

    def clear(self) -> None:
        """Delete the table and the buffer."""
        self._stored.clear()
        self._recent, self._written = None, 0
        self._forget()

    def _forget(self) -> None:
        """Hold no rows of arrangements any more: they are read when they are looked up."""
        self._held.clear()
        self._buffered.clear()

    def bytes(self) -> int:
        """Size of the table's files and of the buffer."""
        return self._stored.bytes() + (self._recent.nbytes if self._recent is not None else 0)

    def _flush(self, rows: SparkRows, epoch: int) -> None:
        """Write rows that the table lacks."""
        many = rows.table is None or len(rows.table) > MANY
        with self._runner.for_many() if many else nullcontext():
            self._stored.append(rows, epoch)
        self._recent, self._written = None, epoch + 1
        self._buffered.clear()

    def _in_driver(self, arrangement: Arrangement) -> HeldRows | None:
        """All rows of an arrangement, None if they are many."""
        most = self._runner.most_rows
        if arrangement not in self._held:
            count = self._stored.count(arrangement)
            if count is None or count + sum(map(len, self._held.values())) > most:
                return None
            tables = []
            if (rows := self._stored.read(arrangement, None, {})) is not None:
                if (table := self._runner.collect_if_small(rows).table) is None:
                    return None
                tables.append(table)
            self._held[arrangement] = self._holding(arrangement, tables)
            self._buffered.pop(arrangement, None)
        held = self._held[arrangement]
        return held if len(held) <= most else None

    def _holding(self, arrangement: Arrangement, tables: Iterable[pa.Table]) -> HeldRows:
        """Tables of rows of an arrangement, and those of the buffer."""
        held = HeldRows(arrangement, self._summed, schema(self._columns))
        for table in tables:
            held.add(table.select(self._columns))
        if self._recent is not None:
            held.add(self._members(arrangement, self._recent))
        return held

    def _summed(self, tables: Iterable[pa.Table]) -> pa.Table:
        """Rows of tables, summed by fact and iteration."""
        rows = self._runner.union(map(self._runner.from_table, tables), self._columns)
        return self._runner.consolidated(rows, self._width).arrow().select(self._columns)

    def _members(self, arrangement: Arrangement, table: pa.Table) -> pa.Table:
        """The rows of a table that belong to an arrangement."""
        constants = tuple((p, self._intern(term)) for p, term in arrangement.constants)
        return members(table, arrangement.predicate, constants).select(self._columns)
