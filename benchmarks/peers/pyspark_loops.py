"""Plain PySpark without an engine: joins in a loop until nothing new is derived.

Invariant: the loops are semi-naive and as fast as plain Spark allows: small relations are
broadcast, the lineage is cut after every round, and no known fact is derived again. Each loop reads
Parquet files and ends when all facts are computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - its usual name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SMALL = 1_000_000
"""Most rows of a relation that is broadcast."""


def rho_df(spark: SparkSession, path: Path, ids: Mapping[str, int]) -> DataFrame:
    """The closure of triples (a0, a1, a2) under ρDF.

    The schema is closed first, then the data with the schema broadcast; if the data derived more
    schema, both are repeated.

    Args:
        spark: The session.
        path: Parquet files of triples.
        ids: Of `type`, `sub_class`, `sub_property`, `domain` and `range`.
    """
    vocabulary = [ids[name] for name in ("sub_class", "sub_property", "domain", "range")]
    known = spark.read.parquet(str(path)).distinct().localCheckpoint()
    size = 0
    while True:
        schema = known.filter(F.col("a1").isin(vocabulary)).localCheckpoint()
        if (count := schema.count()) == size:
            return known
        classes, properties = (
            F.broadcast(_transitive(schema.filter(F.col("a1") == ids[name])))
            for name in ("sub_class", "sub_property")
        )
        edges = [
            closed.select("low", F.lit(ids[name]).alias("a1"), "high").toDF("a0", "a1", "a2")
            for name, closed in (("sub_class", classes), ("sub_property", properties))
        ]
        domains, ranges = (
            F.broadcast(
                schema.filter(F.col("a1") == ids[name]).select(
                    F.col("a0").alias("low"), F.col("a2").alias("high")
                )
            )
            for name in ("domain", "range")
        )
        new = _fresh(edges[0].unionAll(edges[1]), known)
        size = count + new.count()
        known = delta = known.unionAll(new)
        kind = F.lit(ids["type"]).alias("a1")
        while not delta.isEmpty():
            typed = delta.filter(F.col("a1") == ids["type"])
            derived = (
                typed.join(classes, F.col("a2") == F.col("low")).select("a0", "a1", "high"),
                delta.join(properties, F.col("a1") == F.col("low")).select("a0", "high", "a2"),
                delta.join(domains, F.col("a1") == F.col("low")).select("a0", kind, "high"),
                delta.join(ranges, F.col("a1") == F.col("low")).select("a2", kind, "high"),
            )
            together = derived[0]
            for part in derived[1:]:
                together = together.union(part)
            delta = _fresh(together.toDF("a0", "a1", "a2"), known)
            known = known.unionAll(delta)


def closure(spark: SparkSession, path: Path) -> DataFrame:
    """All paths (a0, a1) over the edges (a0, a1)."""
    edges = spark.read.parquet(str(path)).distinct().localCheckpoint()
    steps = _perhaps_small(edges.toDF("low", "high"))
    known = delta = edges
    while not delta.isEmpty():
        longer = delta.join(steps, F.col("a1") == F.col("low")).select("a0", "high")
        delta = _fresh(longer.toDF("a0", "a1"), known)
        known = known.unionAll(delta)
    return known


def sssp(spark: SparkSession, path: Path) -> DataFrame:
    """The least distance (a0: node, a1: distance) from node 0 over the edges (a0, a1, a2)."""
    edges = spark.read.parquet(str(path)).localCheckpoint()
    steps = _perhaps_small(edges.toDF("low", "high", "weight"))
    best = spark.createDataFrame([(0, 0)], "a0 BIGINT, a1 BIGINT").localCheckpoint()
    delta = best
    while not delta.isEmpty():
        offers = (
            delta.join(steps, F.col("a0") == F.col("low"))
            .groupBy("high")
            .agg(F.min(F.col("a1") + F.col("weight")).alias("offer"))
        )
        delta = (
            offers.join(best, F.col("high") == F.col("a0"), "left")
            .filter("a1 IS NULL OR offer < a1")
            .select("high", "offer")
            .toDF("a0", "a1")
            .localCheckpoint()
        )
        best = best.join(delta, "a0", "left_anti").unionAll(delta).localCheckpoint()
    return best


def _fresh(derived: DataFrame, known: DataFrame) -> DataFrame:
    """Rows that are derived and not known, computed eagerly."""
    return derived.distinct().join(known, known.columns, "left_anti").localCheckpoint()


def _perhaps_small(frame: DataFrame) -> DataFrame:
    return F.broadcast(frame) if frame.count() <= SMALL else frame


def _transitive(edges: DataFrame) -> DataFrame:
    """The closure (low, high) of a few edges."""
    known = edges.select(F.col("a0").alias("low"), F.col("a2").alias("high")).localCheckpoint()
    delta = known
    while not delta.isEmpty():
        longer = delta.alias("d").join(known.alias("k"), F.expr("d.high = k.low"))
        delta = _fresh(longer.selectExpr("d.low", "k.high"), known)
        known = known.unionAll(delta)
    return known
