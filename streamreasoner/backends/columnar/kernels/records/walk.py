"""The chain that a join walks. Invariant: what is found ahead are its next facts, in their order.

Each fact of a chain tells where the next one is, so a walk waits for one cache miss after the
other. While additions that it has derived are applied, whose misses overlap, each of them takes the
walk one fact further ahead. Records then arrive before the join needs them.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import link_offset
from streamreasoner.backends.columnar.kernels.records.entry import prefetch_further_entry
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined

_MASK = layout.WALKED_ROOM - 1


@inlined
def begin_walk(table: layout.Int64s, arrangement: int) -> None:
    """Begin to walk a group of an arrangement."""
    scalars = int64_column(table[layout.SCALARS])
    scalars[layout.WALKED_ARRANGEMENT] = arrangement
    scalars[layout.WALKED_VISITED] = scalars[layout.WALKED_FOUND] = 0


@inlined
def end_walk(table: layout.Int64s) -> None:
    """End a walk, wherever it is."""
    int64_column(table[layout.SCALARS])[layout.WALKED_LAST] = 0


@inlined
def next_walked(table: layout.Int64s, fact: int) -> int:
    """The fact behind *fact*, to which the walk has come, or 0."""
    scalars = int64_column(table[layout.SCALARS])
    visited = scalars[layout.WALKED_VISITED]
    if visited == scalars[layout.WALKED_FOUND]:
        return _follow(table, fact)
    scalars[layout.WALKED_VISITED] = visited + 1
    return int(int32_column(table[layout.SCRATCH])[layout.WALKED_AT + (visited & _MASK)])


@inlined
def walk_ahead(table: layout.Int64s) -> None:
    """Find one more fact of the chain that is walked, if one is."""
    scalars = int64_column(table[layout.SCALARS])
    last = scalars[layout.WALKED_LAST]
    if last == 0:
        return
    found = scalars[layout.WALKED_FOUND]
    if found - scalars[layout.WALKED_VISITED] < layout.WALKED_ROOM:
        scratch = int32_column(table[layout.SCRATCH])
        scratch[layout.WALKED_AT + (found & _MASK)] = _follow(table, last)
        scalars[layout.WALKED_FOUND] = found + 1
        prefetch_further_entry(table, last)


@inlined
def _follow(table: layout.Int64s, fact: int) -> int:
    """The fact behind the last one that is known, whose record is prefetched."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    link = link_offset(table, words[2 * fact], scalars[layout.WALKED_ARRANGEMENT])
    following = words[2 * fact + link]
    scalars[layout.WALKED_LAST] = following
    prefetch(table[layout.ARENA] + 8 * following)
    prefetch(table[layout.ARENA] + 8 * following + 4 * link)  # may be on the next line
    return following
