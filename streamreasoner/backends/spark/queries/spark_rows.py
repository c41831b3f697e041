"""Rows of an epoch. Invariant: only few rows are in the driver; others are in files.

The result of a step is materialized, which cuts its lineage: a small one is collected into an Arrow
table, a large one is written to Parquet files and read from there. Either way no plan grows with
the number of iterations, and a lost executor costs one step.

A query over rows that are all in the driver needs no Spark job: DuckDB answers it there. The
SQL is the same for both engines, so a step is written once.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from streamreasoner.backends.spark import files, local_files
from streamreasoner.backends.spark.queries import sql
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    OVERFLOW,
    STRATUM,
    fact,
    schema,
)
from streamreasoner.backends.spark.queries.prepared import PreparedQueries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

MAX_DRIVER_ROWS = 2_000_000
"""Most rows of one kind in the driver; more stay in files."""
ROW_BYTES = 1024
"""Most memory that an epoch in the driver takes for each row of the most of one kind."""
MAX_SENT_ROWS = 10_000
"""The same once an epoch has had more: executors need them too."""
_TASKS = 4  # shuffle partitions per core, if rows are many
_BLOCK = 1_000_000  # rows per file; the driver may read one file at a time


def to_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A Spark DataFrame of an Arrow table."""
    # Spark stops reading at an empty batch (ArrowConverters.fromBatchIterator, 4.0), so there must
    # be none.
    return spark.createDataFrame(table.combine_chunks())


def _cast_to(table: pa.Table, form: pa.Schema) -> pa.Table:
    """The columns of a schema, cast to its types."""
    selected = table.select(form.names)
    return selected if selected.schema.equals(form) else selected.cast(form)


@dataclass(frozen=True, slots=True)
class Observed:
    """What the job that writes rows to files notices of them, so that no other job has to.

    Attributes:
        rows: How many.
        places: Their strata and iterations, if they have these columns.
        overflowed: Whether a multiplicity of one overflows.
    """

    rows: int
    places: frozenset[tuple[int, int]]
    overflowed: bool


class SparkRows:
    """Rows of a step, in the driver or in files.

    Attributes:
        table: The rows, if they are in the driver.
        path: Files with exactly these rows, if there are any.
        observed: What is known of the rows in files.
    """

    __slots__ = ("_frame", "_spark", "observed", "path", "table")

    def __init__(
        self,
        spark: SparkSession,
        table: pa.Table | None = None,
        frame: DataFrame | None = None,
        path: str | None = None,
        observed: Observed | None = None,
    ) -> None:
        self._spark = spark
        self.table = table
        self.path = path
        self.observed = observed
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
        """Whether it is known that there are none, without reading files."""
        return self.table is not None and self.table.num_rows == 0

    @property
    def places(self) -> frozenset[tuple[int, int]]:
        """The pairs of stratum and iteration of its rows."""
        if self.observed is not None:
            return self.observed.places
        table = self.distinct((STRATUM, ITERATION)).arrow()
        columns = (table[name].to_pylist() for name in (STRATUM, ITERATION))
        return frozenset(zip(*columns, strict=True))

    @property
    def overflowed(self) -> bool:
        """Whether a multiplicity of one of the rows overflows."""
        if self.observed is not None:
            return self.observed.overflowed
        if self.table is None:
            return not self.frame.filter(OVERFLOW).isEmpty()
        return any(self.table[OVERFLOW].to_pylist())

    def arrow(self) -> pa.Table:
        """All rows at once, through the driver's JVM; call it on few rows only."""
        return self.frame.toArrow() if self.table is None else self.table

    def where(self, **values: object) -> SparkRows:
        """The rows that have these values in these columns."""
        if self.table is not None:
            table = self.table
            for name, value in values.items():
                table = table.filter(pc.equal(table[name], pa.scalar(value, table[name].type)))
            return SparkRows(self._spark, table)
        frame = self.frame
        for name, value in values.items():
            frame = frame.filter(F.col(name) == F.lit(value))
        return SparkRows(self._spark, frame=frame)

    def within(self, name: str, values: range) -> SparkRows:
        """The rows whose value in a column is in a range."""
        if self.table is not None:
            column = self.table[name]
            inside = pc.and_(pc.greater_equal(column, values.start), pc.less(column, values.stop))
            return SparkRows(self._spark, self.table.filter(inside))
        inside = (F.col(name) >= values.start) & (F.col(name) < values.stop)
        return SparkRows(self._spark, frame=self.frame.filter(inside))

    def blocks(self) -> Iterator[pa.Table]:
        """Materialized rows, file by file."""
        if self.table is not None:
            yield self.table
            return
        form = to_arrow_schema(self.frame.schema)
        for file in map(unquote, self.frame.inputFiles()):
            if files.readable_here(self._spark, file):
                yield _cast_to(local_files.read(file, form.names), form)
            else:
                yield self._spark.read.schema(self.frame.schema).parquet(file).toArrow()

    def whole(self) -> pa.Table:
        """All materialized rows."""
        if self.table is not None:
            return self.table
        none = to_arrow_schema(self.frame.schema).empty_table()
        return pa.concat_tables([none, *self.blocks()])

    def distinct(self, names: Sequence[str]) -> SparkRows:
        """The distinct rows of some columns."""
        if self.table is not None:
            return SparkRows(self._spark, self.table.group_by(list(names)).aggregate([]))
        return SparkRows(self._spark, frame=self.frame.select(*names).distinct())


