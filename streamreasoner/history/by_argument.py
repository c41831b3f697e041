"""Rows of ids by one of their arguments. Invariant: a group has all rows with its id, and no other.

An argument is sorted when it is first asked for, and costs 4 bytes a row and 8 a different id from
then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from streamreasoner.engine.ports import Bound

SHORT: Final = 256
"""Rows for each id that are looked through sooner than another argument is sorted."""
_HALF = 32


class Column(NamedTuple):
    """An argument of some rows.

    Attributes:
        ids: int32 of shape (n,).
        rows: The numbers of the rows, int32 of shape (n,).
    """

    ids: NDArray[np.int32]
    rows: NDArray[np.int32]


class _Groups(NamedTuple):
    """The rows by an argument: those of ids[i] are rows[starts[i] : starts[i + 1]]."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int32]
    rows: NDArray[np.int32]

    def of(self, wanted: int | NDArray[np.int32]) -> NDArray[np.int32]:
        """The rows with an id, or with one of several distinct ids."""
        if isinstance(wanted, np.ndarray):
            return self._of_all(wanted)
        at = int(np.searchsorted(self.ids, np.int32(wanted)))
        if at == len(self.ids) or self.ids[at] != wanted:
            return self.rows[:0]
        return self.rows[self.starts[at] : self.starts[at + 1]]

    def _of_all(self, wanted: NDArray[np.int32]) -> NDArray[np.int32]:
        at = np.searchsorted(self.ids, wanted)
        at = at[self.ids[np.minimum(at, len(self.ids) - 1)] == wanted] if len(self.ids) else at[:0]
        first = self.starts[at].astype(np.int64)
        counts = self.starts[at + 1] - first
        ends = np.cumsum(counts)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + counts, counts)
        found: NDArray[np.int32] = self.rows[places]
        return found


class ByArgument:
    """Finds rows by what they have at some positions."""

    def __init__(self) -> None:
        self._groups: dict[int, _Groups] = {}

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return sum(array.nbytes for groups in self._groups.values() for array in groups)

    def group(self, bound: Bound, column: Callable[[int], Column]) -> NDArray[np.int32]:
        """The rows with the id, or one of the ids, of one of some positions, int32 of shape (n,).

        It is the shortest group that is known, so most of its rows have the other ids, too.

        Args:
            bound: An id, or distinct ids, by position, at least one position; arguments are sorted
                in this order.
            column: Reads an argument of all rows, by its position.
        """
        known = [self._groups[at].of(bound[at]) for at in bound if at in self._groups]
        short = SHORT * max(map(np.size, bound.values()))
        for position, ids in bound.items():
            if position in self._groups:
                continue
            if known and min(map(len, known)) <= short:
                break
            self._groups[position] = _grouped(column(position))
            known.append(self._groups[position].of(ids))
        return min(known, key=len)


def _grouped(column: Column) -> _Groups:
    # Sorting both as one word is several times faster than finding the order of the ids.
    pairs = (column.ids.astype(np.int64) << _HALF) | column.rows
    pairs.sort()
    ids = (pairs >> _HALF).astype(np.int32)
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1]))[: len(ids)])
    ends = np.append(starts, len(ids)).astype(np.int32)
    return _Groups(ids[starts], ends, pairs.astype(np.int32))
