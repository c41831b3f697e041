"""An append-only Delta table. Invariant: the note of its last commit describes its contents."""

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
        path: The table's folder, which may not exist yet.
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
        commits = self._spark.sql(f"DESCRIBE HISTORY delta.`{self._path}` LIMIT 5").collect()
        return next((commit.userMetadata for commit in commits if commit.userMetadata), None)

    def clear(self) -> None:
        """Delete the table."""
        files.delete(self._spark, self._path)
