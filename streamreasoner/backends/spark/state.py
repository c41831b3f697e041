"""The state in a Delta table. Invariant: rows of epochs that are not committed yet are not read.

Every arrangement is a partition: the facts that have its constants, in buckets by its key, so that
a probe with few keys reads few files. Rows are differences: the sums by fact and iteration are the
multiplicities and transitions. A bucket is a weighted sum of ids, which are dense, so driver and
executors agree on it without a hash function that both would have to have.
"""

from __future__ import annotations

import hashlib
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

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
from streamreasoner.backends.spark.patterns import condition, quoted
from streamreasoner.plan.algebra import Arrangement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_WEIGHT = 31
_APPLICATION = "streamreasoner"


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
        self._meaning = hashlib.sha256(f"{width} {buckets} {meaning}".encode()).hexdigest()
        self._frame: DataFrame | None = None

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
        wanted = f"{ARRANGEMENT} = {quoted(self._name(arrangement))}"
        if keys is not None:
            found = np.zeros(keys.num_rows, np.int64)
            for name in names:
                found = found * _WEIGHT + keys[name].to_numpy()
            buckets = ", ".join(map(str, np.unique(found % self._buckets).tolist()))
            wanted += f" AND {BUCKET} IN ({buckets or 'NULL'})"
        return self._frame.filter(wanted).selectExpr(
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
        places = ", ".join(map(self._place, arrangements))
        columns = (*arguments(self._width), ITERATION, MULTIPLICITY, TRANSITION)
        (
            rows.selectExpr(
                *columns, f"explode(filter(array({places}), x -> x IS NOT NULL)) AS place"
            )
            .selectExpr(
                f"place.{ARRANGEMENT}",
                f"place.{BUCKET}",
                *columns,
                f"CAST({epoch} AS BIGINT) AS {EPOCH}",
            )
            .repartition(ARRANGEMENT, BUCKET)
            .write.format("delta")
            .mode("append")
            .partitionBy(ARRANGEMENT, BUCKET)
            .option("txnAppId", _APPLICATION)
            .option("txnVersion", epoch)
            .option("userMetadata", f"{epoch} {self._meaning}")
            .save(self._path)
        )
        self._read(epoch + 1)

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
        self._read(before)
        return True

    def clear(self) -> None:
        """Forget everything."""
        files.delete(self._spark, self._path)
        self._frame = None

    def _read(self, before: int) -> None:
        rows = self._spark.read.format("delta").load(self._path)
        self._frame = rows.filter(f"{EPOCH} < {before}")

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
        constants = ",".join(f"{p}={self._intern(term)}" for p, term in arrangement.constants)
        key = ",".join(map(str, arrangement.key))
        return f"{arrangement.predicate}({constants})[{key}]"
