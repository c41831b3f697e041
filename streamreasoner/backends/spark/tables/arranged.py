"""Arrangements in a Delta table. Invariant: rows of uncommitted epochs are not read.

Every arrangement is a partition: the facts with its constants, in buckets by its key and sorted by
it within a file, so that a probe with few keys reads few pages of few files. Rows are differences:
their sums by fact and iteration are the multiplicities and transitions.

A new program may need other arrangements. Until its first commit, a missing arrangement is read
from one that has all its facts. That commit adds the missing ones and removes those no longer
needed, atomically with the epoch.
"""

from __future__ import annotations

import hashlib
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.queries import sql
from streamreasoner.backends.spark.queries.columns import (
    ARRANGEMENT,
    BUCKET,
    EPOCH,
    ITERATION,
    MULTIPLICITY,
    PREDICATE,
    TRANSITION,
    argument,
    arguments,
    repeated,
    schema,
)
from streamreasoner.backends.spark.queries.patterns import members
from streamreasoner.backends.spark.queries.spark_rows import to_frame
from streamreasoner.backends.spark.queries.sql import condition, quoted
from streamreasoner.backends.spark.tables import table_files
from streamreasoner.backends.spark.tables.bucket_files import UNSPLIT, DataFiles
from streamreasoner.backends.spark.tables.delta_table import DeltaTable
from streamreasoner.backends.spark.tables.places import Places
from streamreasoner.backends.spark.tables.writing import save, sorted_writer
from streamreasoner.errors import StateError
from streamreasoner.state.record import read_spark_note, write_spark_note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, DataFrameWriter

    from streamreasoner.backends.spark.queries.spark_rows import QueryRunner, SparkRows
    from streamreasoner.plan.algebra import Arrangement

_APPLICATION = "streamreasoner"
MANY = 16
"""Files of a bucket that trigger a merge."""
_MERGED = 32  # buckets merged at once; more if there are many files
_FEW_KEYS = 100  # distinct keys of a column that are pushed down to the reader
MOST_UNSPLIT = 1_000_000
"""Most rows of small epochs that are merged into one file for all buckets."""
FEW_FILES = 100
"""Files that a probe names itself; Delta finds larger numbers of files."""


