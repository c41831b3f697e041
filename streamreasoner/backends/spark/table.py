"""A Delta table that is appended to. Invariant: what it means is in the note of its last commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.spark import files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession


class DeltaTable:
    """One table.

    Args:
        spark: The session, with Delta Lake.
        path: Where it is, or will be.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path

    def read(self) -> DataFrame:
        """All rows."""
        return self._spark.read.format("delta").load(self._path)

    def append(self, rows: DataFrame, partitions: Sequence[str], note: str) -> None:
        """Add rows, with a note."""
        writer = rows.write.format("delta").mode("append").partitionBy(*partitions)
        writer.option("userMetadata", note).save(self._path)

    def last_note(self) -> str | None:
        """The note of the last commit that has one; None if there is no table."""
        if not files.exists(self._spark, f"{self._path}/_delta_log"):
            return None
        found = self._spark.sql(f"DESCRIBE HISTORY delta.`{self._path}` LIMIT 5").collect()
        return next((one.userMetadata for one in found if one.userMetadata), None)

    def clear(self) -> None:
        """Forget everything."""
        files.delete(self._spark, self._path)
