"""Transitive closure in plain PySpark. Invariant: the same facts as `rules.dl`, from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def derive(edge: DataFrame) -> dict[str, DataFrame]:
    """All paths: rounds that join the newest ones with the edges, until a round finds nothing."""
    edge = edge.toDF("y", "z")
    path = new = edge.toDF("x", "z").localCheckpoint()
    while not new.isEmpty():
        longer = new.toDF("x", "y").join(edge, "y").select("x", "z")
        new = longer.distinct().subtract(path).localCheckpoint()
        path = path.union(new).localCheckpoint()
    return {"path": path}
