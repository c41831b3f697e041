"""Relations of an epoch. Invariant: rows are in the driver only if they are few, else in files.

What a step of an epoch computes is cut off from how it was computed: few rows come to the driver,
as an Arrow table, and go on from there; many are written to Parquet files and read again. Either
way no plan grows with the number of iterations, and a lost executor costs one step.

A query of relations that are all in the driver needs no job of Spark: DuckDB answers it there. Its
text is the same for both, so there is one way to say what a step computes.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.columns import (
    ITERATION,
    MULTIPLICITY,
    STRATUM,
    TRANSITION,
    fact,
    schema,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FEW = 10_000
"""Rows that come to the driver; more stay in files."""
_TASKS = 4  # partitions of a shuffle for each processor, where there are many rows
_BLOCK = 1_000_000  # rows of a file, which may come to the driver one after the other


def total(expression: str, name: str = "") -> str:
    """SQL for the sum of an expression, which has its name unless another is given."""
    return f"CAST(sum({expression}) AS BIGINT) AS {name or expression}"


def to_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Rows of the driver for Spark."""
    # Spark takes a batch without rows for the end of all (ArrowConverters.fromBatchIterator, 4.0),
    # so there must be none.
    return spark.createDataFrame(table.combine_chunks())


def _formed(table: pa.Table, form: pa.Schema) -> pa.Table:
    """Some columns of a table, in their usual types."""
    selected = table.select(form.names)
    return selected if selected.schema.equals(form) else selected.cast(form)


