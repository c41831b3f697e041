"""Facts of a predicate, sorted by the ids at positions. Invariant: the rows stay as they are."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Rows = NDArray[np.int32]

_ENOUGH = 1_000
_ID = 32  # bits of a row's number, below an id
_ROW = (1 << _ID) - 1


class SortedRows:
    """Rows that are sorted by a position when something is sought there first.

    Attributes:
        rows: The rows, int32 of shape (n, arity).

    Args:
        rows: The rows.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = np.asfortranarray(rows)
        self._sorted: dict[int, NDArray[np.int64]] = {}

    def having(self, wanted: Mapping[int, NDArray[np.int32]]) -> Rows:
        """The rows with one of the ids at one of the positions: that where they are fewest.

        Args:
            wanted: Distinct ids, of shape (m,), by position; of at least one.
        """
        groups = []
        # To sort by one more position takes longer than to read a few rows more.
        for at, ids in sorted(wanted.items(), key=lambda each: each[0] not in self._sorted):
            order, keys = self._order(at), ids.astype(np.int64) << _ID
            starts = np.searchsorted(order, keys)
            lengths = np.searchsorted(order, keys + (1 << _ID)) - starts
            groups.append((int(lengths.sum()), at, starts, lengths))
            if groups[-1][0] <= _ENOUGH:
                break
        total, at, starts, lengths = min(groups, key=itemgetter(0))
        # The places of all groups, one after the other.
        first = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        found: Rows = self.rows[self._order(at)[first + np.arange(total)] & _ROW]
        return found

    def _order(self, position: int) -> NDArray[np.int64]:
        """The ids at a position with the numbers of their rows, sorted."""
        if position not in self._sorted:
            ids = self.rows[:, position].astype(np.int64)
            self._sorted[position] = (ids << _ID) | np.arange(len(ids))
            self._sorted[position].sort()
        return self._sorted[position]
