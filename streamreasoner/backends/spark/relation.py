"""Relations of an epoch. Invariant: a relation is in the driver only if it is small, else in files.

The result of a step is materialized, which cuts its lineage: a small one is collected into an Arrow
table, a large one is written to Parquet files and read from there. Either way no plan grows with
the number of iterations, and a lost executor costs one step.

A query over relations that are all in the driver needs no Spark job: DuckDB answers it there. The
SQL is the same for both engines, so a step is written once.
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

MAX_DRIVER_ROWS = 10_000
"""Most rows of a relation in the driver; more stay in files."""
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
        """The rows of a materialized relation, file by file."""
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


class QueryRunner:
    """Runs the queries of an epoch, in DuckDB or in Spark, and materializes their results.

    Args:
        spark: The session.
        directory: For files of steps; all executors must be able to read and write it.

    Attributes:
        directory: That of the files.
        generations: Its folders of the epoch before and of this one.
        large: Whether a relation of this epoch had many rows; later ones are then expected to.
        many: Whether Spark is configured for many rows now.
    """

    def __init__(self, spark: SparkSession, directory: str) -> None:
        self.spark = spark
        self.directory = directory
        self.generations = ("", uuid4().hex)
        self.large = self.many = False
        self._duckdb = duckdb.connect(config={"threads": 1})

    def from_table(self, table: pa.Table) -> Relation:
        """A relation from an Arrow table."""
        return Relation(self.spark, table)

    def from_frame(self, frame: DataFrame) -> Relation:
        """A relation from a Spark DataFrame."""
        return Relation(self.spark, frame=frame)

    def query(self, text: str, **rows: Relation) -> Relation:
        """Run a query, in the driver if its inputs and its result are small and in the driver.

        Args:
            text: SQL that means the same to Spark and to DuckDB. Sums of integers are wider in the
                one than in the other, so they are cast; `quoted` makes strings.
            rows: What the query reads, by the names that it has there.
        """
        tables = {name: one.table for name, one in rows.items() if one.table is not None}
        if len(tables) == len(rows) and max(map(len, tables.values())) <= MAX_DRIVER_ROWS:
            found = self._in_driver(text, tables)
            if found.num_rows <= MAX_DRIVER_ROWS:
                return self.from_table(found)
        for name, one in rows.items():
            one.frame.createOrReplaceTempView(name)
        return self.from_frame(self.spark.sql(text))

    def _in_driver(self, text: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        """The rows of an answer, or one more than are few."""
        for name, table in tables.items():
            self._duckdb.register(name, table)
        # What is registered stays until the name is another table's.
        return self._duckdb.sql(
            f"SELECT * FROM ({text}) LIMIT {MAX_DRIVER_ROWS + 1}"
        ).to_arrow_table()

    def consolidated(self, rows: Relation, width: int) -> Relation:
        """Differences summed by fact and iteration, without zeros."""
        place = ", ".join((*fact(width), ITERATION))
        return self.query(
            f"SELECT * FROM (SELECT {place}, {total(MULTIPLICITY)}, {total(TRANSITION)} FROM rows"
            f" GROUP BY {place}) WHERE {MULTIPLICITY} != 0 OR {TRANSITION} != 0",
            rows=rows,
        )

    def gather(self, relations: Iterable[Relation], names: Sequence[str]) -> Relation:
        """The union; parts that Spark has to read are collected by one job if they are few."""
        parts = list(relations)
        far = self.union((one for one in parts if one.table is None), names)
        return self.union(
            (*(one for one in parts if one.table is not None), self.collect_if_small(far)), names
        )

    def checksum(self, table: pa.Table) -> str:
        """A number that the same rows have in any order."""
        names = ", ".join(table.column_names)
        query = f"SELECT CAST(sum(hash({names})) AS VARCHAR) FROM rows"
        return str(self._in_driver(query, {"rows": table})[0][0])

    def collect_if_small(self, relation: Relation) -> Relation:
        """The same rows, in the driver if they are few and the epoch has been small so far."""
        if relation.table is not None or self.large:
            return relation
        found = self.collect_small(relation.frame)
        return relation if found is None else self.from_table(found)

    def materialize(self, relation: Relation) -> Relation:
        """Compute a relation once and cut its lineage."""
        if relation.table is not None:
            return relation
        frame = relation.frame
        found = None if self.large else self.collect_small(frame)
        if found is not None:
            return self.from_table(found)
        # Looking at the first rows of a join costs as much as the join, so only files are looked at
        # from now on.
        kept = self.stored(self._write(frame), frame.schema)
        found = self.collect_small(kept.frame)
        return kept if found is None else Relation(self.spark, found, path=kept.path)

    def fetch(self, relation: Relation) -> pa.Table:
        """All rows, in blocks through the driver's JVM: one file at a time."""
        if relation.table is not None:
            return relation.table
        with self.for_many():
            written = self.stored(self._write(relation.frame), relation.frame.schema)
            return pa.concat_tables([written.frame.limit(0).toArrow(), *written.blocks()])

    def stored(self, path: str, form: StructType) -> Relation:
        """Rows that are in files."""
        return Relation(self.spark, frame=self.spark.read.schema(form).parquet(path), path=path)

    def store(self, relation: Relation) -> str:
        """Write a relation to files unless it is there; their path, valid for the epoch."""
        if relation.path is None:
            relation.path = self._write(relation.frame)
        return relation.path

    def _write(self, frame: DataFrame) -> str:
        path = self._place(uuid4().hex)
        frame.write.option("maxRecordsPerFile", _BLOCK).parquet(path)
        return path

    def reachable(self, folder: Path) -> str:
        """A path where executors can read a folder of the driver, valid for the epoch."""
        return files.reachable(self.spark, folder, self._place(folder.name))

    def _place(self, name: str) -> str:
        """A place for files of this epoch."""
        return f"{self.directory}/{self.generations[1]}/{name}"

    def collect_small(self, frame: DataFrame) -> pa.Table | None:
        """The rows of a frame; None if they are many, and from then on Spark plans for many."""
        found = frame.limit(MAX_DRIVER_ROWS + 1).toArrow()
        if found.num_rows <= MAX_DRIVER_ROWS:
            return found
        self.expect_many_rows()
        return None

    def union(self, relations: Iterable[Relation], names: Sequence[str]) -> Relation:
        """The rows of all, with these columns."""
        parts = [one for one in relations if not one.empty]
        form = schema(names)
        tables = [_formed(one.table, form) for one in parts if one.table is not None]
        together = pa.concat_tables([form.empty_table(), *tables])
        frames = [one.frame.select(*names) for one in parts if one.table is None]
        if not frames:
            return self.from_table(together)
        if together.num_rows > 0:
            frames.append(self.from_table(together).frame)
        found = frames[0]
        for frame in frames[1:]:
            found = found.unionAll(frame)
        return Relation(self.spark, frame=found)

    def begin(self) -> None:
        """Begin an epoch, expecting few rows; files of the previous one stay until the next."""
        self.large = False
        self._plan_for(many=False)
        before, last = self.generations
        if before:
            files.delete(self.spark, f"{self.directory}/{before}")
        self.generations = (last, uuid4().hex)

    def resume(self, before: str, epoch: str) -> None:
        """Continue an epoch of many rows that another process began."""
        self.generations = before, epoch
        self.expect_many_rows()

    def expect_many_rows(self) -> None:
        """Plan for many rows until the epoch ends."""
        self.large = True
        self._plan_for(many=True)

    @contextmanager
    def for_many(self) -> Iterator[None]:
        """Configure Spark for many rows, whatever the epoch has seen so far."""
        self._plan_for(many=True)
        try:
            yield
        finally:
            self._plan_for(many=self.large)

    def _plan_for(self, *, many: bool) -> None:
        """Configure Spark for few rows (no adaptive execution) or for many."""
        self.many = many
        # Asked each time: executors come and go.
        tasks = _TASKS * self.spark.sparkContext.defaultParallelism if many else 1
        self.spark.conf.set("spark.sql.shuffle.partitions", tasks)
        self.spark.conf.set("spark.sql.adaptive.enabled", many)
        # Code that is made for a query pays if rows are many.
        self.spark.conf.set("spark.sql.codegen.wholeStage", many)


@dataclass(slots=True)
class DifferenceLog:
    """Differences by stratum and iteration, appended step by step.

    Args:
        runner: Runs the queries.
        names: The columns.
    """

    runner: QueryRunner
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
        """Write all to files: their paths, each with its pairs of stratum and iteration."""
        return [(self.runner.store(one), sorted(places)) for one, places in self._parts]

    def restore(self, parts: Iterable[tuple[str, Iterable[Sequence[int]]]]) -> None:
        """Take differences that another process stored."""
        form = from_arrow_schema(schema(self.names))
        self._parts = [
            (self.runner.stored(path, form), frozenset((s, i) for s, i in places))
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
        return self.runner.union(parts, self.names)

    def everything(self) -> Relation:
        """All rows."""
        return self.runner.union((relation for relation, _ in self._parts), self.names)

    def following(self, stratum: int, iteration: int) -> int:
        """The first later iteration of a stratum that has rows, or -1."""
        later = (i for _, places in self._parts for s, i in places if s == stratum)
        return min((i for i in later if i > iteration), default=-1)
