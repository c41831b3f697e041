"""The state in a Delta table. Invariant: rows of epochs that are not committed yet are not read.

Every arrangement is a partition: the facts that have its constants, in buckets by its key, so that
a probe with few keys reads few files. Rows are differences: the sums by fact and iteration are the
multiplicities and transitions. A bucket is a weighted sum of ids, which are dense, so driver and
executors agree on it without a hash function that both would have to have.

A program that follows another may have other arrangements. Until the first commit with it, what is
not there yet is read from an arrangement that has all its facts; that commit adds the one and takes
away what is needed no more, at once with the epoch.
"""

from __future__ import annotations

import hashlib
import shutil
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

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
from streamreasoner.backends.spark.patterns import condition, quoted
from streamreasoner.errors import StateError
from streamreasoner.plan.algebra import Arrangement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from streamreasoner.backends.spark.patterns import Constants

_WEIGHT = 31
_APPLICATION = "streamreasoner"
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
        path: Path,
        intern: Callable[[str], int],
        buckets: int,
    ) -> None:
        self._spark = spark
        self._path = str(path)
        self._buckets = buckets
        self._intern = intern
        self._frame: DataFrame | None = None
        # Those that the table has, and what an epoch means that it has already.
        self._kept: tuple[Arrangement, ...] = ()
        self._columns: frozenset[str] = frozenset()
        self._ahead: str | None = None

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
        wanted = f"{ARRANGEMENT} = {quoted(self._name(source))}"
        if keys is not None and source == arrangement:
            found = np.zeros(keys.num_rows, np.int64)
            for name in names:
                found = found * _WEIGHT + keys[name].to_numpy()
            buckets = ", ".join(map(str, np.unique(found % self._buckets).tolist()))
            wanted += f" AND {BUCKET} IN ({buckets or 'NULL'})"
        rows = self._frame.filter(wanted).selectExpr(
            f"{quoted(arrangement.predicate)} AS {PREDICATE}",
            *(self._argument(name) for name in arguments(self._width)),
            ITERATION,
            MULTIPLICITY,
            TRANSITION,
        )
        if source != arrangement:
            rows = rows.filter(condition(arrangement.predicate, self._constants(arrangement)))
        return rows

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
        placed = self._placed(rows, self._arrangements)
        if (missing := self.missing()) is not None:
            placed = placed.unionAll(missing)
        writer = (
            placed.withColumn(EPOCH, F.lit(epoch).cast("long"))
            .repartition(ARRANGEMENT, BUCKET)
            .write.format("delta")
            .mode("append")
            .partitionBy(ARRANGEMENT, BUCKET)
            .option("mergeSchema", "true")
            .option("txnAppId", _APPLICATION)
            .option("txnVersion", epoch)
            .option("userMetadata", f"{epoch} {self._meaning}")
        )
        gone = [one for one in self._kept if self._wider or one not in self._arrangements]
        if gone:
            # One commit takes away what is gone and appends the rest, which is somewhere else.
            self._spark.conf.set(_ONLY_REPLACED, "false")
            names = ", ".join(quoted(self._name(one)) for one in gone)
            writer = writer.mode("overwrite").option("replaceWhere", f"{ARRANGEMENT} IN ({names})")
        writer.save(self._path)
        self._read(epoch + 1)

    def open(self, before: int) -> bool:
        """Read the state of the epochs below *before* from now on.

        Returns:
            Whether there is one: of the same meaning, with the epoch before, and with no later one
            but that which a process that died was about to finish.
        """
        if not Path(self._path, "_delta_log").is_dir():
            return False
        found = self._spark.sql(f"DESCRIBE HISTORY delta.`{self._path}` LIMIT 2").collect()
        notes = [(one.version, *one.userMetadata.split()) for one in found if one.userMetadata]
        commits = {int(epoch): (version, meaning) for version, epoch, meaning in notes}
        version, meaning = commits.get(before - 1, (0, None))
        if meaning != self._meaning or max(commits) > before:
            return False
        self._read(before, version if before in commits else None)
        _, self._ahead = commits.get(before, (0, None))
        return True

    def clear(self) -> None:
        """Forget everything."""
        shutil.rmtree(self._path, ignore_errors=True)
        self._frame = self._ahead = None
        self._kept = ()

    def _read(self, before: int, version: int | None = None) -> None:
        # A later version may lack arrangements that the program of an earlier one has.
        reader = self._spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        self._frame = reader.load(self._path).filter(f"{EPOCH} < {before}")
        self._columns = frozenset(self._frame.columns)
        self._kept, self._ahead = self._arrangements, None

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
        constants = ",".join(f"{p}={term}" for p, term in self._constants(arrangement))
        key = ",".join(map(str, arrangement.key))
        return f"{arrangement.predicate}({constants})[{key}]"
