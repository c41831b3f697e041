"""Access by roles in plain PySpark. Invariant: the same facts as `rules.dl`, from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def derive(
    *,
    member: DataFrame,
    inherits: DataFrame,
    excludes: DataFrame,
    grants: DataFrame,
    denies: DataFrame,
    exempts: DataFrame,
) -> dict[str, DataFrame]:
    """Roles by rounds of inheritance; the rest by joins, and anti-joins for what is negated."""
    what = ("a", "o")
    inherits = inherits.toDF("r", "s")
    has = new = member.toDF("u", "r").localCheckpoint()
    while not new.isEmpty():
        more = new.toDF("u", "r").join(inherits, "r").select("u", "s")
        new = more.distinct().subtract(has).localCheckpoint()
        has = has.union(new).localCheckpoint()
    conflict = excludes.toDF("r", "s").join(has, "r").join(has.toDF("u", "s"), ["u", "s"])
    conflict = conflict.select("u", "r", "s").distinct().localCheckpoint()
    idle = conflict.select("u", "r").union(conflict.select("u", "s"))
    acts = has.subtract(idle)
    denied = has.join(denies.toDF("r", *what), "r").select("u", *what)
    denied = denied.subtract(exempts.toDF("u", *what))
    granted = acts.join(grants.toDF("r", *what), "r").select("u", *what)
    return {"may": granted.subtract(denied), "conflict": conflict}
