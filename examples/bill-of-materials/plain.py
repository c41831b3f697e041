"""Bill of materials in plain PySpark. Invariant: the same facts as `rules.dl`, from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def derive(part: DataFrame, price: DataFrame) -> dict[str, DataFrame]:
    """Closure of what holds what, to find circles; then one round of sums for each level."""
    part = part.toDF("y", "z", "m").localCheckpoint()
    price = price.toDF("y", "c")
    holds = new = part.select("y", "z").toDF("x", "z").distinct().localCheckpoint()
    while not new.isEmpty():
        deeper = new.toDF("x", "y").join(part, "y").select("x", "z")
        new = deeper.distinct().subtract(holds).localCheckpoint()
        holds = holds.union(new).localCheckpoint()
    circular = holds.filter("x = z").select("x")
    around = holds.join(circular.toDF("z"), "z").select("x")
    faulty = circular.union(around).distinct().localCheckpoint()
    number = 1
    use = part.toDF("x", "y", "n").join(faulty, "x", "left_anti").withColumn("l", f.lit(number))
    levels = use = use.localCheckpoint()
    while not use.isEmpty():
        number += 1
        deeper = use.join(part, "y").select("x", f.col("z").alias("y"), f.expr("n * m").alias("n"))
        use = deeper.groupBy("x", "y").agg(f.sum("n").alias("n")).withColumn("l", f.lit(number))
        use = use.localCheckpoint()
        levels = levels.union(use).localCheckpoint()
    level = levels.groupBy("x", "l").agg(f.countDistinct("y"), f.sum("n"))
    total = levels.groupBy("x", "y").agg(f.sum("n").alias("n")).localCheckpoint()
    cost = total.join(price, "y").groupBy("x").agg(f.sum(f.expr("n * c")))
    bought = total.join(part.select("y"), "y", "left_anti")
    unpriced = bought.join(price, "y", "left_anti").select("x", "y")
    return {"total": total, "level": level, "cost": cost, "unpriced": unpriced, "faulty": faulty}
