"""A Delta table of the state, as Spark and its log have it. Invariant: one process writes it.

Spark commits: executors write the rows, to file systems that Python does not open. What is in
effect is read from the log like that of any other table.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from streamreasoner.backends.spark import files
from streamreasoner.errors import StateError
from streamreasoner.state.delta.replay import Place, Replay

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from streamreasoner.state.delta.log import Action

_COMMIT = re.compile(r"\d{20}\.json")
_FEATURES = 7
"""The first writer version with named features; below it, Spark lists what the version implies."""


class DeltaTable:
    """One table.

    Args:
        spark: The session, with Delta Lake.
        path: The table's folder, which may not exist yet.

    Attributes:
        log: The table's log.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark = spark
        self.path = path
        self._way_out = f"delete {path} and restart it: the state is rebuilt from the tables."
        refused = (
            "Settings of Spark or another program have changed it. Stop the pipeline, remove such "
            "settings (spark.databricks.delta.properties.defaults in spark.options), "
            f"{self._way_out}"
        )
        self.log = Place(path, self._commit, refused, refused)

    def read(self, version: int | None = None) -> DataFrame:
        """All rows of a version, the last by default."""
        reader = self.spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(self.path)

    def notes(self, count: int) -> list[tuple[int, str]]:
        """Versions and notes of the last commits that have one, the last first."""
        found = []
        names = files.names(self.spark, f"{self.path}/_delta_log")
        for name in sorted(filter(_COMMIT.fullmatch, names), reverse=True)[:count]:
            version = int(name.removesuffix(".json"))
            for action in self._commit(version) or ():
                note = action.get("commitInfo", {}).get("userMetadata")
                if note:
                    found.append((version, note))
        return found

    def check(self) -> None:
        """Check that the table's files can be read without Delta.

        Raises:
            StateError: They need Delta features that this version does not read.
        """
        [detail] = self.spark.sql(f"DESCRIBE DETAIL delta.`{self.path}`").collect()
        protocol = {
            "minReaderVersion": detail.minReaderVersion,
            "minWriterVersion": detail.minWriterVersion,
        }
        if detail.minWriterVersion >= _FEATURES:
            protocol["writerFeatures"] = detail.tableFeatures
        Replay(self.log).apply([{"protocol": protocol}])

    def clear(self) -> None:
        """Delete the table."""
        files.delete(self.spark, self.path)

    def _commit(self, version: int) -> list[Action] | None:
        """The actions of a commit, None if it does not exist yet."""
        place = f"{self.path}/_delta_log/{version:020}.json"
        text = files.text(self.spark, place)
        try:
            return None if text is None else [json.loads(line) for line in text.splitlines()]
        except ValueError:
            raise StateError(
                f"The Delta commit {place} is damaged. Stop the pipeline, {self._way_out}"
            ) from None
