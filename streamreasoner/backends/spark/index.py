"""A Delta table of terms and their ids. Invariant: it holds the terms of the ids below its count.

Every term is there twice: in buckets by a checksum of its text, sorted by text, and in ranges of
ids, sorted by id. A look-up of a few reads a few files, whichever way it goes.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamreasoner.backends.spark.columns import BUCKET
from streamreasoner.backends.spark.relation import to_frame
from streamreasoner.backends.spark.table import DeltaTable

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
_RANGE = 16  # bits of an id that say where it is in its range
_NAMED = 10_000  # at most so many are looked up in named buckets; more, in all
_PUSHED = 100  # at most so many are told to the reader of files


class TermIndex:
    """Finds ids of terms and terms of ids.

    Attributes:
        count: Ids below it are there.

    Args:
        spark: The session, with Delta Lake.
        path: Where the table is, or will be.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._table = DeltaTable(spark, path)
        self._frame: DataFrame | None = None
        self.count = 0

    def open(self, terms: DataFrame, total: int) -> None:
        """Take up what an earlier process has left, if it is the beginning of *terms*.

        Args:
            terms: All terms that there are: id, term.
            total: How many.
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
        """Take terms in.

        Args:
            terms: The terms of the ids from `count` on: id, term.
            count: What `count` is from now on.
            last: The last of them.
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
        """The ids of terms, int64 of shape (n,), -1 where one is not there."""
        found = np.full(len(terms), -1, np.int64)
        if self._frame is None or not len(terms):
            return found
        buckets = {_checksum(term) % _BUCKETS for term in terms} if len(terms) <= _NAMED else None
        wanted = pa.table({TERM: pa.array(terms, pa.string()), _ROW: np.arange(len(terms))})
        rows = self._look_up(_BY_TERM, buckets, TERM, wanted).select(_ROW, ID).toArrow()
        found[rows[_ROW].to_numpy()] = rows[ID].to_numpy()
        return found

    def terms(self, ids: NDArray[np.int64]) -> pa.ChunkedArray:
        """The terms of ids that are there, each given once, in the same order."""
        if not len(ids):
            return pa.chunked_array([], pa.string())
        buckets = set((ids >> _RANGE).tolist()) if len(ids) <= _NAMED else None
        wanted = pa.table({ID: ids, _ROW: np.arange(len(ids))})
        rows = self._look_up(_BY_ID, buckets, ID, wanted).select(_ROW, TERM).toArrow()
        return rows.sort_by(_ROW)[TERM]

    def frame(self) -> DataFrame:
        """All: id, term."""
        if self._frame is None:
            return self._spark.createDataFrame([], f"{ID} BIGINT, {TERM} STRING")
        return self._frame.filter(F.col(_SIDE) == _BY_ID).select(ID, TERM)

    def _look_up(
        self, side: str, buckets: set[int] | None, key: str, wanted: pa.Table
    ) -> DataFrame:
        assert self._frame is not None  # noqa: S101 - there is something to look up
        rows = self._frame.filter(F.col(_SIDE) == side)
        if buckets is not None:
            rows = rows.filter(F.col(BUCKET).isin(*buckets))
        if len(wanted) <= _PUSHED:
            rows = rows.filter(F.col(key).isin(*wanted[key].to_pylist()))
        return rows.join(F.broadcast(to_frame(self._spark, wanted)), key)

    def _read(self, count: int) -> None:
        self._frame, self.count = self._table.read(), count


def _place(side: str, bucket: str) -> str:
    return f"named_struct('{_SIDE}', '{side}', '{BUCKET}', CAST({bucket} AS INT))"


def _checksum(term: str) -> int:
    return zlib.crc32(term.encode())
