"""Triangles in plain PySpark. Invariant: the same facts as `rules.dl`, from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def derive(edge: DataFrame) -> dict[str, DataFrame]:
    """Links with the lesser node first, joined with themselves twice."""
    edge = edge.toDF("x", "y").filter("x != y")
    link = edge.select(f.least("x", "y"), f.greatest("x", "y")).distinct()
    triangle = (
        link.toDF("x", "y").join(link.toDF("y", "z"), "y").join(link.toDF("x", "z"), ["x", "z"])
    )
    triangle = triangle.select("x", "y", "z").localCheckpoint()
    corner = f.explode(f.array("x", "y", "z")).alias("x")
    total = triangle.agg(f.count("*").alias("n")).filter("n > 0")
    return {
        "triangle": triangle,
        "around": triangle.select(corner).groupBy("x").count(),
        "total": total,
    }
