"""How the table's files are written. Invariant: rows of a file are sorted by the key of its place.

So a probe with few keys reads few pages.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from streamreasoner.backends.spark.queries.columns import (
    ARRANGEMENT,
    BUCKET,
    EPOCH,
    ITERATION,
    argument,
    arguments,
)
from streamreasoner.backends.spark.queries.sql import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

    from streamreasoner.backends.spark.tables.places import Places
    from streamreasoner.plan.algebra import Arrangement

_ORDER = "order"
_LAYOUT = {
    # Small pages without a dictionary, which would be as large as all of them.
    "parquet.page.row.count.limit": "2000",
    "parquet.writer.version": "v2",
    "parquet.enable.dictionary": "false",
}
"""Settings for writing, which Delta takes only from the session."""
_PROPERTIES = {
    # The log is read at every commit, so keep few statistics per file and a short past.
    "delta.dataSkippingStatsColumns": EPOCH,
    "delta.logRetentionDuration": "interval 1 hour",
}
"""Properties of the table, set at its creation."""
ONLY_REPLACED = "spark.databricks.delta.replaceWhere.constraintCheck.enabled"


def sorted_writer(
    rows: DataFrame,
    width: int,
    arrangements: Sequence[Arrangement],
    places: Places,
    *,
    many: bool,
    note: str,
) -> DataFrameWriter:
    """A writer of placed rows, sorted by key within a bucket, one file per bucket if few.

    One bucket, such as that of a frequent class, may have most of the rows. If Spark plans for
    many rows, several tasks write such a bucket.

    Args:
        rows: The rows.
        width: Number of columns of arguments.
        arrangements: Those that rows are placed in.
        places: Where they are.
        many: Whether Spark plans for many rows.
        note: What the commit says of them.
    """
    keys = " ".join(
        f"WHEN {quoted(places.name(arrangement))} THEN {argument(arrangement.key[0])}"
        for arrangement in arrangements
        if arrangement.key
    )
    order = F.expr(f"CASE {ARRANGEMENT} {keys} ELSE 0 END" if keys else "0")
    ordered = rows.withColumn(_ORDER, order)
    shuffled = (
        ordered.hint("rebalance", F.col(ARRANGEMENT), F.col(BUCKET))
        if many
        else ordered.repartition(ARRANGEMENT, BUCKET)
    )
    return (
        shuffled.sortWithinPartitions(ARRANGEMENT, BUCKET, _ORDER, *arguments(width), ITERATION)
        .drop(_ORDER)
        .write.format("delta")
        .partitionBy(ARRANGEMENT, BUCKET)
        .option("userMetadata", note)
        .options(**_PROPERTIES)
    )


def save(spark: SparkSession, writer: DataFrameWriter, path: str, *, elsewhere: bool) -> None:
    """Write what a writer has.

    Args:
        spark: Its session.
        writer: The writer.
        path: The table's folder.
        elsewhere: Whether rows are written to other places than those that they replace.
    """
    with _set(spark, {**_LAYOUT, ONLY_REPLACED: "false"} if elsewhere else _LAYOUT):
        writer.save(path)


@contextmanager
def _set(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session for one write; intermediate files need no such layout."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)