class ArrangedTable:
    """Reads and appends the arranged trace.

    Args:
        runner: Runs the queries, on a session with Delta Lake.
        path: The table's folder, which may not exist yet.
        intern: Gives the id of a term.
        buckets: Number of buckets per arrangement.
    """

    def __init__(
        self,
        runner: QueryRunner,
        path: str,
        intern: Callable[[str], int],
        buckets: int,
    ) -> None:
        self._runner = runner
        self._spark = spark = runner.spark
        self._table = DeltaTable(spark, path)
        self._places = Places(intern, buckets)
        self._frame: DataFrame | None = None
        self._before = 0
        # Arrangements, columns and meaning of the table; and the meaning of an epoch that it has
        # ahead of the trace.
        self._present: tuple[Arrangement, ...] = ()
        self._columns: frozenset[str] = frozenset()
        self._meant = ""
        self._ahead: dict[int, str] = {}
        self._files = DataFiles(self._table)
        self._removed: list[str] = []
        spark.conf.set("spark.sql.parquet.pushdown.inFilterThreshold", _FEW_KEYS)

    def use(self, width: int, arrangements: Sequence[Arrangement], meaning: str) -> None:
        """Choose what to open, and what to maintain from the next commit on.

        Args:
            width: Number of columns of arguments.
            arrangements: All maintained ones, including those of whole facts.
            meaning: Text for whatever else rows depend on; a state of another meaning is not read.
        """
        self._width = width
        self._arrangements = tuple(arrangements)
        names = sorted(map(self._places.name, arrangements))
        text = f"{width} {self._places.buckets} {UNSPLIT} {names} {meaning}"
        self._meaning = hashlib.sha256(text.encode()).hexdigest()

    @property
    def empty(self) -> bool:
        """Whether nothing has been committed."""
        return self._frame is None

    def count(self, arrangement: Arrangement) -> int | None:
        """The number of rows of an arrangement, None if the table does not have it."""
        if arrangement not in self._present:
            return None
        return self._files.count(self._places.name(arrangement))

    def read(
        self, arrangement: Arrangement, keys: pa.Table | None, names: Mapping[int, str]
    ) -> SparkRows | None:
        """The rows of an arrangement, None if there are none.

        Args:
            arrangement: Any; a maintained one needs less reading.
            keys: If given, only rows that have one of them.
            names: Columns of *keys* by position of the fact: the arrangement's key, and possibly
                others.
        """
        source = self._source(arrangement)
        if self._frame is None or source is None:
            return None
        if keys is not None and names:
            keys = keys.select(list(names.values())).rename_columns(list(map(argument, names)))
            keys = keys.group_by(keys.column_names).aggregate([])
        else:
            keys = None
        buckets = None
        if keys is not None and source == arrangement:
            buckets = self._places.of_keys(arrangement, keys)
        if (table := self._local(arrangement, source, buckets)) is not None:
            found = self._runner.from_table(table)
            if keys is None or found.empty:
                return found
            return self._runner.query(
                sql.semijoined(keys.column_names), rows=found, keys=self._runner.from_table(keys)
            )
        if keys is not None and buckets is not None:
            return self._probe(self._frame, arrangement, keys, buckets)
        rows = self._frame.filter(f"{ARRANGEMENT} = {quoted(self._places.name(source))}")
        rows = self._rows(arrangement, rows)
        if source != arrangement:
            rows = rows.filter(
                condition(arrangement.predicate, self._places.constants(arrangement))
            )
        return self._with_keys(rows, keys) if keys is not None else self._runner.from_frame(rows)

    def _local(
        self, arrangement: Arrangement, source: Arrangement, buckets: NDArray[np.int64] | None
    ) -> pa.Table | None:
        """The rows in some buckets of *source*, or in all, that belong to an arrangement.

        None if Spark has to read them: they are many, or not on this machine.
        """
        if not files.readable_here(self._spark, self._table.path):
            return None
        wanted = range(self._places.buckets) if buckets is None else buckets.tolist()
        found = self._files.of(self._places.name(source), wanted)
        if sum(file.rows for file in found) > self._runner.most_rows:
            return None
        form = schema((*arguments(self._width), ITERATION, MULTIPLICITY, TRANSITION))
        table = table_files.read([file.path for file in found], form, self._before)
        name = repeated(arrangement.predicate, table.num_rows, pa.string())
        table = table.add_column(0, PREDICATE, name)
        if source == arrangement:
            return table
        return members(table, arrangement.predicate, self._places.constants(arrangement))

    def _probe(
        self, rows: DataFrame, arrangement: Arrangement, keys: pa.Table, buckets: NDArray[np.int64]
    ) -> SparkRows | None:
        """The rows with these keys in an arrangement of the table, None if there are none."""
        name = self._places.name(arrangement)
        paths = [file.path for file in self._files.of(name, buckets.tolist())]
        if not paths:
            return None
        conditions = [
            f"{column} IN ({_listed(distinct)})"
            for column in self._columns.intersection(keys.column_names)
            if len(distinct := np.unique(keys[column].to_numpy())) <= _FEW_KEYS
        ]
        if len(paths) <= FEW_FILES:
            rows = self._spark.read.schema(self._schema).parquet(*paths)
            conditions.append(f"{EPOCH} < {self._before}")
        else:
            there = f"{BUCKET} IN ({UNSPLIT}, {_listed(buckets)})"
            conditions += [f"{ARRANGEMENT} = {quoted(name)}", there]
        matching = self._rows(arrangement, rows.filter(" AND ".join(conditions)))
        if keys.num_rows > (_FEW_KEYS if keys.num_columns == 1 else 1):
            return self._with_keys(matching, keys)
        return self._runner.from_frame(matching)

    def _with_keys(self, rows: DataFrame, keys: pa.Table) -> SparkRows:
        few = F.broadcast(to_frame(self._spark, keys))
        return self._runner.from_frame(rows.join(few, keys.column_names, "left_semi"))

    def _rows(self, arrangement: Arrangement, rows: DataFrame) -> DataFrame:
        return rows.selectExpr(
            f"{quoted(arrangement.predicate)} AS {PREDICATE}",
            *(self._argument(name) for name in arguments(self._width)),
            ITERATION,
            MULTIPLICITY,
            TRANSITION,
        )

    def missing(self) -> SparkRows | None:
        """The rows of arrangements that the table does not have yet, None if it has all."""
        parts = [
            self._placed(self._runner.consolidated(rows, self._width).frame, (arrangement,))
            for arrangement in self._arrangements
            if self._wider or arrangement not in self._present
            if (rows := self.read(arrangement, None, {})) is not None
        ]
        if not parts:
            return None
        return self._runner.from_frame(reduce(lambda left, right: left.unionAll(right), parts))

    def holds(self, epoch: int) -> bool:
        """Whether the table already has the rows of a coming epoch."""
        return epoch in self._ahead

    def needs(self, epoch: int) -> bool:
        """Whether an epoch must be written now: its program is new, or the table has its rows."""
        return self.holds(epoch) or self._meant not in ("", self._meaning)

    def append(self, rows: SparkRows, epoch: int) -> None:
        """Add the differences of epochs to all arrangements; a second time does nothing.

        Args:
            rows: Facts, iterations, differences of multiplicity and of transition, epochs.
            epoch: The last of them.

        Raises:
            StateError: A process that died wrote the epoch with another program.
        """
        if self._ahead.get(epoch, self._meaning) != self._meaning:
            self.clear()
            raise StateError(
                f"The Spark state already had epoch {epoch}, of another program. It has been "
                "deleted. Restart the process: the state is rebuilt from the trace."
            )
        # The trace has every epoch of the table by now, so no process reads an earlier version.
        self._files.delete(self._removed)
        if not self._ahead and self._meant == self._meaning:
            self._merge(self._before - 1)
        placed = self._placed(rows.frame, self._arrangements)
        if (missing := self.missing()) is not None:
            placed = placed.unionByName(missing.frame.withColumn(EPOCH, F.lit(epoch).cast("long")))
        writer = (
            self._writer(placed, epoch)
            .mode("append")
            .option("mergeSchema", "true")
            .option("txnAppId", _APPLICATION)
            .option("txnVersion", epoch)
        )
        obsolete = [old for old in self._present if self._wider or old not in self._arrangements]
        if obsolete:
            # One commit removes the obsolete partitions and appends to the others.
            names = ", ".join(quoted(self._places.name(arrangement)) for arrangement in obsolete)
            writer = writer.mode("overwrite").option("replaceWhere", f"{ARRANGEMENT} IN ({names})")
        save(self._spark, writer, self._table.path, elsewhere=bool(obsolete))
        self._removed = self._files.follow()
        self._ahead.pop(epoch, None)
        self._read(epoch + 1)

    def _writer(self, rows: DataFrame, epoch: int) -> DataFrameWriter:
        note = write_spark_note(epoch, self._meaning)
        return sorted_writer(
            rows,
            self._width,
            self._arrangements,
            self._places,
            many=self._runner.many,
            note=note,
        )

    def _merge(self, epoch: int) -> None:
        """Merge the latest files of the most fragmented buckets, into one file each.

        The trace has all epochs up to *epoch*, the last, and none of them is rolled back. The
        commit is marked with that epoch, so that a start reads it as the same state.
        """
        most = max(_MERGED, len(self._files) // MANY**2)
        fragmented = self._files.fragmented(MANY)[:most]
        if self._frame is None or not fragmented:
            return
        where = " OR ".join(
            f"({ARRANGEMENT} = {quoted(name)} AND {BUCKET} = {bucket} AND {EPOCH} > {before})"
            for (name, bucket), before in fragmented
        )
        place = (ARRANGEMENT, BUCKET, *arguments(self._width), ITERATION)
        sums = [f"sum({name}) AS {name}" for name in (MULTIPLICITY, TRANSITION)]
        split = [
            arrangement
            for arrangement in self._present
            for (name, bucket), before in fragmented
            if bucket == UNSPLIT
            and name == self._places.name(arrangement)
            and self._files.since(name, before) > MOST_UNSPLIT
        ]
        rows = self._frame.filter(where)
        if split:
            cases = " ".join(
                f"WHEN {BUCKET} = {UNSPLIT}"
                f" AND {ARRANGEMENT} = {quoted(self._places.name(arrangement))}"
                f" THEN {self._places.bucket(arrangement)}"
                for arrangement in split
            )
            rows = rows.withColumn(BUCKET, F.expr(f"CASE {cases} ELSE {BUCKET} END"))
        summed = (
            rows.groupBy(*place)
            .agg(*map(F.expr, sums), F.expr(f"max({EPOCH}) AS {EPOCH}"))
            .filter(f"{MULTIPLICITY} != 0 OR {TRANSITION} != 0")
        )
        writer = self._writer(summed, epoch).mode("overwrite").option("replaceWhere", where)
        with self._runner.for_many():
            # The rows of a split file are in other partitions than they replace.
            save(self._spark, writer, self._table.path, elsewhere=bool(split))
        self._files.delete(self._files.follow())

    def open(self, before: int) -> int:
        """Read the rows of the epochs below *before* from now on.

        Returns:
            The first epoch whose rows are missing; 0 if the table cannot be used: it has another
            meaning, or an epoch later than *before*.

        Raises:
            StateError: It needs Delta features that this version does not read.
        """
        notes = [(at, *read_spark_note(note)) for at, note in reversed(self._table.notes(2))]
        epochs = {epoch: (version, meaning) for version, epoch, meaning in notes}
        last = max((epoch for epoch in epochs if epoch < before), default=-1)
        version, meaning = epochs.get(last, (0, None))
        if meaning != self._meaning or max(epochs) > before:
            return 0
        self._table.check()
        self._read(last + 1, version if before in epochs else None)
        self._ahead = {before: epochs[before][1]} if before in epochs else {}
        self._files.open(version, self._table.read(version))
        return last + 1

    def clear(self) -> None:
        """Delete the table and forget it."""
        self._table.clear()
        self._files, self._removed = DataFiles(self._table), []
        self._frame = None
        self._ahead = {}
        self._present = ()
        self._meant = ""

    def _read(self, before: int, version: int | None = None) -> None:
        # A later version may lack arrangements of an earlier program.
        self._before = before
        self._frame = self._table.read(version).filter(f"{EPOCH} < {before}")
        self._columns = frozenset(self._frame.columns)
        ids = [name for name in arguments(self._width) if name in self._columns]
        longs = (*ids, MULTIPLICITY, TRANSITION, EPOCH)
        self._schema = ", ".join((*(f"{name} BIGINT" for name in longs), f"{ITERATION} INT"))
        self._present, self._meant = self._arrangements, self._meaning

    def bytes(self) -> int:
        """Size of the table's files."""
        return self._files.bytes

    def _source(self, arrangement: Arrangement) -> Arrangement | None:
        """The narrowest arrangement of the table that contains all facts of another."""
        if arrangement in self._present:
            return arrangement
        constants = frozenset(arrangement.constants)
        containing = (
            source
            for source in self._present
            if source.predicate == arrangement.predicate and constants.issuperset(source.constants)
        )
        return max(containing, key=lambda source: len(source.constants), default=None)

    @property
    def _wider(self) -> bool:
        """Whether the program has a wider predicate than the table."""
        return self._frame is not None and argument(self._width - 1) not in self._columns

    def _argument(self, name: str) -> str:
        """SQL for an argument of a row of the table."""
        return name if name in self._columns else f"0L AS {name}"

    def _placed(self, rows: DataFrame, arrangements: Iterable[Arrangement]) -> DataFrame:
        split = self._runner.large
        return self._places.placed(rows, self._width, arrangements, split=split)


def _listed(values: NDArray[np.int64]) -> str:
    return ", ".join(map(str, values.tolist()))
