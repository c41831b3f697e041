"""Arrangements: groups of facts with equal key. Invariant: a fact is in its groups iff ARRANGED.

A group is a record with the first fact of a doubly linked list; the links are in the facts, one
pair of words for each arrangement that the fact's class is a member of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.fact import allocate, release
from streamreasoner.backends.columnar.layout import (
    ARENA,
    ARRANGED,
    ARRANGED_KEY,
    ARRANGEMENT_COUNT,
    ARRANGEMENTS,
    CELLS,
    CLASS_BITS,
    CLASS_LINK_COUNT,
    CLASS_LINKS,
    CLASS_MEMBERSHIPS,
    CLASS_WIDTH,
    CLASSES,
    FULL,
    GROUP_BUFFER,
    GROUP_FIRST,
    GROUP_KEY,
    GROUP_MASK,
    GROUP_TABLE,
    LINK_OFFSETS,
    MEMBERSHIPS,
    OK,
    OPERANDS,
    SCALARS,
    SCRATCH,
)
from streamreasoner.backends.columnar.slots import LOW, delete, hash_cells, insert
from streamreasoner.rdf.kernels.compile import inlined, kernel
from streamreasoner.rdf.kernels.memory import int32_column, int64_column

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.arrays import Int32s, Int64s


@inlined
def link_offset(table: Int64s, header: int, arrangement: int) -> int:
    """Word of an arrangement's link in a record whose first word is *header*."""
    scalars = int64_column(table[SCALARS])
    offsets = int32_column(table[LINK_OFFSETS])
    return offsets[(header & CLASS_BITS) * scalars[ARRANGEMENT_COUNT] + arrangement]


@inlined
def find_group(
    table: Int64s, arrangement: int, cells: Int32s, at: int, count: int, tag: int
) -> int:
    """The group with this key, or 0."""
    scalars = int64_column(table[SCALARS])
    slots = int64_column(table[GROUP_TABLE + scalars[GROUP_BUFFER]])
    words = int32_column(table[ARENA])
    mask = scalars[GROUP_MASK]
    i = tag & mask
    while True:
        slot = slots[i]
        if slot == 0:
            return 0
        if ((slot >> 32) & LOW) == tag:
            group = slot & LOW
            base = 2 * group
            if words[base] == arrangement:
                j = 0
                while j < count and words[base + GROUP_KEY + j] == cells[at + j]:
                    j += 1
                if j == count:
                    return group
        i = (i + 1) & mask


@inlined
def _load_key(table: Int64s, arrangement: int, fact: int) -> tuple[int, int]:
    """Write a fact's key in an arrangement to the scratch column; returns its length and tag."""
    words = int32_column(table[ARENA])
    operands = int32_column(table[OPERANDS])
    arrangements = int32_column(table[ARRANGEMENTS])
    scratch = int32_column(table[SCRATCH])
    start = arrangements[2 * arrangement]
    count = arrangements[2 * arrangement + 1]
    for i in range(count):
        scratch[ARRANGED_KEY + i] = words[2 * fact + CELLS + operands[start + i]]
    return count, hash_cells(arrangement, scratch, ARRANGED_KEY, count)


@kernel
def _new_group(table: Int64s, arrangement: int, count: int, tag: int) -> int:
    group = allocate(table, (GROUP_KEY + count + 1) // 2)
    if group == 0:
        return 0
    words = int32_column(table[ARENA])
    scratch = int32_column(table[SCRATCH])
    words[2 * group] = arrangement
    for i in range(count):
        words[2 * group + GROUP_KEY + i] = scratch[ARRANGED_KEY + i]
    insert(table, GROUP_TABLE, GROUP_MASK, tag, group)
    return group


@kernel
def arrange(table: Int64s, fact: int) -> int:
    """Put a fact into its group of every arrangement that its class is a member of."""
    words = int32_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    memberships = int32_column(table[MEMBERSHIPS])
    row = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
    link = 2 * fact + classes[row + CLASS_LINKS]
    # Groups first: when the arena is full, the fact must be in no group rather than in some.
    first = classes[row + CLASS_MEMBERSHIPS]
    for i in range(classes[row + CLASS_LINK_COUNT]):
        arrangement = memberships[first + i]
        count, tag = _load_key(table, arrangement, fact)
        group = find_group(
            table, arrangement, int32_column(table[SCRATCH]), ARRANGED_KEY, count, tag
        )
        if group == 0:
            group = _new_group(table, arrangement, count, tag)
            if group == 0:
                return FULL
        words[link + 2 * i + 1] = group
    for i in range(classes[row + CLASS_LINK_COUNT]):
        group = words[link + 2 * i + 1]
        following = words[2 * group + GROUP_FIRST]
        words[link + 2 * i] = following
        words[link + 2 * i + 1] = 0
        if following != 0:
            offset = link_offset(table, words[2 * following], memberships[first + i])
            words[2 * following + offset + 1] = fact
        words[2 * group + GROUP_FIRST] = fact
    words[2 * fact] |= ARRANGED
    return OK


@kernel
def withdraw(table: Int64s, fact: int) -> None:
    """Take a fact out of all its groups; a group that is left empty goes."""
    words = int32_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    memberships = int32_column(table[MEMBERSHIPS])
    row = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
    link = 2 * fact + classes[row + CLASS_LINKS]
    first = classes[row + CLASS_MEMBERSHIPS]
    for i in range(classes[row + CLASS_LINK_COUNT]):
        arrangement = memberships[first + i]
        following = words[link + 2 * i]
        previous = words[link + 2 * i + 1]
        if following != 0:
            offset = link_offset(table, words[2 * following], arrangement)
            words[2 * following + offset + 1] = previous
        if previous != 0:
            offset = link_offset(table, words[2 * previous], arrangement)
            words[2 * previous + offset] = following
            continue
        count, tag = _load_key(table, arrangement, fact)
        group = find_group(
            table, arrangement, int32_column(table[SCRATCH]), ARRANGED_KEY, count, tag
        )
        words[2 * group + GROUP_FIRST] = following
        if following == 0:
            delete(table, GROUP_TABLE, GROUP_MASK, tag, group)
            release(table, group, (GROUP_KEY + count + 1) // 2)
    words[2 * fact] &= ~ARRANGED
