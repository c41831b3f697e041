"""The state in a Delta table. Invariant: rows of epochs that are not committed yet are not read.

Every arrangement is a partition: the facts that have its constants, in buckets by its key, so that
a probe with few keys reads few files, and of each the few pages that have them: rows are in order
of the key. Rows are differences: the sums by fact and iteration are the multiplicities and
transitions. A bucket is a weighted sum of ids, which are dense, so driver and executors agree on it
without a hash function that both would have to have.
"""

from __future__ import annotations

import hashlib
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql.functions import expr

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
from streamreasoner.plan.algebra import Arrangement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

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
    "spark.sql.parquet.pushdown.inFilterThreshold": str(_FEW_KEYS),
}

_PROPERTIES = {
    # The log is read at every commit, so it says little of a file, and nothing of the past.
    "delta.dataSkippingStatsColumns": EPOCH,
    "delta.logRetentionDuration": "interval 1 hour",
}
"""Properties of the table, once it is made."""


def primary(predicate: str, arity: int) -> Arrangement:
    """The arrangement in which every fact of a predicate is."""
    return Arrangement(predicate, (), (0,) if arity > 0 else ())


class State:
    """Reads and appends the arranged trace.

    Args:
        spark: The session, with Delta Lake.
        path: Where the table is, or will be.
        intern: Gives the id of a term.
        width: Number of columns of arguments.
        buckets: Number of buckets of an arrangement.
        meaning: What rows mean besides: a state that means something else is not read.
    """

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        intern: Callable[[str], int],
        *,
        width: int,
        buckets: int,
        meaning: str,
    ) -> None:
        self._spark = spark
        self._path = path
        self._width = width
        self._buckets = buckets
        self._intern = intern
        longs = (*arguments(width), MULTIPLICITY, TRANSITION, EPOCH)
        self._schema = ", ".join((*(f"{name} BIGINT" for name in longs), f"{ITERATION} INT"))
        self._before = 0
        self._ahead = False
        self._meaning = hashlib.sha256(f"{width} {buckets} {meaning}".encode()).hexdigest()
        self._files = DataFiles(spark, self._path)
        self._frame: DataFrame | None = None
        for name, value in _LAYOUT.items():
            spark.conf.set(name, value)

    @property
    def empty(self) -> bool:
        """Whether nothing has been committed."""
        return self._frame is None

    def read(
        self, arrangement: Arrangement, keys: pa.Table | None, names: Sequence[str]
    ) -> DataFrame | None:
        """The rows of an arrangement, None if there are none.

        Args:
            arrangement: One that is maintained.
            keys: If given, only buckets are read that have these keys.
            names: Columns of *keys*, in the order of the arrangement's key.
        """
        if self._frame is None:
            return None
        name = self._name(arrangement)
        if keys is None:
            return self._rows(arrangement, self._frame.filter(f"{ARRANGEMENT} = {quoted(name)}"))
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
            *arguments(self._width),
            ITERATION,
            MULTIPLICITY,
            TRANSITION,
        )

    def append(self, rows: DataFrame, arrangements: Iterable[Arrangement], epoch: int) -> None:
        """Add the differences of an epoch to all arrangements; a second time does nothing.

        Args:
            rows: Facts, iterations, differences of multiplicity and of transition.
            arrangements: All that are maintained.
            epoch: The epoch.
        """
        if not self._ahead:
            self._merge(arrangements, epoch - 1)
        places = ", ".join(map(self._place, arrangements))
        columns = (*arguments(self._width), ITERATION, MULTIPLICITY, TRANSITION)
        placed = rows.selectExpr(
            *columns, f"explode(filter(array({places}), x -> x IS NOT NULL)) AS place"
        )
        dated = placed.selectExpr("place.*", *columns, f"CAST({epoch} AS BIGINT) AS {EPOCH}")
        (
            self._writer(dated, arrangements, epoch)
            .mode("append")
            .option("txnAppId", _APPLICATION)
            .option("txnVersion", epoch)
            .save(self._path)
        )
        self._ahead = False
        self._files.follow()
        self._read(epoch + 1)

    def _writer(
        self, rows: DataFrame, arrangements: Iterable[Arrangement], epoch: int
    ) -> DataFrameWriter:
        """Writes placed rows, those of a bucket to one file in order of their key."""
        keys = " ".join(
            f"WHEN {quoted(self._name(one))} THEN {argument(one.key[0])}"
            for one in arrangements
            if one.key
        )
        order = expr(f"CASE {ARRANGEMENT} {keys} ELSE 0 END" if keys else "0")
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

    def _merge(self, arrangements: Iterable[Arrangement], epoch: int) -> None:
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
            .agg(*map(expr, sums), expr(f"max({EPOCH}) AS {EPOCH}"))
            .filter(f"{MULTIPLICITY} != 0 OR {TRANSITION} != 0")
        )
        (
            self._writer(summed, arrangements, epoch)
            .mode("overwrite")
            .option("replaceWhere", where)
            .save(self._path)
        )
        self._files.delete(self._files.follow())

    def open(self, before: int) -> bool:
        """Read the state of the epochs below *before* from now on.

        Returns:
            Whether there is one: of the same meaning, with the epoch before, and with no later one
            but that which a process that died was about to finish.
        """
        if not files.exists(self._spark, f"{self._path}/_delta_log"):
            return False
        found = self._spark.sql(f"DESCRIBE HISTORY delta.`{self._path}` LIMIT 2").collect()
        notes = [one.userMetadata.split() for one in found if one.userMetadata]
        epochs = [int(epoch) for epoch, meaning in notes if meaning == self._meaning]
        if before - 1 not in epochs or max(epochs) > before:
            return False
        # Rows of an epoch that is not the trace's yet must stay apart from those before it.
        self._ahead = max(epochs) == before
        self._read(before)
        self._files.open(int(found[0].version), self._table())
        return True

    def clear(self) -> None:
        """Forget everything."""
        files.delete(self._spark, self._path)
        self._files = DataFiles(self._spark, self._path)
        self._frame = None

    def _read(self, before: int) -> None:
        self._before = before
        self._frame = self._table().filter(f"{EPOCH} < {before}")

    def _table(self) -> DataFrame:
        """Rows of all epochs."""
        return self._spark.read.format("delta").load(self._path)

    def bytes(self) -> int:
        """Size of the table's files."""
        if self._frame is None:
            return 0
        found = self._spark.sql(f"DESCRIBE DETAIL delta.`{self._path}`").collect()
        return int(found[0].sizeInBytes)

    def _place(self, arrangement: Arrangement) -> str:
        """SQL for where a row belongs in an arrangement, null if it is not a member."""
        constants = tuple((p, self._intern(term)) for p, term in arrangement.constants)
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
        constants = "".join(f"-{p}.{self._intern(term)}" for p, term in arrangement.constants)
        key = "".join(f"+{position}" for position in arrangement.key)
        return f"{arrangement.predicate}{constants}{key}"


def _listed(values: NDArray[np.int64]) -> str:
    return ", ".join(map(str, values.tolist()))
