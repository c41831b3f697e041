"""A Delta table of terms and their ids. Invariant: it holds the terms of the ids below its count.

Every term is stored twice: in buckets by a checksum of its text, sorted by text, and in ranges of
ids, sorted by id. Looking up a few terms or a few ids reads few files.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.queries.columns import BUCKET
from streamreasoner.backends.spark.queries.relation import to_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
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


ID = "id"
TERM = "term"
_SIDE = "side"
_ROW = "row"
_BY_ID, _BY_TERM = "id", "term"
_BUCKETS = 64
_RANGE = 16  # bits of an id below its range
_NAMED = 10_000  # larger look-ups read all buckets
_PUSHED = 100  # larger look-ups are not pushed down to the reader


class TermTable:
    """Finds ids of terms and terms of ids.

    Attributes:
        count: The table has all ids below it.

    Args:
        spark: The session, with Delta Lake.
        path: The table's folder, which may not exist yet.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._table = DeltaTable(spark, path)
        self._frame: DataFrame | None = None
        self.count = 0

    def open(self, terms: DataFrame, total: int) -> None:
        """Open the table of an earlier process if it is a prefix of *terms*, else clear it.

        Args:
            terms: All terms: id, term.
            total: Their number.
        """
        note = self._table.last_note()
        if note is not None:
            count, checksum = map(int, note.split())
            last = terms.filter(F.col(ID) == count - 1).head()
            if count <= total and last is not None and _checksum(last[TERM]) == checksum:
                self._read(count)
                return
        self._table.clear()
        self._frame, self.count = None, 0

    def append(self, terms: DataFrame, count: int, last: str) -> None:
        """Append terms.

        Args:
            terms: The terms of the ids from the old `count` on: id, term.
            count: The new `count`.
            last: The last of the terms.
        """
        by_id = _place(_BY_ID, f"shiftright({ID}, {_RANGE})")
        by_term = _place(_BY_TERM, f"crc32({TERM}) % {_BUCKETS}")
        rows = terms.selectExpr(
            f"explode(array({by_id}, {by_term})) AS place", f"CAST({ID} AS BIGINT) AS {ID}", TERM
        ).selectExpr("place.*", ID, TERM)
        order = F.when(F.col(_SIDE) == _BY_TERM, F.col(TERM))
        self._table.append(
            rows.repartition(_SIDE, BUCKET).sortWithinPartitions(_SIDE, BUCKET, order, ID),
            (_SIDE, BUCKET),
            f"{count} {_checksum(last)}",
        )
        self._read(count)

    def find(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """The ids of terms, int64 of shape (n,), -1 for unknown terms."""
        ids = np.full(len(terms), -1, np.int64)
        if self._frame is None or not len(terms):
            return ids
        buckets = {_checksum(term) % _BUCKETS for term in terms} if len(terms) <= _NAMED else None
        keys = pa.table({TERM: pa.array(terms, pa.string()), _ROW: np.arange(len(terms))})
        rows = self._look_up(_BY_TERM, buckets, TERM, keys).select(_ROW, ID).toArrow()
        ids[rows[_ROW].to_numpy()] = rows[ID].to_numpy()
        return ids

    def terms(self, ids: NDArray[np.int64]) -> pa.ChunkedArray:
        """The terms of distinct ids that the table has, in the same order."""
        if not len(ids):
            return pa.chunked_array([], pa.string())
        buckets = set((ids >> _RANGE).tolist()) if len(ids) <= _NAMED else None
        keys = pa.table({ID: ids, _ROW: np.arange(len(ids))})
        rows = self._look_up(_BY_ID, buckets, ID, keys).select(_ROW, TERM).toArrow()
        return rows.sort_by(_ROW)[TERM]

    def frame(self) -> DataFrame:
        """All terms: id, term."""
        if self._frame is None:
            return self._spark.createDataFrame([], f"{ID} BIGINT, {TERM} STRING")
        return self._frame.filter(F.col(_SIDE) == _BY_ID).select(ID, TERM)

    def _look_up(self, side: str, buckets: set[int] | None, key: str, keys: pa.Table) -> DataFrame:
        assert self._frame is not None  # noqa: S101 - callers check
        rows = self._frame.filter(F.col(_SIDE) == side)
        if buckets is not None:
            rows = rows.filter(F.col(BUCKET).isin(*buckets))
        if len(keys) <= _PUSHED:
            rows = rows.filter(F.col(key).isin(*keys[key].to_pylist()))
        return rows.join(F.broadcast(to_frame(self._spark, keys)), key)

    def _read(self, count: int) -> None:
        self._frame, self.count = self._table.read(), count


def _place(side: str, bucket: str) -> str:
    return f"named_struct('{_SIDE}', '{side}', '{BUCKET}', CAST({bucket} AS INT))"


def _checksum(term: str) -> int:
    return zlib.crc32(term.encode())
