"""The trace of a predicate in memory. Invariant: a stored trace never changes.

It consists of blocks, each about twice as large as the next one: what is appended is a block of its
own at first, so that an epoch costs what it changes, and a snapshot keeps what it has seen. Rows of
a block are in the order of their arguments, which finds those that begin with some ids; any other
argument is sorted when an explanation first asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.history.by_argument import ByArgument, Column
from streamreasoner.history.replica.selection import Trace
from streamreasoner.state.consolidate import consolidate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.engine.updates import TraceRows


class Block:
    """Rows of a trace, each (fact, iteration) once, in ascending order.

    Args:
        rows: The same.
    """

    def __init__(self, rows: Trace) -> None:
        self._columns = [np.ascontiguousarray(column) for column in rows.args.T]
        self._iteration = _narrow(rows.iteration)
        self._multiplicity = _narrow(rows.multiplicity)
        self._by_argument = ByArgument()

    def __len__(self) -> int:
        return len(self._iteration)

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        columns = [*self._columns, self._iteration, self._multiplicity]
        return sum(column.nbytes for column in columns) + self._by_argument.nbytes

    def all(self) -> Trace:
        """All rows."""
        return self._rows(slice(None))

    def having(self, bound: Mapping[int, int]) -> Trace:
        """The rows of facts with these ids at these positions."""
        rows = (
            self._by_argument.group(bound, self._column)
            if bound
            else np.arange(len(self), dtype=np.int32)
        )
        for position, wanted in bound.items():
            rows = rows[self._columns[position][rows] == wanted]
        return self._rows(rows)

    def beginning_with(self, keys: NDArray[np.int32]) -> Trace:
        """The rows of facts that begin with one of some distinct keys, int32 of shape (m, k)."""
        width = keys.shape[1]
        if not width:
            return self.all()
        following = keys.copy()
        following[:, -1] += 1
        first, last = np.split(self._places(np.concatenate([keys, following])), 2)
        counts = last - first
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return self._rows(np.repeat(first, counts) + within)

    def _places(self, keys: NDArray[np.int32]) -> NDArray[np.int64]:
        """Where each key would be inserted, by binary search for all of them at once."""
        low, high = np.zeros(len(keys), np.int64), np.full(len(keys), len(self))
        while (is_open := low < high).any():
            middle = (low + high) >> 1
            read = np.minimum(middle, len(self) - 1)
            is_less, is_equal = np.zeros(len(keys), np.bool_), np.ones(len(keys), np.bool_)
            for column, key in zip(self._columns, keys.T, strict=False):
                is_less |= is_equal & (column[read] < key)
                is_equal &= column[read] == key
            low = np.where(is_open & is_less, middle + 1, low)
            high = np.where(is_open & ~is_less, middle, high)
        return low

    def _column(self, position: int) -> Column:
        return Column(self._columns[position], np.arange(len(self), dtype=np.int32))

    def _rows(self, chosen: slice | NDArray[np.integer]) -> Trace:
        iteration = self._iteration[chosen].astype(np.int32)
        args = np.empty((len(iteration), len(self._columns)), np.int32)
        for position, column in enumerate(self._columns):
            args[:, position] = column[chosen]
        return Trace(args, iteration, self._multiplicity[chosen].astype(np.int64))


class StoredTrace:
    """The trace of a predicate.

    Args:
        arity: The number of its arguments.
        blocks: Its rows, from the largest block to the smallest.
    """

    def __init__(self, arity: int, blocks: Sequence[Block] = ()) -> None:
        self._arity = arity
        self._blocks = blocks

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return sum(block.nbytes for block in self._blocks)

    def appended(self, rows: Sequence[TraceRows]) -> StoredTrace:
        """This trace with more rows."""
        added = [Trace(each.args, each.iteration, each.multiplicity) for each in rows]
        blocks = [*self._blocks, Block(self._summed(added))]
        while len(blocks) > 1 and len(blocks[-2]) <= 2 * len(blocks[-1]):
            blocks[-2:] = [Block(self._summed([block.all() for block in blocks[-2:]]))]
        return StoredTrace(self._arity, tuple(block for block in blocks if len(block)))

    def having(self, bound: Mapping[int, int]) -> Trace:
        """The rows of facts with these ids at these positions."""
        return self._summed([block.having(bound) for block in self._blocks])

    def all(self) -> Trace:
        """All rows."""
        return self._summed([block.all() for block in self._blocks])

    def beginning_with(self, keys: NDArray[np.int32]) -> Trace:
        """The rows of facts that begin with one of some distinct keys, int32 of shape (m, k)."""
        return self._summed([block.beginning_with(keys) for block in self._blocks])

    def _summed(self, parts: Iterable[Trace]) -> Trace:
        """Each (fact, iteration) once, in ascending order."""
        found = [each for each in parts if len(each.iteration)]
        if not found:
            nothing = np.empty((0, self._arity), np.int32)
            return Trace(nothing, np.empty(0, np.int32), np.empty(0, np.int64))
        args = np.concatenate([each.args for each in found])
        iteration = np.concatenate([each.iteration for each in found])
        multiplicity = np.concatenate([each.multiplicity for each in found])
        (*columns, iterations), sums = consolidate([*args.T, iteration], multiplicity)
        args = np.empty((len(sums), self._arity), np.int32)
        for position, column in enumerate(columns):
            args[:, position] = column
        return Trace(args, iterations.astype(np.int32), sums)


def _narrow(values: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
    """The same numbers in as few bytes as hold them all."""
    least, most = int(values.min(initial=0)), int(values.max(initial=0))
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
            return values.astype(kind)
    return values
