"""A dictionary larger than the driver's memory. Invariant: ids are those of `rdf.Dictionary`.

Ids are 0, 1, 2, ... in order of first appearance. The driver has the newest terms and those that
recent epochs used; a Delta table has the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.queries.spark_rows import to_frame
from streamreasoner.backends.spark.tables.term_table import ID, TERM, TermTable
from streamreasoner.errors import OutOfIdsError, StateError
from streamreasoner.rdf.dictionary import ID_BYTES, INVALID, MAX_TERMS, Dictionary
from streamreasoner.system.memory import Fill

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from streamreasoner.rdf.dictionary import Terms

NEWEST = 1 << 20
"""Most terms that are in the driver alone; when there are more, they move to the table."""
TERM_BYTES = 1024
"""Memory that the driver must have for each of them: a term takes a tenth of it."""
REMEMBERED = 1 << 18
"""Most terms of the table that the driver caches from one epoch to the next."""


class DistributedDictionary:
    """Terms and their ids (int32, dense from 0). One thread at a time may use it.

    Args:
        spark: The session, with Delta Lake.
        path: The table's folder; all executors must reach it.
        memory: Bytes of the driver's memory that bound the terms in it; None for as many as
            `NEWEST` allows.
    """

    def __init__(self, spark: SparkSession, path: str, *, memory: int | None = None) -> None:
        self.place = path
        self._spark = spark
        self._memory = memory
        self._table = TermTable(spark, path)
        self._copy = f"{path}-copy"
        self._count = self._settled = 0
        self._remember(pa.array([], pa.large_string()))

    @files.explained
    def resume(self, table: Path) -> None:
        """Load the terms of an earlier run.

        Args:
            table: A Delta table with the columns `id` and `term`; the driver must reach it.

        Raises:
            StateError: The ids have a gap or a duplicate.
        """
        files.delete(self._spark, self._copy)
        place = files.reachable(self._spark, table, self._copy)
        terms = self._spark.read.format("delta").load(place).select(ID, TERM)
        total, highest = terms.agg(F.count("*"), F.max(ID)).first() or (0, None)
        if total and highest != total - 1:
            raise StateError(
                f"The ids of {table} are not 0 to {total - 1} without gap or duplicate. "
                "Restore the table from a backup, or delete the state and start from the beginning."
            )
        self._table.open(terms, total)
        if total - self._table.count > self._most_new:
            missing = terms.filter(F.col(ID) >= self._table.count)
            (last,) = terms.filter(F.col(ID) == total - 1).select(TERM).first() or ("",)
            self._table.append(missing, total, last)
        newest = terms.filter(F.col(ID) >= self._table.count).toArrow().sort_by(ID)
        self._count = self._settled = total
        self._remember(newest[TERM].cast(pa.large_string()))
        files.delete(self._spark, self._copy)

    def __len__(self) -> int:
        return self._count

    @property
    def local(self) -> Dictionary:
        """Terms with process-local ids, which `resolve` maps to ids; file readers fill it."""
        return self._known

    @property
    def ids(self) -> Fill:
        """How many ids are in use: they have 31 bits."""
        return Fill(ID_BYTES * len(self), ID_BYTES * MAX_TERMS)

    @property
    def nbytes(self) -> int:
        """Bytes of the driver's memory in use."""
        return self._known.nbytes + self._ids.nbytes

    def resolve(self, local: NDArray[np.int32]) -> NDArray[np.int32]:
        """Ids for process-local ids, of any shape; new terms are added."""
        self._identify()
        return self._ids[local].astype(np.int32)

    def encode(self, terms: Terms) -> NDArray[np.int32]:
        """Ids of canonical terms; unseen ones are added."""
        return self.resolve(self._known.encode(terms))

    def encode_validated(self, terms: Terms) -> NDArray[np.int32]:
        """Ids of terms as users write them, -1 where a row is null or not a term."""
        ids = self._known.encode_validated(terms)
        valid = ids != INVALID
        ids[valid] = self.resolve(ids[valid])
        return ids

    def intern(self, term: str) -> int:
        """Id of a canonical term, added if unseen."""
        return int(self.encode(pa.array([term], pa.large_string()))[0])

    def find(self, term: str) -> int | None:
        """Id of a canonical term, or None if it was never added."""
        self._identify()
        local = self._known.find(term)
        if local is not None:
            return int(self._ids[local])
        term_id = int(self._table.find([term])[0])
        return None if term_id < 0 else term_id

    def decode(self, ids: NDArray[np.integer]) -> pa.LargeStringArray:
        """The terms of `ids` (any shape, flattened), in the same order.

        Raises:
            IndexError: An id was never assigned.
        """
        flat = np.ascontiguousarray(ids, np.int64).reshape(-1)
        if len(flat) and (flat.min() < 0 or flat.max() >= self._count):
            unknown = flat[(flat < 0) | (flat >= self._count)][0]
            raise IndexError(f"Id {unknown} was never assigned; there are {self._count} terms.")
        distinct, rows = np.unique(flat, return_inverse=True)
        local = self._local(distinct)
        missing = local < 0
        if missing.any():
            local[missing] = self._load_ids_of(distinct[missing])
        return self._known.decode(local[rows])

    def terms(self, start: int, stop: int) -> pa.LargeStringArray:
        """The terms with ids from `start` to before `stop`, of those that the driver has."""
        return self.decode(np.arange(start, stop))

    def frame(self) -> DataFrame:
        """All terms for executors: id, term."""
        newest = self.terms(self._table.count, self._count).cast(pa.string())
        ids = np.arange(self._table.count, self._count)
        return self._table.frame().unionAll(
            to_frame(self._spark, pa.table({ID: ids, TERM: newest}))
        )

    @files.explained
    def settle(self, keep: Terms) -> None:
        """After an epoch: move terms to the table, and evict cached terms if there are many.

        Only terms of epochs before the last are moved: those of the last may not be durable yet.

        Args:
            keep: Canonical terms that stay in the driver, all of them known.
        """
        first, last = self._table.count, self._settled
        self._settled = self._count
        if last - first >= self._most_new:
            moved = pa.table({ID: np.arange(first, last), TERM: self.terms(first, last)})
            text = moved[TERM][-1].as_py()
            self._table.append(to_frame(self._spark, moved), last, text)
        if len(self._known) - (self._count - self._table.count) > REMEMBERED:
            known = self.encode(keep).astype(np.int64)
            kept = np.unique(known[known < self._table.count])
            texts = self.decode(kept)
            self._remember(self.terms(self._table.count, self._count))
            self._known.encode(texts)
            self._add(kept)

    @property
    def _most_new(self) -> int:
        """Most terms that are in the driver alone, at least one."""
        fitting = NEWEST if self._memory is None else self._memory // TERM_BYTES
        return max(1, min(NEWEST, fitting))

    def _remember(self, newest: pa.Array | pa.ChunkedArray) -> None:
        """Cache the newest terms in the driver, and no others."""
        self._known = Dictionary()
        self._known.encode(newest)
        self._ids = np.arange(self._table.count, self._count)
        self._sorted: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    @files.explained
    def _identify(self) -> None:
        """Assign ids to terms that this process has seen since the last call."""
        if len(self._known) == len(self._ids):
            return
        terms = self._known.terms(len(self._ids), len(self._known)).to_pylist()
        ids = self._table.find(terms)
        new = ids < 0
        ids[new] = np.arange(self._count, self._count + new.sum())
        if self._count + new.sum() > MAX_TERMS:
            raise OutOfIdsError(self._count)
        self._count += int(new.sum())
        self._add(ids)

    @files.explained
    def _load_ids_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Load terms of the table into the driver; returns their local ids."""
        self._identify()
        local = self._known.encode(self._table.terms(ids).cast(pa.large_string()))
        self._add(ids)
        return local.astype(np.int64)

    def _add(self, ids: NDArray[np.int64]) -> None:
        self._ids = np.concatenate([self._ids, ids])
        self._sorted = None

    def _local(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Local ids of ids, -1 for terms that are not in the driver."""
        self._identify()
        if self._sorted is None:
            order = np.argsort(self._ids, kind="stable")
            self._sorted = self._ids[order], order
        known, order = self._sorted
        if not len(known):
            return np.full(len(ids), -1, np.int64)
        place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.where(known[place] == ids, order[place], -1)
