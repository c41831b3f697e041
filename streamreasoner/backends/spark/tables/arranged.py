"""Arrangements in a Delta table. Invariant: rows of uncommitted epochs are not read.

Every arrangement is a partition: the facts with its constants, in buckets by its key and sorted by
it within a file, so that a probe with few keys reads few pages of few files. Rows are differences:
their sums by fact and iteration are the multiplicities and transitions. A bucket is a weighted sum
of ids, which are dense, so driver and executors need not share a hash function.

A new program may need other arrangements. Until its first commit, a missing arrangement is read
from one that has all its facts. That commit adds the missing ones and removes those no longer
needed, atomically with the epoch. Where a fact is stored and where it is looked for must be one
decision, so writing and reading are one module.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
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
from streamreasoner.errors import StateError
from streamreasoner.plan.algebra import Arrangement
from streamreasoner.state.record import read_spark_note, write_spark_note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

    from streamreasoner.backends.spark.queries.spark_rows import QueryRunner, SparkRows
    from streamreasoner.backends.spark.queries.sql import Constants

_WEIGHT = 31
_APPLICATION = "streamreasoner"
_ORDER = "order"
MANY = 16
"""Files of a bucket that trigger a merge."""
_MERGED = 32  # buckets merged at once; more if there are many files
_FEW_KEYS = 100  # distinct keys of a column that are pushed down to the reader
MOST_UNSPLIT = 1_000_000
"""Most rows of small epochs that are merged into one file for all buckets."""
FEW_FILES = 100
"""Files that a probe names itself; Delta finds larger numbers of files."""
_LAYOUT = {
    # Small pages without a dictionary, which would be as large as all of them.
    "parquet.page.row.count.limit": "2000",
    "parquet.writer.version": "v2",
    "parquet.enable.dictionary": "false",
}
"""Settings for writing, which Delta takes only from the session."""

_PROPERTIES = {
    # The log is read at every commit, so keep few statistics per file and a short past.
    "delta.dataSkippingStatsColumns": EPOCH,
    "delta.logRetentionDuration": "interval 1 hour",
}
"""Properties of the table, set at its creation."""
ONLY_REPLACED = "spark.databricks.delta.replaceWhere.constraintCheck.enabled"


def primary(predicate: str, arity: int) -> Arrangement:
    """The arrangement with every fact of a predicate."""
    return Arrangement(predicate, (), (0,) if arity > 0 else ())


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
        self._buckets = buckets
        self._intern = intern
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
        names = sorted(map(self._name, arrangements))
        text = f"{width} {self._buckets} {UNSPLIT} {names} {meaning}"
        self._meaning = hashlib.sha256(text.encode()).hexdigest()

    @property
    def empty(self) -> bool:
        """Whether nothing has been committed."""
        return self._frame is None

    def count(self, arrangement: Arrangement) -> int | None:
        """The number of rows of an arrangement, None if the table does not have it."""
        if arrangement not in self._present:
            return None
        return self._files.count(self._name(arrangement))

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
            buckets = self._buckets_of(arrangement, keys)
        if (table := self._local(arrangement, source, buckets)) is not None:
            found = self._runner.from_table(table)
            if keys is None or found.empty:
                return found
            return self._runner.query(
                sql.semijoined(keys.column_names), rows=found, keys=self._runner.from_table(keys)
            )
        if keys is not None and buckets is not None:
            return self._probe(self._frame, arrangement, keys, buckets)
        rows = self._frame.filter(f"{ARRANGEMENT} = {quoted(self._name(source))}")
        rows = self._rows(arrangement, rows)
        if source != arrangement:
            rows = rows.filter(condition(arrangement.predicate, self._constants(arrangement)))
        return self._with_keys(rows, keys) if keys is not None else self._runner.from_frame(rows)

    def _buckets_of(self, arrangement: Arrangement, keys: pa.Table) -> NDArray[np.int64]:
        """The buckets of an arrangement that rows with these keys are in."""
        buckets = np.zeros(keys.num_rows, np.int64)
        for position in arrangement.key:
            buckets = buckets * _WEIGHT + keys[argument(position)].to_numpy()
        return np.unique(buckets % self._buckets)

    def _local(
        self, arrangement: Arrangement, source: Arrangement, buckets: NDArray[np.int64] | None
    ) -> pa.Table | None:
        """The rows in some buckets of *source*, or in all, that belong to an arrangement.

        None if Spark has to read them: they are many, or not on this machine.
        """
        if not files.readable_here(self._spark, self._table.path):
            return None
        wanted = range(self._buckets) if buckets is None else buckets.tolist()
        found = self._files.of(self._name(source), wanted)
        if sum(file.rows for file in found) > self._runner.most_rows:
            return None
        form = schema((*arguments(self._width), ITERATION, MULTIPLICITY, TRANSITION))
        table = table_files.read([file.path for file in found], form, self._before)
        name = repeated(arrangement.predicate, table.num_rows, pa.string())
        table = table.add_column(0, PREDICATE, name)
        if source == arrangement:
            return table
        return members(table, arrangement.predicate, self._constants(arrangement))

    def _probe(
        self, rows: DataFrame, arrangement: Arrangement, keys: pa.Table, buckets: NDArray[np.int64]
    ) -> SparkRows | None:
        """The rows with these keys in an arrangement of the table, None if there are none."""
        name = self._name(arrangement)
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
        settings = _LAYOUT
        if obsolete:
            # One commit removes the obsolete partitions and appends to the others.
            settings = {**_LAYOUT, ONLY_REPLACED: "false"}
            names = ", ".join(quoted(self._name(arrangement)) for arrangement in obsolete)
            writer = writer.mode("overwrite").option("replaceWhere", f"{ARRANGEMENT} IN ({names})")
        with _set(self._spark, settings):
            writer.save(self._table.path)
        self._removed = self._files.follow()
        self._ahead.pop(epoch, None)
        self._read(epoch + 1)

    def _writer(self, rows: DataFrame, epoch: int) -> DataFrameWriter:
        """A writer of placed rows, sorted by key within a bucket, one file per bucket if few.

        One bucket, such as that of a frequent class, may have most of the rows. If Spark plans for
        many rows, several tasks write such a bucket.
        """
        keys = " ".join(
            f"WHEN {quoted(self._name(arrangement))} THEN {argument(arrangement.key[0])}"
            for arrangement in self._arrangements
            if arrangement.key
        )
        order = F.expr(f"CASE {ARRANGEMENT} {keys} ELSE 0 END" if keys else "0")
        ordered = rows.withColumn(_ORDER, order)
        shuffled = (
            ordered.hint("rebalance", F.col(ARRANGEMENT), F.col(BUCKET))
            if self._runner.many
            else ordered.repartition(ARRANGEMENT, BUCKET)
        )
        return (
            shuffled.sortWithinPartitions(
                ARRANGEMENT, BUCKET, _ORDER, *arguments(self._width), ITERATION
            )
            .drop(_ORDER)
            .write.format("delta")
            .partitionBy(ARRANGEMENT, BUCKET)
            .option("userMetadata", write_spark_note(epoch, self._meaning))
            .options(**_PROPERTIES)
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
            and name == self._name(arrangement)
            and self._files.since(name, before) > MOST_UNSPLIT
        ]
        rows = self._frame.filter(where)
        if split:
            cases = " ".join(
                f"WHEN {BUCKET} = {UNSPLIT} AND {ARRANGEMENT} = {quoted(self._name(arrangement))}"
                f" THEN {self._bucket(arrangement)}"
                for arrangement in split
            )
            rows = rows.withColumn(BUCKET, F.expr(f"CASE {cases} ELSE {BUCKET} END"))
        summed = (
            rows.groupBy(*place)
            .agg(*map(F.expr, sums), F.expr(f"max({EPOCH}) AS {EPOCH}"))
            .filter(f"{MULTIPLICITY} != 0 OR {TRANSITION} != 0")
        )
        writer = self._writer(summed, epoch).mode("overwrite").option("replaceWhere", where)
        # The rows of a split file are in other partitions than they replace.
        settings = {**_LAYOUT, ONLY_REPLACED: "false"} if split else _LAYOUT
        with self._runner.for_many(), _set(self._spark, settings):
            writer.save(self._table.path)
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
        """Rows as the table stores them, once for each arrangement that they belong to."""
        places = ", ".join(map(self._place, arrangements))
        columns = (*arguments(self._width), ITERATION, MULTIPLICITY, TRANSITION)
        columns += (EPOCH,) if EPOCH in rows.columns else ()
        return (
            rows.selectExpr(*columns, f"explode(array({places})) AS place")
            .filter("place IS NOT NULL")
            .selectExpr(f"place.{ARRANGEMENT}", f"place.{BUCKET}", *columns)
        )

    def _constants(self, arrangement: Arrangement) -> Constants:
        return tuple((p, self._intern(term)) for p, term in arrangement.constants)

    def _place(self, arrangement: Arrangement) -> str:
        """SQL for a row's place in an arrangement, null if it does not belong to it."""
        constants = self._constants(arrangement)
        bucket = self._bucket(arrangement) if self._runner.large else str(UNSPLIT)
        return (
            f"CASE WHEN {condition(arrangement.predicate, constants)} THEN"
            f" named_struct('{ARRANGEMENT}', {quoted(self._name(arrangement))},"
            f" '{BUCKET}', {bucket}) END"
        )

    def _bucket(self, arrangement: Arrangement) -> str:
        """SQL for a row's bucket in an arrangement."""
        weighted = reduce(
            lambda total, position: f"({total} * {_WEIGHT} + {argument(position)})",
            arrangement.key,
            "0L",
        )
        return f"CAST(pmod({weighted}, {self._buckets}) AS INT)"

    def _name(self, arrangement: Arrangement) -> str:
        """The name of an arrangement, with ids for constants: terms are not valid in paths."""
        constants = "".join(f"-{p}.{term}" for p, term in self._constants(arrangement))
        key = "".join(f"+{position}" for position in arrangement.key)
        return f"{arrangement.predicate}{constants}{key}"


@contextmanager
def _set(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session for one write; intermediate files need no such layout."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)


def _listed(values: NDArray[np.int64]) -> str:
    return ", ".join(map(str, values.tolist()))
