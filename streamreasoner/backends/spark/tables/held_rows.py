"""Arrangements in the driver. Invariant: each run of rows is sorted by a hash of the key.

So a probe with few keys looks each of them up, and reads no other rows. Runs are merged as in a
log-structured merge tree (O'Neil et al., 1996): an epoch of few rows costs what it adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.backends.spark.queries.columns import argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from streamreasoner.plan.algebra import Arrangement

_WEIGHT = np.uint64(0x9E3779B97F4A7C15)  # odd; spreads dense ids over 64 bits
_PROBED = 2  # a probe takes all rows of a run unless this part of them is left out
_GROWTH = 2  # a run is merged with later ones unless it is more times as long as they are


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows by ascending hash of their key, uint64 of shape (n,)."""

    rows: pa.Table
    hashes: NDArray[np.uint64]


class HeldRows:
    """Rows of an arrangement, which may be added to.

    Args:
        arrangement: Which.
        summed: Sums the differences of tables of rows by fact and iteration.
        form: The columns of the rows.
    """

    def __init__(
        self,
        arrangement: Arrangement,
        summed: Callable[[Iterable[pa.Table]], pa.Table],
        form: pa.Schema,
    ) -> None:
        self._key = arrangement.key
        self._summed = summed
        self._none = form.empty_table()
        self._runs: list[_Run] = []

    def __len__(self) -> int:
        """The number of rows."""
        return sum(run.rows.num_rows for run in self._runs)

    def add(self, rows: pa.Table) -> None:
        """Add rows, in any order."""
        if not rows.num_rows:
            return
        parts = [rows]
        while self._runs and len(self._runs[-1].hashes) <= _GROWTH * sum(map(len, parts)):
            parts.append(self._runs.pop().rows)
        rows = self._summed(parts)
        hashes = _hashes(rows, map(argument, self._key))
        order = np.argsort(hashes)
        self._runs.append(_Run(rows.take(order).combine_chunks(), hashes[order]))

    def probe(self, keys: pa.Table | None, names: Mapping[int, str]) -> pa.Table:
        """The rows that have one of the keys, and possibly others.

        Args:
            keys: Ids; without them, or without those of the whole key, all rows.
            names: Columns of *keys* by position of the fact.
        """
        tables = [run.rows for run in self._runs]
        if keys is not None and self._key and names.keys() >= set(self._key):
            wanted = np.unique(_hashes(keys, (names[position] for position in self._key)))
            tables = [_found(run, wanted) for run in self._runs]
        return pa.concat_tables([self._none, *tables])


def _found(run: _Run, wanted: NDArray[np.uint64]) -> pa.Table:
    """The rows of a run with certain hashes, or all of them."""
    first = np.searchsorted(run.hashes, wanted, "left")
    counts = np.searchsorted(run.hashes, wanted, "right") - first
    found = int(counts.sum())
    if found * _PROBED > len(run.hashes):
        return run.rows
    # The positions of each range of equal hashes, one range after another.
    starts = np.repeat(first - np.cumsum(counts) + counts, counts)
    return run.rows.take(starts + np.arange(found))


def _hashes(table: pa.Table, columns: Iterable[str]) -> NDArray[np.uint64]:
    """A hash of some columns of ids, row by row."""
    hashes = np.zeros(table.num_rows, np.uint64)
    for column in columns:
        hashes = (hashes + table[column].to_numpy().astype(np.uint64)) * _WEIGHT
    return hashes
