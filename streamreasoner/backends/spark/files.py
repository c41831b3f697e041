"""The data files of the state's table, by arrangement and bucket. Invariant: what Delta's log says.

The driver knows them, so a probe of few keys names its files and starts no job to find them. They
are listed once, by Delta; then each commit is read from its own entry of the log.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from streamreasoner.backends.spark.columns import ARRANGEMENT, BUCKET

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession


class Files:
    """Follows the log of a table that only this process writes.

    Args:
        spark: The session, with Delta Lake.
        path: The table's folder.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path
        self._version = -1
        self._paths: dict[tuple[str, int], list[str]] = {}

    def of(self, arrangement: str, buckets: Iterable[int]) -> list[str]:
        """The files of some buckets."""
        return [path for bucket in buckets for path in self._paths.get((arrangement, bucket), ())]

    def open(self, version: int) -> None:
        """List the files of a version, which is the last."""
        frame = self._spark.read.format("delta").load(self._path)
        jvm: Any = self._spark._jvm  # noqa: SLF001 - one call for all names, not one for each
        names = jvm.java.lang.String.join("\n", frame._jdf.inputFiles())  # noqa: SLF001 - as above
        self._paths = {}
        for name in filter(None, names.split("\n")):
            path = unquote(name)
            *_, arrangement, bucket, _file = path.split("/")
            self._add(_value(arrangement), int(_value(bucket)), path)
        self._version = version

    def follow(self) -> None:
        """Read the commits since."""
        while (entry := self._read(self._version + 1)) is not None:
            self._version += 1
            actions = [json.loads(line) for line in entry.splitlines()]
            for one in (action["remove"] for action in actions if "remove" in action):
                path = self._absolute(one["path"])
                *_, arrangement, bucket, _file = path.split("/")
                self._paths[_value(arrangement), int(_value(bucket))].remove(path)
            for one in (action["add"] for action in actions if "add" in action):
                values = one["partitionValues"]
                path = self._absolute(one["path"])
                self._add(values[ARRANGEMENT], int(values[BUCKET]), path)

    def _add(self, arrangement: str, bucket: int, path: str) -> None:
        self._paths.setdefault((arrangement, bucket), []).append(path)

    def _absolute(self, path: str) -> str:
        """A file of the table, as the log names it."""
        return f"{self._path}/{unquote(path)}"

    def _read(self, version: int) -> str | None:
        """The log's entry for a version, None if there is none."""
        jvm: Any = self._spark._jvm  # noqa: SLF001 - Hadoop's file systems have no other door
        hadoop = jvm.org.apache.hadoop.fs
        path = hadoop.Path(f"{self._path}/_delta_log/{version:020}.json")
        system = path.getFileSystem(self._spark._jsc.hadoopConfiguration())  # noqa: SLF001 - as above
        if not system.exists(path):
            return None
        stream = system.open(path)
        try:
            return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()


def _value(folder: str) -> str:
    return folder.split("=", 1)[1]
