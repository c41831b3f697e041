"""An open-addressing hash table of ids. Invariant: a slot is tag << 32 | id, and no id is 0.

Linear probing from the low bits of the 32-bit tag; deletion shifts entries back, so there are no
tombstones and lookups never slow down (Knuth, TAOCP 3, 6.4, Algorithm R).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.kernels.records.fields import lists, views
from streamreasoner.native.addresses import fixed_address, int64_column, return_pages
from streamreasoner.native.compile import inlined, kernel

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.kernels.records import layout

_GOLDEN = -7046029254386353131  # 2**64 / golden ratio, as int64
_BYTES = 8  # of a slot
_STRETCH = 1 << 21  # slots whose memory is returned at once: 16 MiB, whole pages of any size


@kernel
def mix(state: int, value: int) -> int:
    """Fold *value* into a 64-bit hash *state*."""
    state = (state ^ value) * _GOLDEN
    return state ^ lists.upper(state)


@inlined
def hash_cells(seed: int, cells: layout.Int32s, at: int, count: int) -> int:
    """32-bit tag of *count* int32 cells under a seed, two cells at a time."""
    state = (lists.pack(count, seed) + 1) * _GOLDEN
    for i in range(at, at + count - 1, 2):
        state = mix(state, lists.pack(cells[i + 1], lists.lower(cells[i])))
    if count & 1:
        state = mix(state, cells[at + count - 1])
    return lists.lower(mix(state, 1))


@kernel
def put(slots: layout.Int64s, mask: int, tag: int, identifier: int) -> None:
    """Add an id that is not in the table."""
    i = tag & mask
    while slots[i] != 0:
        i = (i + 1) & mask
    slots[i] = lists.pack(tag, identifier)


@kernel
def rehash(source: int, mask: int, target: int, wide: int) -> None:
    """Move every slot into a larger table whose mask is *wide*, and clear this one.

    Memory of what has been moved is returned as the larger table is filled, so that both together
    take no more than the larger one alone.

    Args:
        source: Address of the slots.
        mask: Their mask.
        target: Address of a reserved column, all 0.
        wide: The mask of the slots there.
    """
    slots, larger = int64_column(source), int64_column(target)
    for start in range(0, mask + 1, _STRETCH):
        stop = min(start + _STRETCH, mask + 1)
        for i in range(start, stop):
            slot = slots[i]
            if slot != 0:
                put(larger, wide, lists.upper(slot), lists.lower(slot))
        if stop - start == _STRETCH:
            return_pages(source + _BYTES * start, _BYTES * _STRETCH)
        else:
            for i in range(start, stop):
                slots[i] = 0


@kernel
def remove(slots: layout.Int64s, mask: int, tag: int, identifier: int) -> None:
    """Remove an id from the table and close the gap."""
    target = lists.pack(tag, identifier)
    gap = tag & mask
    while slots[gap] != target:
        gap = (gap + 1) & mask
    i = gap
    while True:
        i = (i + 1) & mask
        slot = slots[i]
        if slot == 0:
            break
        home = lists.upper(slot) & mask
        if ((i - home) & mask) >= ((i - gap) & mask):
            slots[gap] = slot
            gap = i
    slots[gap] = 0


@kernel
def reserve(table: layout.Int64s, column: int, at: int, count: int) -> None:
    """Make room for *count* more ids in the table at *column*; see `insert`."""
    scalars = views.scalars(table)
    mask = scalars[at]
    wide = mask
    while 5 * (scalars[at + 2] + count) > 3 * (wide + 1):
        wide = 2 * wide + 1
    if wide != mask:
        source = fixed_address(table, column + scalars[at + 1])
        rehash(source, mask, fixed_address(table, column + 1 - scalars[at + 1]), wide)
        scalars[at] = wide
        scalars[at + 1] = 1 - scalars[at + 1]


@kernel
def insert(table: layout.Int64s, column: int, at: int, tag: int, identifier: int) -> None:
    """Add an id to the table at *column*; its mask, buffer and count are the scalars from *at*.

    A table that is three fifths full is rehashed into its other buffer first.
    """
    scalars = views.scalars(table)
    if 5 * (scalars[at + 2] + 1) > 3 * (scalars[at] + 1):
        reserve(table, column, at, 1)
    put(int64_column(fixed_address(table, column + scalars[at + 1])), scalars[at], tag, identifier)
    scalars[at + 2] += 1


@kernel
def delete(table: layout.Int64s, column: int, at: int, tag: int, identifier: int) -> None:
    """Remove an id that `insert` added."""
    scalars = views.scalars(table)
    remove(
        int64_column(fixed_address(table, column + scalars[at + 1])), scalars[at], tag, identifier
    )
    scalars[at + 2] -= 1
