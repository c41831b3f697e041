"""Connected components in plain PySpark. Invariant: the same facts as `rules.dl`, from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def derive(link: DataFrame) -> dict[str, DataFrame]:
    """Rounds in which every node takes the least label of its neighbours, until none changes."""
    link = link.toDF("x", "y")
    near = link.union(link.select("y", "x")).distinct().localCheckpoint()
    component = near.select("x", f.col("x").alias("c")).distinct().localCheckpoint()
    while True:
        heard = component.join(near, "x").select("y", "c")
        least = component.union(heard).groupBy("x").agg(f.min("c").alias("c")).localCheckpoint()
        if least.subtract(component).isEmpty():
            break
        component = least
    return {"component": component, "size": component.groupBy("c").count()}
