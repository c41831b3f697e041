"""Triples of ids by any of their terms. Invariant: each lookup is a range of a list.

The triples are in ascending order of predicate, object and subject. Two lists have them by subject
and by object, each group in that order, so that ranges of a group have the other ids, too: what the
three orders of a Hexastore (Weiss, Karras, Bernstein, VLDB 2008) are for, in 20 bytes a triple.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from streamreasoner.query.kernels import grouping, matching
from streamreasoner.state.consolidate import consolidate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST: Final = 1 << 14
"""Triples times patterns that are looked at: what joins more, a database is faster at."""
NO_ID: Final = (1 << 31) - 1
"""The id of a term that no triple has."""
_COLUMNS = 3


class IndexedTriples:
    """Rows of term ids: 20 bytes a triple, and 12 a term.

    Args:
        triples: Each once, int32 of shape (n, 3).
    """

    def __init__(self, triples: NDArray[np.int32]) -> None:
        s, p, o = triples.T
        (p, o, s), _ = consolidate([p, o, s], np.ones(len(triples), np.int64))
        self.columns: NDArray[np.int32] = np.array([s, p, o], np.int32)
        ids = int(self.columns.max(initial=-1)) + 1
        self._starts = np.zeros((_COLUMNS, ids + 1), np.int32)
        self._lists = np.empty((2, len(triples)), np.int32)
        grouping.group_rows(self.columns[0], self._starts[0], self._lists[0])
        grouping.group_rows(self.columns[2], self._starts[2], self._lists[1])
        counts = np.bincount(self.columns[1], minlength=ids)
        np.cumsum(counts, out=self._starts[1, 1:])

    def __len__(self) -> int:
        return int(self.columns.shape[1])

    def matching(self, pattern: Sequence[int | None]) -> NDArray[np.int32]:
        """The triples that have the given ids, int32 of shape (n, 3); None: any."""
        wanted = np.array([-1 if each is None else each for each in pattern], np.int32)
        levels = np.empty((1, matching.LEVEL_WIDTH), np.int64)
        s, p, o = wanted.tolist()
        matching.find_triples(self.columns, self._starts, self._lists, s, p, o, levels, 0)
        first, last, which = levels[0, : matching.PATTERN].tolist()
        if which == matching.IN_ORDER:
            rows = self.columns[:, first:last]
        else:
            rows = self.columns[:, self._lists[which - matching.BY_SUBJECT, first:last]]
        is_wanted = ((rows == wanted[:, None]) | (wanted[:, None] < 0)).all(axis=0)
        found: NDArray[np.int32] = rows.T[is_wanted]
        return found

    def solutions(
        self, patterns: Sequence[Sequence[int]], variables: int
    ) -> NDArray[np.int32] | None:
        """The solutions of triple patterns; None if more than `MOST` is to be looked at.

        Args:
            patterns: Subject, predicate and object of each: an id, or ~ the number of a variable.
            variables: How many variables there are.

        Returns:
            The ids of the variables, int32 of shape (n, variables).
        """
        # For each triple of a pattern, the kernel counts those of the patterns that are left.
        room = np.empty((MOST // len(patterns), variables), np.int32)
        values = np.full(variables, -1, np.int32)
        levels = np.empty((len(patterns) + 1, matching.LEVEL_WIDTH), np.int64)
        rows = np.array(patterns, np.int32)
        count = matching.match(self.columns, self._starts, self._lists, rows, values, levels, room)
        return None if count == matching.MANY else room[:count]
