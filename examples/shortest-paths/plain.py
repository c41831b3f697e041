"""Shortest paths in plain PySpark. Invariant: the same facts as `rules.dl`, from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def derive(start: DataFrame, road: DataFrame) -> dict[str, DataFrame]:
    """Rounds that shorten distances by one road each, until a round shortens none."""
    road = road.toDF("x", "y", "w").localCheckpoint()
    distance = start.toDF("x").distinct().withColumn("d", f.lit(0)).localCheckpoint()
    while True:
        onward = distance.join(road, "x").select("y", f.expr("d + w"))
        shorter = distance.union(onward).groupBy("x").agg(f.min("d").alias("d")).localCheckpoint()
        if shorter.subtract(distance).isEmpty():
            break
        distance = shorter
    last = distance.toDF("y", "e")
    via = distance.join(road, "x").join(last, "y").filter("e = d + w").select("y", "x").distinct()
    towns = road.select("x").union(road.select("y"))
    return {"distance": distance, "via": via, "cutOff": towns.subtract(distance.select("x"))}
