"""Triples of ids by any of their terms. Invariant: each lookup is a range of a sorted array.

Three orders are enough for all patterns (Weiss, Karras, Bernstein: Hexastore, VLDB 2008): one that
begins with the bound terms has the matches side by side.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_ORDERS = ((0, 1, 2), (1, 2, 0), (2, 0, 1))


class SortedTriples:
    """Rows of term ids, sorted when they are first looked up: 12 bytes a triple and an order.

    Args:
        triples: Each once, int32 of shape (n, 3).
    """

    def __init__(self, triples: NDArray[np.int32]) -> None:
        self._triples = triples

    def __len__(self) -> int:
        return len(self._triples)

    def matching(self, pattern: Sequence[int | None]) -> NDArray[np.int32]:
        """The triples that have the given ids, int32 of shape (n, 3); None: any."""
        bound = [position for position in range(3) if pattern[position] is not None]
        if not bound:
            return self._triples
        order = next(each for each in _ORDERS if {*each[: len(bound)]} == {*bound})
        rows = self._sorted[order]
        low, high = 0, len(rows)
        for position in order[: len(bound)]:
            column = rows[low:high, position]
            first = np.searchsorted(column, np.int32(pattern[position] or 0), "left")
            last = np.searchsorted(column, np.int32(pattern[position] or 0), "right")
            low, high = low + int(first), low + int(last)
        return rows[low:high]

    @cached_property
    def _sorted(self) -> dict[tuple[int, ...], NDArray[np.int32]]:
        return {
            order: np.asfortranarray(
                self._triples[np.lexsort([self._triples[:, at] for at in reversed(order)])]
            )
            for order in _ORDERS
        }
