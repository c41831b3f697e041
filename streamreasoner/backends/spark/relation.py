"""Relations of an epoch. Invariant: rows are in the driver only if they are few, else in files.

What a step of an epoch computes is cut off from how it was computed: few rows come to the driver,
as an Arrow table, and go on from there; many are written to Parquet files and read again. Either
way no plan grows with the number of iterations, and a lost executor costs one step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.columns import ITERATION, STRATUM, schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

FEW = 10_000
"""Rows that come to the driver; more stay in files."""
_TASKS = 4  # partitions of a shuffle for each processor, where there are many rows
_BLOCK = 1_000_000  # rows of a file, which may come to the driver one after the other


class Relation:
    """Rows of a step, in the driver or in files.

    Attributes:
        table: The rows, if they are in the driver.
    """

    __slots__ = ("_frame", "_spark", "table")

    def __init__(
        self, spark: SparkSession, table: pa.Table | None = None, frame: DataFrame | None = None
    ) -> None:
        self._spark = spark
        self.table = table
        self._frame = frame

    @property
    def frame(self) -> DataFrame:
        """The rows, for Spark."""
        if self._frame is None:
            assert self.table is not None  # noqa: S101 - one of the two is given
            self._frame = self._spark.createDataFrame(self.table)
        return self._frame

    @property
    def empty(self) -> bool:
        """Whether there are no rows, as far as is known without looking into files."""
        return self.table is not None and self.table.num_rows == 0

    def where(self, **wanted: object) -> Relation:
        """The rows that have these values in these columns."""
        if self.table is not None:
            table = self.table
            for name, value in wanted.items():
                table = table.filter(pc.equal(table[name], pa.scalar(value, table[name].type)))
            return Relation(self._spark, table)
        frame = self.frame
        for name, value in wanted.items():
            frame = frame.filter(F.col(name) == F.lit(value))
        return Relation(self._spark, frame=frame)

    def within(self, name: str, values: range) -> Relation:
        """The rows whose value in a column is in a range."""
        if self.table is not None:
            column = self.table[name]
            inside = pc.and_(pc.greater_equal(column, values.start), pc.less(column, values.stop))
            return Relation(self._spark, self.table.filter(inside))
        inside = (F.col(name) >= values.start) & (F.col(name) < values.stop)
        return Relation(self._spark, frame=self.frame.filter(inside))

    def blocks(self) -> Iterator[pa.Table]:
        """The rows of what was cut, file by file."""
        if self.table is not None:
            yield self.table
            return
        for file in self.frame.inputFiles():
            yield self._spark.read.schema(self.frame.schema).parquet(file).toArrow()

    def distinct(self, names: Sequence[str]) -> Relation:
        """The different rows of some columns."""
        if self.table is not None:
            return Relation(self._spark, self.table.group_by(list(names)).aggregate([]))
        return Relation(self._spark, frame=self.frame.select(*names).distinct())


class Steps:
    """Cuts what is computed off from how.

    Args:
        spark: The session.
        directory: For files of steps; all executors must be able to read and write it.
    """

    def __init__(self, spark: SparkSession, directory: str) -> None:
        self.spark = spark
        self._directory = directory
        self._epoch, self._before = uuid4().hex, ""
        self._large = False
        files.delete(spark, directory)

    def local(self, table: pa.Table) -> Relation:
        """Rows that are in the driver."""
        return Relation(self.spark, table)

    def cut(self, frame: DataFrame) -> Relation:
        """Compute a frame, once."""
        found = None if self._large else self.few(frame)
        if found is None:
            # Looking at the first rows of a join costs as much as the join, so only files are
            # looked at from now on.
            path = f"{self._directory}/{self._epoch}/{uuid4().hex}"
            frame.write.option("maxRecordsPerFile", _BLOCK).parquet(path)
            frame = self.spark.read.schema(frame.schema).parquet(path)
            found = self.few(frame)
        return Relation(self.spark, found, frame if found is None else None)

    def reachable(self, folder: Path) -> str:
        """A folder of the driver where executors can read it; a copy is forgotten as steps are."""
        return files.reachable(self.spark, folder, f"{self._directory}/{self._epoch}/{folder.name}")

    def few(self, frame: DataFrame) -> pa.Table | None:
        """The rows of a frame; None if they are many, which Spark plans for from then on."""
        found = frame.limit(FEW + 1).toArrow()
        if found.num_rows <= FEW:
            return found
        self._large = True
        # Asked each time: executors come and go.
        self._plan_for(_TASKS * self.spark.sparkContext.defaultParallelism, adaptive=True)
        return None

    def union(self, relations: Iterable[Relation], names: Sequence[str]) -> Relation:
        """The rows of all, with these columns."""
        parts = [one for one in relations if not one.empty]
        form = schema(names)
        tables = [one.table.select(names).cast(form) for one in parts if one.table is not None]
        together = pa.concat_tables([form.empty_table(), *tables])
        frames = [one.frame.select(*names) for one in parts if one.table is None]
        if not frames:
            return self.local(together)
        if together.num_rows > 0:
            frames.append(self.local(together).frame)
        found = frames[0]
        for frame in frames[1:]:
            found = found.unionAll(frame)
        return Relation(self.spark, frame=found)

    def begin(self) -> None:
        """Begin an epoch; the files of the one before are there until the next one begins.

        What comes is taken to be little again.
        """
        self._large = False
        self._plan_for(1, adaptive=False)
        if self._before:
            files.delete(self.spark, f"{self._directory}/{self._before}")
        self._before, self._epoch = self._epoch, uuid4().hex

    def _plan_for(self, partitions: int, *, adaptive: bool) -> None:
        """Let Spark plan for few rows, without looking back, or for many."""
        self.spark.conf.set("spark.sql.shuffle.partitions", partitions)
        self.spark.conf.set("spark.sql.adaptive.enabled", adaptive)


@dataclass(slots=True)
class Pile:
    """Rows by stratum and iteration, which come step by step.

    Args:
        steps: Cuts.
        names: The columns.
    """

    steps: Steps
    names: tuple[str, ...]
    _parts: list[tuple[Relation, frozenset[tuple[int, int]]]] = field(default_factory=list)

    def add(self, relation: Relation) -> None:
        """Take the rows of a step."""
        if relation.empty:
            return
        distinct = relation.distinct((STRATUM, ITERATION))
        found = distinct.table if distinct.table is not None else distinct.frame.toArrow()
        pairs = zip(found[STRATUM].to_pylist(), found[ITERATION].to_pylist(), strict=True)
        self._parts.append((relation, frozenset(pairs)))

    def select(self, strata: range, iterations: range) -> Relation:
        """The rows of some strata and iterations."""
        parts = []
        for relation, places in self._parts:
            wanted = {(s, i) for s, i in places if s in strata and i in iterations}
            if wanted:
                if len(wanted) < len(places):
                    relation = relation.within(STRATUM, strata).within(ITERATION, iterations)  # noqa: PLW2901 - a part of it
                parts.append(relation)
        return self.steps.union(parts, self.names)

    def everything(self) -> Relation:
        """All rows."""
        return self.steps.union((relation for relation, _ in self._parts), self.names)

    def following(self, stratum: int, iteration: int) -> int:
        """The first later iteration of a stratum that has rows, or -1."""
        later = (i for _, places in self._parts for s, i in places if s == stratum)
        return min((i for i in later if i > iteration), default=-1)
