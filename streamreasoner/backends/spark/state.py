"""The state: a Delta table, and the last epochs in the driver. Invariant: both are differences.

What epochs change by little is kept in the driver until it is more than a little, and is then
written at once: a commit of Spark costs as much for one row as for a thousand. Nothing depends on
those rows: they are in the trace, from which a start takes them again. A trace may have summed up
what is further back than `TRACE_EPOCHS`, so the table is never that far behind.

Arrangements of few rows, as those of a schema are, are read once and stay in the driver too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.spark import relation
from streamreasoner.backends.spark.arranged import ArrangedTable
from streamreasoner.backends.spark.columns import (
    EPOCH,
    ITERATION,
    MULTIPLICITY,
    TRANSITION,
    fact,
)
from streamreasoner.backends.spark.patterns import members
from streamreasoner.collection.updates import TRACE_EPOCHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa

    from streamreasoner.backends.spark.relation import QueryRunner, Relation
    from streamreasoner.plan.algebra import Arrangement

RECENT = 10_000
"""Rows of the last epochs that are in the driver alone."""
EPOCHS = TRACE_EPOCHS // 2
"""Epochs, at most, whose rows are."""


class State:
    """Reads and appends the trace.

    Args:
        runner: Where queries run.
        path: Where the table is, or will be.
        intern: Gives the id of a term.
        buckets: Number of buckets of an arrangement.

    Attributes:
        last: The last epoch.
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
        """Say what to open, and to have from the next commit on.

        Args:
            width: Number of columns of arguments.
            arrangements: All that are maintained, those of whole facts among them.
            meaning: What rows mean besides: a state that means something else is not read.
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
        """The rows of an arrangement, in parts: what is in the driver, and what Spark is to read.

        Args:
            arrangement: Any; those that are maintained take less reading.
            keys: If given, rows may be left out that do not have these keys.
            names: Columns of *keys* by position of the fact: those of the arrangement's key, and
                maybe others.
        """
        parts = [self._members(arrangement, self._recent)] if self._recent is not None else []
        if (few := self._few(arrangement)) is not None:
            parts.append(few)
        elif (rows := self._stored.read(arrangement, keys, names)) is not None:
            parts.append(rows)
        return [part for part in parts if not part.empty]

    def append(self, differences: Relation, epoch: int) -> None:
        """Add the differences of an epoch; a second time does nothing.

        Args:
            differences: Facts, iterations, differences of multiplicity and of transition.
            epoch: The epoch.

        Raises:
            StateError: It is there from a process that died, but with another program.
        """
        rows = self._runner.query(
            f"SELECT {', '.join(self._columns)}, CAST({epoch} AS BIGINT) AS {EPOCH} FROM rows",
            rows=differences,
        )
        recent = [self._runner.from_table(self._recent)] if self._recent is not None else []
        together = self._runner.union((*recent, rows), (*self._columns, EPOCH))
        small = together.table is not None and len(together.table) <= RECENT
        if small and not self._stored.needs(epoch) and epoch < self._written + EPOCHS:
            self._recent = None if together.empty else together.table
        else:
            self._flush(together, epoch)
        self.last = epoch

    def holds(self, epoch: int) -> bool:
        """Whether the table has an epoch that is to come, from a process that died."""
        return self._stored.holds(epoch)

    def missing(self) -> Relation | None:
        """The rows of arrangements that the table does not have yet, None if it has all."""
        return self._stored.missing()

    def open(self, before: int) -> int:
        """Read the rows of the epochs below *before* from now on.

        Returns:
            The first epoch whose rows are missing; 0 if all are, or if too many are.
        """
        since = self._stored.open(before)
        self._written = since if before - since <= TRACE_EPOCHS else 0
        self.last = self._written - 1
        return self._written

    def clear(self) -> None:
        """Forget everything."""
        self._stored.clear()
        self._recent, self._written = None, 0
        self._small.clear()

    def bytes(self) -> int:
        """Size of the table's files, and of what is in the driver alone."""
        return self._stored.bytes() + (self._recent.nbytes if self._recent is not None else 0)

    def _flush(self, rows: Relation, epoch: int) -> None:
        """Write what is not in the table yet."""
        self._stored.append(rows, epoch)
        self._recent, self._written = None, epoch + 1
        small, self._small = self._small, {}
        if rows.table is not None:
            for arrangement, held in small.items():
                self._keep(arrangement, (held, self._members(arrangement, rows.table)))

    def _few(self, arrangement: Arrangement) -> Relation | None:
        """The rows of an arrangement of the table, None if they are many."""
        if arrangement not in self._small:
            count = self._stored.count(arrangement)
            if count is not None and count <= relation.MAX_DRIVER_ROWS:
                rows = self._stored.read(arrangement, None, {})
                self._keep(arrangement, [] if rows is None else [rows])
        return self._small.get(arrangement)

    def _keep(self, arrangement: Arrangement, parts: Iterable[Relation]) -> None:
        """Remember the rows of an arrangement of the table."""
        rows = self._runner.union(parts, self._columns)
        found = self._runner.collect_if_small(self._runner.consolidated(rows, self._width))
        if found.table is not None:
            self._small[arrangement] = found

    def _members(self, arrangement: Arrangement, table: pa.Table) -> Relation:
        """The rows of a table that belong to an arrangement."""
        constants = tuple((p, self._intern(term)) for p, term in arrangement.constants)
        found = members(table, arrangement.predicate, constants)
        return self._runner.from_table(found.select(self._columns))
