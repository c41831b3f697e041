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

from streamreasoner.backends.spark.queries.columns import BUCKET
from streamreasoner.backends.spark.queries.spark_rows import to_frame
from streamreasoner.backends.spark.tables.delta_table import DeltaTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession


ID = "id"
TERM = "term"
_SIDE = "side"
_ROW = "row"
_BY_ID, _BY_TERM = "id", "term"
_BUCKETS = 64
_RANGE = 16  # bits of an id below its range
_LATEST = 5  # commits that the last note is among
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
        notes = self._table.notes(_LATEST)
        if notes:
            count, checksum = map(int, notes[0][1].split())
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
        ordered = rows.repartition(_SIDE, BUCKET).sortWithinPartitions(_SIDE, BUCKET, order, ID)
        writer = ordered.write.format("delta").mode("append").partitionBy(_SIDE, BUCKET)
        writer.option("userMetadata", f"{count} {_checksum(last)}").save(self._table.path)
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
