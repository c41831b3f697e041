"""The state: a Delta table, and recent epochs in the driver. Invariant: both are differences.

Small changes are buffered in the driver and flushed together: a commit of Spark costs as much for
one row as for a thousand. The buffer need not be durable: the trace has its rows, and a start reads
them again. A trace may have merged epochs further back than `TRACE_EPOCHS`, so the table is never
that far behind.

Small arrangements, such as those of a schema, are read once and cached in the driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.spark.queries import relation, sql
from streamreasoner.backends.spark.queries.columns import (
    EPOCH,
    ITERATION,
    MULTIPLICITY,
    TRANSITION,
    fact,
)
from streamreasoner.backends.spark.queries.patterns import members
from streamreasoner.backends.spark.tables.arranged import ArrangedTable
from streamreasoner.engine.updates import TRACE_EPOCHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa

    from streamreasoner.backends.spark.queries.relation import QueryRunner, Relation
    from streamreasoner.plan.algebra import Arrangement

RECENT = 10_000
"""Most rows buffered in the driver."""
EPOCHS = TRACE_EPOCHS // 2
"""Most epochs buffered in the driver."""


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
        self._small: dict[Arrangement, Relation] = {}

    def use(self, width: int, arrangements: Sequence[Arrangement], meaning: str) -> None:
        """Choose what to open, and what to maintain from the next commit on.

        Args:
            width: Number of columns of arguments.
            arrangements: All maintained ones, including those of whole facts.
            meaning: Text for whatever else rows depend on; a state of another meaning is not read.
        """
        if self._recent is not None:
            self._flush(self._runner.from_table(self._recent), self.last)
        self._small.clear()
        self._width = width
        self._columns = (*fact(width), ITERATION, MULTIPLICITY, TRANSITION)
        self._stored.use(width, arrangements, meaning)

    @property
    def empty(self) -> bool:
        """Whether nothing has been committed."""
        return self._recent is None and self._stored.empty

    def read(
        self, arrangement: Arrangement, keys: pa.Table | None, names: Mapping[int, str]
    ) -> list[Relation]:
        """The rows of an arrangement, in parts: some in the driver, some for Spark to read.

        Args:
            arrangement: Any; a maintained one needs less reading.
            keys: If given, rows without these keys may be left out.
            names: Columns of *keys* by position of the fact: the arrangement's key, and possibly
                others.
        """
        parts = [self._members(arrangement, self._recent)] if self._recent is not None else []
        if (cached := self._cached(arrangement)) is not None:
            parts.append(cached)
        elif (rows := self._stored.read(arrangement, keys, names)) is not None:
            parts.append(rows)
        return [part for part in parts if not part.empty]

    def append(self, differences: Relation, epoch: int, *, more: bool = False) -> None:
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
        small = merged.table is not None and len(merged.table) <= RECENT
        if more:
            self._recent = None if merged.empty else merged.arrow()
        elif small and not self._stored.needs(epoch) and epoch < self._written + EPOCHS:
            self._recent = None if merged.empty else merged.table
        else:
            self._flush(merged, epoch)
        self.last = epoch

    def holds(self, epoch: int) -> bool:
        """Whether the table already has a coming epoch, written by a process that died."""
        return self._stored.holds(epoch)

    def missing(self) -> Relation | None:
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
        self._small.clear()

    def bytes(self) -> int:
        """Size of the table's files and of the buffer."""
        return self._stored.bytes() + (self._recent.nbytes if self._recent is not None else 0)

    def _flush(self, rows: Relation, epoch: int) -> None:
        """Write rows that the table lacks."""
        self._stored.append(rows, epoch)
        self._recent, self._written = None, epoch + 1
        small, self._small = self._small, {}
        if rows.table is not None:
            for arrangement, held in small.items():
                self._cache(arrangement, (held, self._members(arrangement, rows.table)))

    def _cached(self, arrangement: Arrangement) -> Relation | None:
        """The rows of an arrangement of the table, None if it is large."""
        if arrangement not in self._small:
            count = self._stored.count(arrangement)
            if count is not None and count <= relation.MAX_DRIVER_ROWS:
                rows = self._stored.read(arrangement, None, {})
                self._cache(arrangement, [] if rows is None else [rows])
        return self._small.get(arrangement)

    def _cache(self, arrangement: Arrangement, parts: Iterable[Relation]) -> None:
        """Cache the rows of an arrangement of the table, if they are few."""
        rows = self._runner.union(parts, self._columns)
        rows = self._runner.collect_if_small(self._runner.consolidated(rows, self._width))
        if rows.table is not None:
            self._small[arrangement] = rows

    def _members(self, arrangement: Arrangement, table: pa.Table) -> Relation:
        """The rows of a table that belong to an arrangement."""
        constants = tuple((p, self._intern(term)) for p, term in arrangement.constants)
        rows = members(table, arrangement.predicate, constants)
        return self._runner.from_table(rows.select(self._columns))