class Relation:
    """Rows of a step, in the driver or in files.

    Attributes:
        table: The rows, if they are in the driver.
        path: The files that have these rows and no others, if there are such.
    """

    __slots__ = ("_frame", "_spark", "path", "table")

    def __init__(
        self,
        spark: SparkSession,
        table: pa.Table | None = None,
        frame: DataFrame | None = None,
        path: str | None = None,
    ) -> None:
        self._spark = spark
        self.table = table
        self.path = path
        self._frame = frame

    @property
    def frame(self) -> DataFrame:
        """The rows, for Spark."""
        if self._frame is None:
            assert self.table is not None  # noqa: S101 - one of the two is given
            self._frame = to_frame(self._spark, self.table)
        return self._frame

    @property
    def empty(self) -> bool:
        """Whether there are no rows, as far as is known without looking into files."""
        return self.table is not None and self.table.num_rows == 0

    def arrow(self) -> pa.Table:
        """All rows, which should not be many: they come through the JVM of the driver at once."""
        return self.frame.toArrow() if self.table is None else self.table

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

    Attributes:
        directory: That of the files.
        generations: Its folders of the epoch before and of this one.
        large: Whether a relation of this epoch had many rows: the next may have too.
        many: Whether Spark plans for many rows now.
    """

    def __init__(self, spark: SparkSession, directory: str) -> None:
        self.spark = spark
        self.directory = directory
        self.generations = ("", uuid4().hex)
        self.large = self.many = False
        self._duckdb = duckdb.connect(config={"threads": 1})

    def local(self, table: pa.Table) -> Relation:
        """Rows that are in the driver."""
        return Relation(self.spark, table)

    def spread(self, frame: DataFrame) -> Relation:
        """Rows that Spark has, or will compute."""
        return Relation(self.spark, frame=frame)

    def query(self, text: str, **rows: Relation) -> Relation:
        """The answer to a query, in the driver if what it reads is few rows there, and so is it.

        Args:
            text: SQL that means the same to Spark and to DuckDB. Sums of integers are wider in the
                one than in the other, so they are cast; `quoted` makes strings.
            rows: What the query reads, by the names that it has there.
        """
        tables = {name: one.table for name, one in rows.items() if one.table is not None}
        if len(tables) == len(rows) and max(map(len, tables.values())) <= FEW:
            found = self._in_driver(text, tables)
            if found.num_rows <= FEW:
                return self.local(found)
        for name, one in rows.items():
            one.frame.createOrReplaceTempView(name)
        return self.spread(self.spark.sql(text))

    def _in_driver(self, text: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        """The rows of an answer, or one more than are few."""
        for name, table in tables.items():
            self._duckdb.register(name, table)
        # What is registered stays until the name is another table's.
        return self._duckdb.sql(f"SELECT * FROM ({text}) LIMIT {FEW + 1}").to_arrow_table()

    def consolidated(self, rows: Relation, width: int) -> Relation:
        """Differences summed by fact and iteration, those that come to something."""
        place = ", ".join((*fact(width), ITERATION))
        return self.query(
            f"SELECT * FROM (SELECT {place}, {total(MULTIPLICITY)}, {total(TRANSITION)} FROM rows"
            f" GROUP BY {place}) WHERE {MULTIPLICITY} != 0 OR {TRANSITION} != 0",
            rows=rows,
        )

    def gather(self, relations: Iterable[Relation], names: Sequence[str]) -> Relation:
        """The rows of all, those that Spark has to read by one job if they are few."""
        parts = list(relations)
        far = self.union((one for one in parts if one.table is None), names)
        return self.union((*(one for one in parts if one.table is not None), self.near(far)), names)

    def checksum(self, table: pa.Table) -> str:
        """A number that the same rows have in any order."""
        names = ", ".join(table.column_names)
        query = f"SELECT CAST(sum(hash({names})) AS VARCHAR) FROM rows"
        return str(self._in_driver(query, {"rows": table})[0][0])

    def near(self, relation: Relation) -> Relation:
        """The same rows, in the driver if they are few and the epoch is small so far."""
        if relation.table is not None or self.large:
            return relation
        found = self.few(relation.frame)
        return relation if found is None else self.local(found)

    def cut(self, relation: Relation) -> Relation:
        """Compute a relation, once."""
        if relation.table is not None:
            return relation
        frame = relation.frame
        found = None if self.large else self.few(frame)
        if found is not None:
            return self.local(found)
        # Looking at the first rows of a join costs as much as the join, so only files are looked at
        # from now on.
        kept = self.stored(self._write(frame), frame.schema)
        found = self.few(kept.frame)
        return kept if found is None else Relation(self.spark, found, path=kept.path)

    def fetch(self, relation: Relation) -> pa.Table:
        """All rows, however many; the JVM of the driver has one file of them at a time."""
        if relation.table is not None:
            return relation.table
        with self.for_many():
            written = self.stored(self._write(relation.frame), relation.frame.schema)
            return pa.concat_tables([written.frame.limit(0).toArrow(), *written.blocks()])

    def stored(self, path: str, form: StructType) -> Relation:
        """Rows that are in files."""
        return Relation(self.spark, frame=self.spark.read.schema(form).parquet(path), path=path)

    def store(self, relation: Relation) -> str:
        """Have the rows of a step in files, and say where; they stay as long as the epoch."""
        if relation.path is None:
            relation.path = self._write(relation.frame)
        return relation.path

    def _write(self, frame: DataFrame) -> str:
        path = self._place(uuid4().hex)
        frame.write.option("maxRecordsPerFile", _BLOCK).parquet(path)
        return path

    def reachable(self, folder: Path) -> str:
        """A folder of the driver where executors can read it; a copy is forgotten as steps are."""
        return files.reachable(self.spark, folder, self._place(folder.name))

    def _place(self, name: str) -> str:
        """A place for files of this epoch."""
        return f"{self.directory}/{self.generations[1]}/{name}"

    def few(self, frame: DataFrame) -> pa.Table | None:
        """The rows of a frame; None if they are many, which Spark plans for from then on."""
        found = frame.limit(FEW + 1).toArrow()
        if found.num_rows <= FEW:
            return found
        self.grow()
        return None

    def union(self, relations: Iterable[Relation], names: Sequence[str]) -> Relation:
        """The rows of all, with these columns."""
        parts = [one for one in relations if not one.empty]
        form = schema(names)
        tables = [_formed(one.table, form) for one in parts if one.table is not None]
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
        self.large = False
        self._plan_for(many=False)
        before, last = self.generations
        if before:
            files.delete(self.spark, f"{self.directory}/{before}")
        self.generations = (last, uuid4().hex)

    def resume(self, before: str, epoch: str) -> None:
        """Go on with an epoch of many rows, which another process has begun."""
        self.generations = before, epoch
        self.grow()

    def grow(self) -> None:
        """Take what comes to be many rows, until the epoch ends."""
        self.large = True
        self._plan_for(many=True)

    @contextmanager
    def for_many(self) -> Iterator[None]:
        """Let Spark plan for many rows, whatever the epoch has been like."""
        self._plan_for(many=True)
        try:
            yield
        finally:
            self._plan_for(many=self.large)

    def _plan_for(self, *, many: bool) -> None:
        """Let Spark plan for few rows, without looking back, or for many."""
        self.many = many
        # Asked each time: executors come and go.
        tasks = _TASKS * self.spark.sparkContext.defaultParallelism if many else 1
        self.spark.conf.set("spark.sql.shuffle.partitions", tasks)
        self.spark.conf.set("spark.sql.adaptive.enabled", many)
        # Code that is made for a query pays if rows are many.
        self.spark.conf.set("spark.sql.codegen.wholeStage", many)


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

    def stored(self) -> list[tuple[str, list[tuple[int, int]]]]:
        """Have all rows in files: their places, and the strata and iterations that they have."""
        return [(self.steps.store(one), sorted(places)) for one, places in self._parts]

    def restore(self, parts: Iterable[tuple[str, Iterable[Sequence[int]]]]) -> None:
        """Take rows that another process has stored."""
        form = from_arrow_schema(schema(self.names))
        self._parts = [
            (self.steps.stored(path, form), frozenset((s, i) for s, i in places))
            for path, places in parts
        ]

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
