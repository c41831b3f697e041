"""Arranged rows in a Delta table. Invariant: rows of epochs not committed yet are not read.

Every arrangement is a partition: the facts that have its constants, in buckets by its key, so that
a probe with few keys reads few files, and of each the few pages that have them: rows are in order
of the key. Rows are differences: the sums by fact and iteration are the multiplicities and
transitions. A bucket is a weighted sum of ids, which are dense, so driver and executors agree on it
without a hash function that both would have to have.

A program that follows another may have other arrangements. Until the first commit with it, what is
not there yet is read from an arrangement that has all its facts; that commit adds the one and takes
away what is needed no more, at once with the epoch.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.columns import (
    ARRANGEMENT,
    BUCKET,
    EPOCH,
    ITERATION,
    MULTIPLICITY,
    PREDICATE,
    TRANSITION,
    argument,
    arguments,
)
from streamreasoner.backends.spark.datafiles import DataFiles
from streamreasoner.backends.spark.patterns import condition, quoted
from streamreasoner.backends.spark.relation import to_frame
from streamreasoner.errors import StateError
from streamreasoner.plan.algebra import Arrangement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

    from streamreasoner.backends.spark.patterns import Constants
    from streamreasoner.backends.spark.relation import QueryRunner, Relation

_WEIGHT = 31
_APPLICATION = "streamreasoner"
_ORDER = "order"
MANY = 16
"""Files of a bucket that are merged."""
_MERGED = 32  # buckets that are merged at once; more if there are many files
_FEW_KEYS = 100  # of a column, to be looked for page by page
FEW_FILES = 100
"""Files that are named one by one; more are found by Delta."""
_LAYOUT = {
    # Small pages, none of which needs a dictionary that is as large as all of them.
    "parquet.page.row.count.limit": "2000",
    "parquet.writer.version": "v2",
    "parquet.enable.dictionary": "false",
}
"""Settings of writing, which Delta takes from the session only."""

_PROPERTIES = {
    # The log is read at every commit, so it says little of a file, and nothing of the past.
    "delta.dataSkippingStatsColumns": EPOCH,
    "delta.logRetentionDuration": "interval 1 hour",
}
"""Properties of the table, once it is made."""
ONLY_REPLACED = "spark.databricks.delta.replaceWhere.constraintCheck.enabled"


def primary(predicate: str, arity: int) -> Arrangement:
    """The arrangement in which every fact of a predicate is."""
    return Arrangement(predicate, (), (0,) if arity > 0 else ())


class ArrangedTable:
    """Reads and appends the arranged trace.

    Args:
        runner: Of a session with Delta Lake.
        path: Where the table is, or will be.
        intern: Gives the id of a term.
        buckets: Number of buckets of an arrangement.
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
        self._path = path
        self._buckets = buckets
        self._intern = intern
        self._frame: DataFrame | None = None
        self._before = 0
        # What the table has: its arrangements, their columns and meaning; and what an epoch means
        # that it has already.
        self._kept: tuple[Arrangement, ...] = ()
        self._columns: frozenset[str] = frozenset()
        self._meant = ""
        self._ahead: dict[int, str] = {}
        self._files = DataFiles(spark, path)
        self._gone: list[str] = []
        spark.conf.set("spark.sql.parquet.pushdown.inFilterThreshold", _FEW_KEYS)

    def use(self, width: int, arrangements: Sequence[Arrangement], meaning: str) -> None:
        """Say what to open, and to have from the next commit on.

        Args:
            width: Number of columns of arguments.
            arrangements: All that are maintained, those of whole facts among them.
            meaning: What rows mean besides: a state that means something else is not read.
        """
        self._width = width
        self._arrangements = tuple(arrangements)
        names = sorted(map(self._name, arrangements))
        text = f"{width} {self._buckets} {names} {meaning}"
        self._meaning = hashlib.sha256(text.encode()).hexdigest()

    @property
    def empty(self) -> bool:
        """Whether nothing has been committed."""
        return self._frame is None

    def count(self, arrangement: Arrangement) -> int | None:
        """The number of rows of an arrangement, None if it is not one of the table's."""
        if arrangement not in self._kept:
            return None
        return self._files.count(self._name(arrangement))

    def read(
        self, arrangement: Arrangement, keys: pa.Table | None, names: Mapping[int, str]
    ) -> Relation | None:
        """The rows of an arrangement, None if there are none.

        Args:
            arrangement: Any; those that are maintained take less reading.
            keys: If given, only rows that have one of them.
            names: Columns of *keys* by position of the fact: those of the arrangement's key, and
                maybe others.
        """
        source = self._source(arrangement)
        if self._frame is None or source is None:
            return None
        if keys is not None and names:
            keys = keys.select(list(names.values())).rename_columns(list(map(argument, names)))
            keys = keys.group_by(keys.column_names).aggregate([])
        else:
            keys = None
        if keys is not None and source == arrangement:
            return self._probe(self._frame, arrangement, keys)
        rows = self._frame.filter(f"{ARRANGEMENT} = {quoted(self._name(source))}")
        found = self._rows(arrangement, rows)
        if source != arrangement:
            found = found.filter(condition(arrangement.predicate, self._constants(arrangement)))
        return self._with_keys(found, keys) if keys is not None else self._runner.from_frame(found)

    def _probe(self, rows: DataFrame, arrangement: Arrangement, keys: pa.Table) -> Relation | None:
        """The rows of one of the table's arrangements with one of some keys, None if none has."""
        name = self._name(arrangement)
        buckets = np.zeros(keys.num_rows, np.int64)
        for position in arrangement.key:
            buckets = buckets * _WEIGHT + keys[argument(position)].to_numpy()
        buckets = np.unique(buckets % self._buckets)
        paths = self._files.of(name, buckets.tolist())
        if not paths:
            return None
        wanted = [
            f"{column} IN ({_listed(distinct)})"
            for column in self._columns.intersection(keys.column_names)
            if len(distinct := np.unique(keys[column].to_numpy())) <= _FEW_KEYS
        ]
        if len(paths) <= FEW_FILES:
            rows = self._spark.read.schema(self._schema).parquet(*paths)
            wanted.append(f"{EPOCH} < {self._before}")
        else:
            wanted += [f"{ARRANGEMENT} = {quoted(name)}", f"{BUCKET} IN ({_listed(buckets)})"]
        found = self._rows(arrangement, rows.filter(" AND ".join(wanted)))
        if keys.num_rows > (_FEW_KEYS if keys.num_columns == 1 else 1):
            return self._with_keys(found, keys)
        return self._runner.from_frame(found)

    def _with_keys(self, rows: DataFrame, keys: pa.Table) -> Relation:
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

    def missing(self) -> Relation | None:
        """The rows of arrangements that the table does not have yet, None if it has all."""
        parts = [
            self._placed(self._runner.consolidated(rows, self._width).frame, (one,))
            for one in self._arrangements
            if self._wider or one not in self._kept
            if (rows := self.read(one, None, {})) is not None
        ]
        if not parts:
            return None
        return self._runner.from_frame(reduce(lambda one, other: one.unionAll(other), parts))

    def holds(self, epoch: int) -> bool:
        """Whether the table has the rows of an epoch that is to come."""
        return epoch in self._ahead

    def needs(self, epoch: int) -> bool:
        """Whether an epoch cannot wait: its program is new, or the table has its rows already."""
        return self.holds(epoch) or self._meant not in ("", self._meaning)

    def append(self, rows: Relation, epoch: int) -> None:
        """Add the differences of epochs to all arrangements; a second time does nothing.

        Args:
            rows: Facts, iterations, differences of multiplicity and of transition, epochs.
            epoch: The last of them.

        Raises:
            StateError: It is there from a process that died, but with another program.
        """
        if self._ahead.get(epoch, self._meaning) != self._meaning:
            self.clear()
            raise StateError(
                f"The Spark state had epoch {epoch} already, with another program than it has now. "
                "It is deleted. Restart the process: the state is built from the trace."
            )
        # What the table has is the trace's too by now: nobody goes back behind it.
        self._files.delete(self._gone)
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
        gone = [one for one in self._kept if self._wider or one not in self._arrangements]
        settings = _LAYOUT
        if gone:
            # One commit takes away what is gone and appends the rest, which is somewhere else.
            settings = {**_LAYOUT, ONLY_REPLACED: "false"}
            names = ", ".join(quoted(self._name(one)) for one in gone)
            writer = writer.mode("overwrite").option("replaceWhere", f"{ARRANGEMENT} IN ({names})")
        with _set(self._spark, settings):
            writer.save(self._path)
        self._gone = self._files.follow()
        self._ahead.pop(epoch, None)
        self._read(epoch + 1)

    def _writer(self, rows: DataFrame, epoch: int) -> DataFrameWriter:
        """Writes placed rows, those of a bucket in order of their key: to one file if they are few.

        A bucket may have most rows of all, as that of a frequent class has. If Spark plans for
        many, it has such a bucket written by several tasks.
        """
        keys = " ".join(
            f"WHEN {quoted(self._name(one))} THEN {argument(one.key[0])}"
            for one in self._arrangements
            if one.key
        )
        order = F.expr(f"CASE {ARRANGEMENT} {keys} ELSE 0 END" if keys else "0")
        ordered = rows.withColumn(_ORDER, order)
        together = (
            ordered.hint("rebalance", F.col(ARRANGEMENT), F.col(BUCKET))
            if self._runner.many
            else ordered.repartition(ARRANGEMENT, BUCKET)
        )
        return (
            together.sortWithinPartitions(
                ARRANGEMENT, BUCKET, _ORDER, *arguments(self._width), ITERATION
            )
            .drop(_ORDER)
            .write.format("delta")
            .partitionBy(ARRANGEMENT, BUCKET)
            .option("userMetadata", f"{epoch} {self._meaning}")
            .options(**_PROPERTIES)
        )

    def _merge(self, epoch: int) -> None:
        """Sum the rows of the latest files of the buckets with most of them, into one file each.

        All epochs up to *epoch*, the last, are the trace's too, and none of them is taken back. The
        commit is marked as of that epoch, so that a start takes it for the same state.
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
        summed = (
            self._frame.filter(where)
            .groupBy(*place)
            .agg(*map(F.expr, sums), F.expr(f"max({EPOCH}) AS {EPOCH}"))
            .filter(f"{MULTIPLICITY} != 0 OR {TRANSITION} != 0")
        )
        writer = self._writer(summed, epoch).mode("overwrite").option("replaceWhere", where)
        with self._runner.for_many(), _set(self._spark, _LAYOUT):
            writer.save(self._path)
        self._files.delete(self._files.follow())

    def open(self, before: int) -> int:
        """Read the rows of the epochs below *before* from now on.

        Returns:
            The first epoch whose rows are not there; 0 if there are none: the table is of another
            meaning, or has a later epoch than one that a process that died was about to finish.
        """
        if not files.exists(self._spark, f"{self._path}/_delta_log"):
            return 0
        found = self._spark.sql(f"DESCRIBE HISTORY delta.`{self._path}` LIMIT 2").collect()
        notes = [(one.version, *one.userMetadata.split()) for one in found if one.userMetadata]
        commits = {int(epoch): (version, meaning) for version, epoch, meaning in reversed(notes)}
        epoch = max((one for one in commits if one < before), default=-1)
        version, meaning = commits.get(epoch, (0, None))
        if meaning != self._meaning or max(commits) > before:
            return 0
        self._read(epoch + 1, version if before in commits else None)
        self._ahead = {before: commits[before][1]} if before in commits else {}
        self._files.open(version, self._table(version))
        return epoch + 1

    def clear(self) -> None:
        """Forget everything."""
        files.delete(self._spark, self._path)
        self._files, self._gone = DataFiles(self._spark, self._path), []
        self._frame = None
        self._ahead = {}
        self._kept = ()
        self._meant = ""

    def _read(self, before: int, version: int | None = None) -> None:
        # A later version may lack arrangements that the program of an earlier one has.
        self._before = before
        self._frame = self._table(version).filter(f"{EPOCH} < {before}")
        self._columns = frozenset(self._frame.columns)
        ids = [name for name in arguments(self._width) if name in self._columns]
        longs = (*ids, MULTIPLICITY, TRANSITION, EPOCH)
        self._schema = ", ".join((*(f"{name} BIGINT" for name in longs), f"{ITERATION} INT"))
        self._kept, self._meant = self._arrangements, self._meaning

    def _table(self, version: int | None = None) -> DataFrame:
        """Rows of all epochs, in the last version or another."""
        reader = self._spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(self._path)

    def bytes(self) -> int:
        """Size of the table's files."""
        return self._files.bytes

    def _source(self, arrangement: Arrangement) -> Arrangement | None:
        """An arrangement in the table that has all facts of another, few others if possible."""
        if arrangement in self._kept:
            return arrangement
        wanted = frozenset(arrangement.constants)
        able = (
            one
            for one in self._kept
            if one.predicate == arrangement.predicate and wanted.issuperset(one.constants)
        )
        return max(able, key=lambda one: len(one.constants), default=None)

    @property
    def _wider(self) -> bool:
        """Whether the program has a wider predicate than the table."""
        return self._frame is not None and argument(self._width - 1) not in self._columns

    def _argument(self, name: str) -> str:
        """SQL for an argument of a row of the table."""
        return name if name in self._columns else f"0L AS {name}"

    def _placed(self, rows: DataFrame, arrangements: Iterable[Arrangement]) -> DataFrame:
        """Rows as the table has them, in each arrangement that they are members of."""
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
        """SQL for where a row belongs in an arrangement, null if it is not a member."""
        constants = self._constants(arrangement)
        bucket = reduce(
            lambda one, position: f"({one} * {_WEIGHT} + {argument(position)})",
            arrangement.key,
            "0L",
        )
        return (
            f"CASE WHEN {condition(arrangement.predicate, constants)} THEN"
            f" named_struct('{ARRANGEMENT}', {quoted(self._name(arrangement))},"
            f" '{BUCKET}', CAST(pmod({bucket}, {self._buckets}) AS INT)) END"
        )

    def _name(self, arrangement: Arrangement) -> str:
        """How an arrangement is called; constants by id, as terms would not do in paths."""
        constants = "".join(f"-{p}.{term}" for p, term in self._constants(arrangement))
        key = "".join(f"+{position}" for position in arrangement.key)
        return f"{arrangement.predicate}{constants}{key}"


@contextmanager
def _set(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Give a session settings for one write: what a step writes is read as a whole."""
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
