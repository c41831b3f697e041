"""Same generation in plain PySpark. Invariant: the same facts as `rules.dl`, from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def derive(parent: DataFrame) -> dict[str, DataFrame]:
    """Siblings first; then rounds that go one generation down on both sides."""
    left, right = parent.toDF("x", "p"), parent.toDF("y", "q")
    siblings = left.join(right, left.p == right.q).select("x", "y")
    same = new = siblings.filter("x != y").distinct().localCheckpoint()
    while not new.isEmpty():
        down = new.toDF("p", "q").join(left, "p").join(right, "q").select("x", "y")
        new = down.filter("x != y").distinct().subtract(same).localCheckpoint()
        same = same.union(new).localCheckpoint()
    return {"same": same}
