"""The state in a Delta table. Invariant: rows of epochs that are not committed yet are not read.

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
    fact,
)
from streamreasoner.backends.spark.datafiles import DataFiles
from streamreasoner.backends.spark.patterns import condition, quoted
from streamreasoner.errors import StateError
from streamreasoner.plan.algebra import Arrangement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

    from streamreasoner.backends.spark.patterns import Constants

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
_ONLY_REPLACED = "spark.databricks.delta.replaceWhere.constraintCheck.enabled"


def primary(predicate: str, arity: int) -> Arrangement:
    """The arrangement in which every fact of a predicate is."""
    return Arrangement(predicate, (), (0,) if arity > 0 else ())


def consolidated(rows: DataFrame, width: int) -> DataFrame:
    """Differences summed by fact and iteration, those that come to something."""
    return (
        rows.groupBy(*fact(width), ITERATION)
        .agg(F.sum(MULTIPLICITY).alias(MULTIPLICITY), F.sum(TRANSITION).alias(TRANSITION))
        .filter(f"{MULTIPLICITY} != 0 OR {TRANSITION} != 0")
    )


class State:
    """Reads and appends the arranged trace.

    Args:
        spark: The session, with Delta Lake.
        path: Where the table is, or will be.
        intern: Gives the id of a term.
        buckets: Number of buckets of an arrangement.
    """

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        intern: Callable[[str], int],
        buckets: int,
    ) -> None:
        self._spark = spark
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
        self._ahead: str | None = None
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

    def read(
        self, arrangement: Arrangement, keys: pa.Table | None, names: Sequence[str]
    ) -> DataFrame | None:
        """The rows of an arrangement, None if there are none.

        Args:
            arrangement: Any; those that are maintained take less reading.
            keys: If given, only buckets are read that have these keys, and maybe others.
            names: Columns of *keys*, in the order of the arrangement's key.
        """
        source = self._source(arrangement)
        if self._frame is None or source is None:
            return None
        name = self._name(source)
        if keys is None or source != arrangement:
            rows = self._rows(arrangement, self._frame.filter(f"{ARRANGEMENT} = {quoted(name)}"))
            if source != arrangement:
                rows = rows.filter(condition(arrangement.predicate, self._constants(arrangement)))
            return rows
        found = np.zeros(keys.num_rows, np.int64)
        wanted = []
        for position, column in zip(arrangement.key, names, strict=True):
            values = keys[column].to_numpy()
            found = found * _WEIGHT + values
            if len(distinct := np.unique(values)) <= _FEW_KEYS:
                wanted.append(f"{argument(position)} IN ({_listed(distinct) or 'NULL'})")
        buckets = np.unique(found % self._buckets)
        paths = self._files.of(name, buckets.tolist())
        if not paths:
            return None
        if len(paths) <= FEW_FILES:
            rows = self._spark.read.schema(self._schema).parquet(*paths)
            wanted.append(f"{EPOCH} < {self._before}")
        else:
            rows = self._frame
            wanted += [f"{ARRANGEMENT} = {quoted(name)}", f"{BUCKET} IN ({_listed(buckets)})"]
        return self._rows(arrangement, rows.filter(" AND ".join(wanted)))

    def _rows(self, arrangement: Arrangement, rows: DataFrame) -> DataFrame:
        return rows.selectExpr(
            f"{quoted(arrangement.predicate)} AS {PREDICATE}",
            *(self._argument(name) for name in arguments(self._width)),
            ITERATION,
            MULTIPLICITY,
            TRANSITION,
        )

    def missing(self) -> DataFrame | None:
        """The rows of arrangements that the table does not have yet, None if it has all."""
        parts = [
            self._placed(consolidated(rows, self._width), (one,))
            for one in self._arrangements
            if self._wider or one not in self._kept
            if (rows := self.read(one, None, ())) is not None
        ]
        return reduce(lambda one, other: one.unionAll(other), parts) if parts else None

    def append(self, rows: DataFrame, epoch: int) -> None:
        """Add the differences of an epoch to all arrangements; a second time does nothing.

        Args:
            rows: Facts, iterations, differences of multiplicity and of transition.
            epoch: The epoch.

        Raises:
            StateError: It is there from a process that died, but with another program.
        """
        if self._ahead not in (None, self._meaning):
            self.clear()
            raise StateError(
                f"The Spark state had epoch {epoch} already, with another program than it has now. "
                "It is deleted. Start again: it is built from the trace."
            )
        # The epoch before is the trace's by now: nobody goes back behind it.
        self._files.delete(self._gone)
        if self._ahead is None and self._meant == self._meaning:
            self._merge(epoch - 1)
        placed = self._placed(rows, self._arrangements)
        if (missing := self.missing()) is not None:
            placed = placed.unionAll(missing)
        writer = (
            self._writer(placed.withColumn(EPOCH, F.lit(epoch).cast("long")), epoch)
            .mode("append")
            .option("mergeSchema", "true")
            .option("txnAppId", _APPLICATION)
            .option("txnVersion", epoch)
        )
        gone = [one for one in self._kept if self._wider or one not in self._arrangements]
        if gone:
            # One commit takes away what is gone and appends the rest, which is somewhere else.
            self._spark.conf.set(_ONLY_REPLACED, "false")
            names = ", ".join(quoted(self._name(one)) for one in gone)
            writer = writer.mode("overwrite").option("replaceWhere", f"{ARRANGEMENT} IN ({names})")
        self._write(writer)
        self._gone = self._files.follow()
        self._read(epoch + 1)

    def _writer(self, rows: DataFrame, epoch: int) -> DataFrameWriter:
        """Writes placed rows, those of a bucket to one file in order of their key."""
        keys = " ".join(
            f"WHEN {quoted(self._name(one))} THEN {argument(one.key[0])}"
            for one in self._arrangements
            if one.key
        )
        order = F.expr(f"CASE {ARRANGEMENT} {keys} ELSE 0 END" if keys else "0")
        return (
            rows.withColumn(_ORDER, order)
            .repartition(ARRANGEMENT, BUCKET)
            .sortWithinPartitions(ARRANGEMENT, BUCKET, _ORDER, *arguments(self._width), ITERATION)
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
        crowded = self._files.crowded(MANY)[:most]
        if self._frame is None or not crowded:
            return
        where = " OR ".join(
            f"({ARRANGEMENT} = {quoted(name)} AND {BUCKET} = {bucket} AND {EPOCH} > {before})"
            for (name, bucket), before in crowded
        )
        place = (ARRANGEMENT, BUCKET, *arguments(self._width), ITERATION)
        sums = [f"sum({name}) AS {name}" for name in (MULTIPLICITY, TRANSITION)]
        summed = (
            self._frame.filter(where)
            .groupBy(*place)
            .agg(*map(F.expr, sums), F.expr(f"max({EPOCH}) AS {EPOCH}"))
            .filter(f"{MULTIPLICITY} != 0 OR {TRANSITION} != 0")
        )
        self._write(self._writer(summed, epoch).mode("overwrite").option("replaceWhere", where))
        self._files.delete(self._files.follow())

    def _write(self, writer: DataFrameWriter) -> None:
        for name, value in _LAYOUT.items():
            self._spark.conf.set(name, value)
        try:
            writer.save(self._path)
        finally:
            # What a step writes is read as a whole.
            for name in _LAYOUT:
                self._spark.conf.unset(name)

    def open(self, before: int) -> bool:
        """Read the state of the epochs below *before* from now on.

        Returns:
            Whether there is one: of the same meaning, with the epoch before, and with no later one
            but that which a process that died was about to finish.
        """
        if not files.exists(self._spark, f"{self._path}/_delta_log"):
            return False
        found = self._spark.sql(f"DESCRIBE HISTORY delta.`{self._path}` LIMIT 2").collect()
        notes = [(one.version, *one.userMetadata.split()) for one in found if one.userMetadata]
        commits = {int(epoch): (version, meaning) for version, epoch, meaning in reversed(notes)}
        version, meaning = commits.get(before - 1, (0, None))
        if meaning != self._meaning or max(commits) > before:
            return False
        self._read(before, version if before in commits else None)
        _, self._ahead = commits.get(before, (0, None))
        self._files.open(version, self._table(version))
        return True

    def clear(self) -> None:
        """Forget everything."""
        files.delete(self._spark, self._path)
        self._files, self._gone = DataFiles(self._spark, self._path), []
        self._frame = self._ahead = None
        self._kept = ()

    def _read(self, before: int, version: int | None = None) -> None:
        # A later version may lack arrangements that the program of an earlier one has.
        self._before = before
        self._frame = self._table(version).filter(f"{EPOCH} < {before}")
        self._columns = frozenset(self._frame.columns)
        ids = [name for name in arguments(self._width) if name in self._columns]
        longs = (*ids, MULTIPLICITY, TRANSITION, EPOCH)
        self._schema = ", ".join((*(f"{name} BIGINT" for name in longs), f"{ITERATION} INT"))
        self._kept, self._meant, self._ahead = self._arrangements, self._meaning, None

    def _table(self, version: int | None = None) -> DataFrame:
        """Rows of all epochs, in the last version or another."""
        reader = self._spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(self._path)

    def bytes(self) -> int:
        """Size of the table's files."""
        if self._frame is None:
            return 0
        found = self._spark.sql(f"DESCRIBE DETAIL delta.`{self._path}`").collect()
        return int(found[0].sizeInBytes)

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
        return rows.selectExpr(
            *columns, f"explode(filter(array({places}), x -> x IS NOT NULL)) AS place"
        ).selectExpr(f"place.{ARRANGEMENT}", f"place.{BUCKET}", *columns)

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


def _listed(values: NDArray[np.int64]) -> str:
    return ", ".join(map(str, values.tolist()))
