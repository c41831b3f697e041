"""Sets of rows by their arguments. Invariant: a row is equal to another in all arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.inheritance import sets
from streamreasoner.engine.inheritance.sets import places, starts
from streamreasoner.engine.updates import TraceRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from streamreasoner.engine.inheritance.sets import Keys
    from streamreasoner.engine.ports import Bound


_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # as in SplitMix64
_TABLE = 32  # bits for each of the rows that others are less


def keys_of(args: NDArray[np.int32]) -> Keys:
    """A key for each row, the same for equal rows of as many arguments."""
    width = args.shape[1]
    if width == 0:
        return np.zeros(len(args), np.int64)
    if width == 1:
        return args[:, 0].astype(np.int64)
    if width == 2:  # noqa: PLR2004 - in an int64
        return (args[:, 0].astype(np.int64) << 32) | args[:, 1]
    rows = np.ascontiguousarray(args, np.int32)
    return rows.view(np.dtype((np.void, rows.itemsize * width))).reshape(-1)


def among(args: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which rows are among others."""
    return places(keys_of(args), sets.distinct(keys_of(others))) >= 0


def distinct(parts: Iterable[NDArray[np.int32]], width: int) -> NDArray[np.int32]:
    """The distinct rows of arrays with as many columns, in the order of their keys."""
    rows = np.concatenate([np.empty((0, width), np.int32), *parts])
    keys = keys_of(rows)
    order = np.argsort(keys)
    return rows[order[starts(keys[order])]]


def matching(args: NDArray[np.int32], bound: Bound) -> NDArray[np.bool_]:
    """Which rows have these ids at these positions."""
    found = None
    for position, each in bound.items():
        column = args[:, position]
        has = np.isin(column, each) if isinstance(each, np.ndarray) else column == each
        found = has if found is None else found & has
    return np.ones(len(args), bool) if found is None else found


def sought(ids: NDArray[np.int32]) -> int | NDArray[np.int32]:
    """The set of some ids, as what is read is bound to it: one alone is looked up faster."""
    found = sets.distinct(ids)
    return int(found[0]) if len(found) == 1 else found


def in_order(parts: Iterable[NDArray[np.int32]], width: int) -> NDArray[np.int32]:
    """The distinct rows of arrays with as many columns, in lexicographic order."""
    rows = np.concatenate([np.empty((0, width), np.int32), *parts])
    keys = _numbered([*rows.T])
    order = np.argsort(keys)
    return rows[order[starts(keys[order])]]


def found_in(args: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.int64]:
    """The place of each row of *args* among *rows*, which `in_order` has made, or -1."""
    keys, sought = rows[:, 0].astype(np.int64), args[:, 0].astype(np.int64)
    for known, column in zip(rows[:, 1:].T, args[:, 1:].T, strict=True):
        first = starts(keys)
        sought = (places(sought, keys[first]) << 32) | column
        keys = ((np.cumsum(first) - 1) << 32) | known
    return places(sought, keys)


def _numbered(columns: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
    """Numbers of rows, equal and in order as the rows are; of ids, or iterations."""
    keys = columns[0].astype(np.int64)
    for number, column in enumerate(columns[1:]):
        if number:
            order = np.argsort(keys)
            ranks = np.empty(len(keys), np.int64)
            ranks[order] = np.cumsum(starts(keys[order]))
            keys = ranks
        keys = (keys << 32) | column
    return keys


def summed(parts: Iterable[TraceRows]) -> TraceRows:
    """The sum of rows of one predicate by fact and iteration, without zeros."""
    rows = TraceRows.of(parts)
    keys = _numbered([*rows.args.T, rows.iteration])
    order = np.argsort(keys)
    first = np.flatnonzero(starts(keys[order]))
    counts = np.add.reduceat(rows.multiplicity[order], first) if len(first) else rows.multiplicity
    kept = counts != 0
    chosen = order[first][kept]
    return TraceRows(rows.predicate, rows.args[chosen], rows.iteration[chosen], counts[kept])


def less(rows: TraceRows, others: TraceRows) -> TraceRows:
    """The difference of rows of one predicate and others, which are fewer.

    Most rows meet none of the others: a bit of a hash tells, so they are not sorted.
    """
    bits = (_TABLE * len(others.args)).bit_length()
    low = np.uint64((1 << bits) - 1)
    there = np.zeros(1 << bits, bool)
    there[_hashed(others) & low] = True
    meets = there[_hashed(rows) & low]
    return TraceRows.of([rows.take(~meets), summed([rows.take(meets), negative(others)])])


def _hashed(rows: TraceRows) -> NDArray[np.uint64]:
    keys = rows.iteration.astype(np.uint64)
    for column in rows.args.T:
        keys = (keys ^ column.astype(np.uint64)) * _SPREAD
        keys ^= keys >> np.uint64(32)
    return keys


def negative(rows: TraceRows) -> TraceRows:
    """Rows with the opposite multiplicities."""
    return TraceRows(rows.predicate, rows.args, rows.iteration, -rows.multiplicity)