class QueryRunner:
    """Runs the queries of an epoch, in DuckDB or in Spark, and materializes their results.

    Args:
        spark: The session.
        directory: For intermediate files; all executors must be able to read and write it.
        memory: Bytes of the driver's memory for the rows of an epoch; None if it need not be
            limited further than by `MAX_DRIVER_ROWS`.

    Attributes:
        directory: Where the files are.
        generations: Folders in it of the previous epoch and of this one.
        large: Whether a query of this epoch had many rows; later ones are then expected to.
        many: Whether Spark is configured for many rows now.
    """

    def __init__(self, spark: SparkSession, directory: str, memory: int | None = None) -> None:
        self.spark = spark
        self.directory = directory
        self._memory = memory
        self.generations = ("", uuid4().hex)
        self.large = self.many = False
        self._prepared = PreparedQueries()

    @property
    def capacity(self) -> int:
        """Rows that fit the driver."""
        if self._memory is None:
            return MAX_DRIVER_ROWS
        return min(MAX_DRIVER_ROWS, self._memory // ROW_BYTES)

    @property
    def most_rows(self) -> int:
        """Rows that may be brought to the driver now."""
        return min(self.capacity, MAX_SENT_ROWS) if self.large else self.capacity

    def from_table(self, table: pa.Table) -> SparkRows:
        """Rows of an Arrow table."""
        return SparkRows(self.spark, table)

    def from_frame(self, frame: DataFrame) -> SparkRows:
        """Rows of a Spark DataFrame."""
        return SparkRows(self.spark, frame=frame)

    def query(self, text: str, **rows: SparkRows) -> SparkRows:
        """Run a query, in the driver if its inputs and its result are small and in the driver.

        Args:
            text: A query of `sql`, which means the same to both engines.
            rows: Those that the query reads, by name.
        """
        tables = {name: rel.table for name, rel in rows.items() if rel.table is not None}
        if len(tables) == len(rows) and max(map(len, tables.values())) <= self.capacity:
            result = self._in_driver(text, tables)
            if result.num_rows <= self.capacity:
                return self.from_table(result)
        for name, each in rows.items():
            each.frame.createOrReplaceTempView(name)
        return self.from_frame(self.spark.sql(text))

    def _in_driver(self, text: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        """The rows of a result, at most one more than fit."""
        return self._prepared.run(f"FROM ({text}) LIMIT {self.capacity + 1}", tables)

    def consolidated(self, rows: SparkRows, width: int) -> SparkRows:
        """Differences summed by fact and iteration, without zeros."""
        return self.query(sql.consolidated((*fact(width), ITERATION)), rows=rows)

    def gather(self, several: Iterable[SparkRows], names: Sequence[str]) -> SparkRows:
        """The union; one job collects the parts that Spark has to read, if they are small."""
        parts = list(several)
        local = [part for part in parts if part.table is not None]
        remote = self.union((part for part in parts if part.table is None), names)
        return self.union((*local, self.collect_if_small(remote)), names)

    def checksum(self, table: pa.Table) -> str:
        """A checksum of rows that does not depend on their order."""
        names = ", ".join(table.column_names)
        query = f"SELECT CAST(sum(hash({names})) AS VARCHAR) FROM rows"
        return str(self._in_driver(query, {"rows": table})[0][0])

    def collect_if_small(self, rows: SparkRows) -> SparkRows:
        """The same rows, in the driver if they are few and none of the epoch were many."""
        if rows.table is not None or self.large:
            return rows
        table = self.collect_small(rows.frame)
        return rows if table is None else self.from_table(table)

    def materialize(self, rows: SparkRows) -> SparkRows:
        """Compute rows once and cut their lineage."""
        if rows.table is not None:
            return rows
        frame = rows.frame
        table = None if self.large else self.collect_small(frame)
        if table is not None:
            return self.from_table(table)
        # The first rows of a join cost as much as the join, so from now on results are written
        # before they are read.
        path, observed = self._write(frame)
        written = self.stored(path, frame.schema)
        written.observed = observed
        if observed.rows > self.most_rows:
            return written
        return SparkRows(self.spark, written.whole(), path=path)

    def fetch(self, rows: SparkRows) -> pa.Table:
        """All rows, through the driver's JVM one file at a time."""
        if rows.table is not None:
            return rows.table
        with self.for_many():
            return self.stored(self.store(rows), rows.frame.schema).whole()

    def stored(self, path: str, form: StructType) -> SparkRows:
        """Rows in files."""
        return SparkRows(self.spark, frame=self.spark.read.schema(form).parquet(path), path=path)

    def store(self, rows: SparkRows) -> str:
        """Write rows to files unless they are there; returns a path valid for the epoch."""
        if rows.path is None:
            rows.path, _ = self._write(rows.frame)
        return rows.path

    def _write(self, frame: DataFrame) -> tuple[str, Observed]:
        """Write rows to files; returns their path, and what the job noticed."""
        path, observation = self._place(uuid4().hex), Observation()
        columns, noticed = set(frame.columns), [F.expr("count(*)").alias("rows")]
        if columns >= {STRATUM, ITERATION}:
            pairs = f"collect_set(concat({STRATUM}, ' ', {ITERATION}))"
            noticed.append(F.expr(f"concat_ws(',', {pairs})").alias("places"))
        if OVERFLOW in columns:
            noticed.append(F.expr(f"coalesce(max({OVERFLOW}), false)").alias(OVERFLOW))
        seen = frame.observe(observation, *noticed)
        seen.write.option("maxRecordsPerFile", _BLOCK).parquet(path)
        found = observation.get
        places = (map(int, pair.split()) for pair in found.get("places", "").split(",") if pair)
        observed = Observed(
            int(found["rows"]),
            frozenset((stratum, iteration) for stratum, iteration in places),
            bool(found.get(OVERFLOW)),
        )
        return path, observed

    def reachable(self, folder: Path) -> str:
        """A path at which executors can read a folder of the driver, valid for the epoch."""
        return files.reachable(self.spark, folder, self._place(folder.name))

    def _place(self, name: str) -> str:
        """A path for files of this epoch."""
        return f"{self.directory}/{self.generations[1]}/{name}"

    def collect_small(self, frame: DataFrame) -> pa.Table | None:
        """The rows of a frame; None if they are many: Spark then plans for many rows."""
        most = self.most_rows
        table = frame.limit(most + 1).toArrow()
        if table.num_rows <= most:
            return table
        self.expect_many_rows()
        return None

    def union(self, several: Iterable[SparkRows], names: Sequence[str]) -> SparkRows:
        """The union of rows, with these columns."""
        parts = [each for each in several if not each.empty]
        form = schema(names)
        tables = [_cast_to(part.table, form) for part in parts if part.table is not None]
        local = pa.concat_tables([form.empty_table(), *tables])
        frames = [part.frame.select(*names) for part in parts if part.table is None]
        if not frames:
            return self.from_table(local)
        if local.num_rows > 0:
            frames.append(self.from_table(local).frame)
        union = frames[0]
        for frame in frames[1:]:
            union = union.unionAll(frame)
        return SparkRows(self.spark, frame=union)

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
        """Configure Spark for many rows within this context."""
        self._plan_for(many=True)
        try:
            yield
        finally:
            self._plan_for(many=self.large)

    def _plan_for(self, *, many: bool) -> None:
        """Configure Spark for few rows (no adaptive execution) or for many."""
        self.many = many
        # Read each time: executors come and go.
        tasks = _TASKS * self.spark.sparkContext.defaultParallelism if many else 1
        self.spark.conf.set("spark.sql.shuffle.partitions", tasks)
        self.spark.conf.set("spark.sql.adaptive.enabled", many)
        # Code generation pays off only for many rows.
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
    _parts: list[tuple[SparkRows, frozenset[tuple[int, int]]]] = field(default_factory=list)

    def add(self, rows: SparkRows) -> None:
        """Append the rows of a step."""
        if not rows.empty:
            self._parts.append((rows, rows.places))

    def stored(self) -> list[tuple[str, list[tuple[int, int]]]]:
        """Write all to files; returns their paths, each with its (stratum, iteration) pairs."""
        return [(self.runner.store(rows), sorted(places)) for rows, places in self._parts]

    def restore(self, parts: Iterable[tuple[str, Iterable[Sequence[int]]]]) -> None:
        """Load differences that another process stored."""
        form = from_arrow_schema(schema(self.names))
        self._parts = [
            (self.runner.stored(path, form), frozenset((s, i) for s, i in places))
            for path, places in parts
        ]

    def select(self, strata: range, iterations: range) -> SparkRows:
        """The rows of some strata and iterations."""
        parts = []
        for rows, places in self._parts:
            selected = {(s, i) for s, i in places if s in strata and i in iterations}
            if selected:
                if len(selected) < len(places):
                    rows = rows.within(STRATUM, strata).within(ITERATION, iterations)  # noqa: PLW2901 - a part of it
                parts.append(rows)
        return self.runner.union(parts, self.names)

    def everything(self) -> SparkRows:
        """All rows."""
        return self.runner.union((rows for rows, _ in self._parts), self.names)

    def following(self, stratum: int, iteration: int) -> int:
        """The first later iteration of a stratum that has rows, or -1."""
        later = (i for _, places in self._parts for s, i in places if s == stratum)
        return min((i for i in later if i > iteration), default=-1)
