"""Arrangements: groups of facts with equal key. Invariant: a fact is in its groups iff ARRANGED.

A group is an intrusive doubly linked list: a fact has one pair of link words per arrangement of its
class. With a key of one argument the list head is in the *index* of the arrangement, an array by id
(ids are dense); otherwise it is in a group record found by hashing the key.

The candidates of a lattice form groups too; a candidate is in its group unless it is UNLISTED.
These groups are always records, and the index of a lattice holds their ids.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    allocate,
    index_id,
    link_offset,
    release,
)
from streamreasoner.backends.columnar.kernels.records.slots import LOW, delete, hash_cells, insert
from streamreasoner.backends.columnar.kernels.records.walk import forget_milestones
from streamreasoner.backends.columnar.kernels.records.winners import forget_winners
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel


@inlined
def find_group(
    table: layout.Int64s, arrangement: int, cells: layout.Int32s, at: int, count: int, tag: int
) -> int:
    """The group with this key, or 0."""
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.GROUP_TABLE + scalars[layout.GROUP_BUFFER]])
    words = int32_column(table[layout.ARENA])
    mask = scalars[layout.GROUP_MASK]
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
                while j < count and words[base + layout.GROUP_KEY + j] == cells[at + j]:
                    j += 1
                if j == count:
                    return group
        i = (i + 1) & mask


@inlined
def find_first(
    table: layout.Int64s, arrangement: int, cells: layout.Int32s, at: int, count: int
) -> int:
    """The first fact of the group with this key, or 0."""
    index = int64_column(table[layout.INDEXES])[arrangement]
    if index != 0:
        return int32_column(index)[cells[at]]
    tag = hash_cells(arrangement, cells, at, count)
    group = find_group(table, arrangement, cells, at, count, tag)
    if group == 0:
        return 0
    return int32_column(table[layout.ARENA])[2 * group + layout.GROUP_FIRST]


@inlined
def _load_key(table: layout.Int64s, arrangement: int, fact: int) -> tuple[int, int]:
    """Write a fact's key in an arrangement to the scratch column; returns its length and tag."""
    words = int32_column(table[layout.ARENA])
    operands = int32_column(table[layout.OPERANDS])
    arrangements = int32_column(table[layout.ARRANGEMENTS])
    scratch = int32_column(table[layout.SCRATCH])
    start = arrangements[layout.ARRANGEMENT_WIDTH * arrangement]
    count = arrangements[layout.ARRANGEMENT_WIDTH * arrangement + layout.ARRANGEMENT_KEY_COUNT]
    for i in range(count):
        scratch[layout.ARRANGED_KEY + i] = words[2 * fact + layout.CELLS + operands[start + i]]
    return count, hash_cells(arrangement, scratch, layout.ARRANGED_KEY, count)


@inlined
def group_units(count: int) -> int:
    """Units of a group with *count* key cells."""
    return (layout.GROUP_KEY + count + 1) // 2


@inlined
def fields_of(table: layout.Int64s, group: int) -> int:
    """The unit after the key of a group, where the fields of lattices and reductions start."""
    row = layout.ARRANGEMENT_WIDTH * int32_column(table[layout.ARENA])[2 * group]
    return group + group_units(
        int32_column(table[layout.ARRANGEMENTS])[row + layout.ARRANGEMENT_KEY_COUNT]
    )


@kernel
def group_of(table: layout.Int64s, arrangement: int, fact: int) -> int:
    """The record of the group with a fact's key, or 0."""
    index = int64_column(table[layout.INDEXES])[arrangement]
    if index != 0:
        return int32_column(index)[index_id(table, arrangement, fact)]
    count, tag = _load_key(table, arrangement, fact)
    return find_group(
        table, arrangement, int32_column(table[layout.SCRATCH]), layout.ARRANGED_KEY, count, tag
    )


@kernel
def ensure_group(table: layout.Int64s, arrangement: int, fact: int, extra: int) -> int:
    """The group with a fact's key, created with *extra* units if missing; 0 if out of memory."""
    group = group_of(table, arrangement, fact)
    if group == 0:
        group = _new_group(table, arrangement, fact, extra)
    return group


@inlined
def prefetch_lattice_group(table: layout.Int64s, kind: int, cells: layout.Int32s, at: int) -> None:
    """Prefetch the group of a candidate of class *kind* with these arguments, if it is indexed."""
    row = kind * layout.CLASS_WIDTH
    arrangement = int32_column(table[layout.CLASSES])[row + layout.CLASS_LATTICE] - 1
    if arrangement < 0:
        return
    index = int64_column(table[layout.INDEXES])[arrangement]
    if index != 0:
        row = layout.ARRANGEMENT_WIDTH * arrangement
        key = int32_column(table[layout.OPERANDS])[int32_column(table[layout.ARRANGEMENTS])[row]]
        group = table[layout.ARENA] + 8 * int32_column(index)[cells[at + key]]
        prefetch(group)
        prefetch(group + 8 * layout.LATTICE_UNITS)  # the fields may be on the next line


@kernel
def drop_group(table: layout.Int64s, group: int, extra: int) -> None:
    """Delete a group that has *extra* units after its key."""
    words = int32_column(table[layout.ARENA])
    arrangement = words[2 * group]
    row = layout.ARRANGEMENT_WIDTH * arrangement
    count = int32_column(table[layout.ARRANGEMENTS])[row + layout.ARRANGEMENT_KEY_COUNT]
    index = int64_column(table[layout.INDEXES])[arrangement]
    if index != 0:
        int32_column(index)[words[2 * group + layout.GROUP_KEY]] = 0
    else:
        tag = hash_cells(arrangement, words, 2 * group + layout.GROUP_KEY, count)
        delete(table, layout.GROUP_TABLE, layout.GROUP_MASK, tag, group)
    release(table, group, group_units(count) + extra)


@kernel
def _new_group(table: layout.Int64s, arrangement: int, fact: int, extra: int) -> int:
    count, tag = _load_key(table, arrangement, fact)
    group = allocate(table, group_units(count) + extra)
    if group == 0:
        return 0
    words = int32_column(table[layout.ARENA])
    scratch = int32_column(table[layout.SCRATCH])
    words[2 * group] = arrangement
    for i in range(count):
        words[2 * group + layout.GROUP_KEY + i] = scratch[layout.ARRANGED_KEY + i]
    index = int64_column(table[layout.INDEXES])[arrangement]
    if index != 0:
        int32_column(index)[scratch[layout.ARRANGED_KEY]] = group
    else:
        insert(table, layout.GROUP_TABLE, layout.GROUP_MASK, tag, group)
    return group


@kernel
def arrange(table: layout.Int64s, fact: int) -> int:
    """Add a fact to its group in every arrangement of its class; returns a status."""
    words = int32_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    memberships = int32_column(table[layout.MEMBERSHIPS])
    row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    link = 2 * fact + classes[row + layout.CLASS_LINKS]
    # Create all groups first: if the arena is full, the fact must be in none of them.
    first = classes[row + layout.CLASS_MEMBERSHIPS]
    indexes = int64_column(table[layout.INDEXES])
    filled = int64_column(table[layout.FILLED])
    for i in range(classes[row + layout.CLASS_LINK_COUNT]):
        if indexes[memberships[first + i]] == 0:
            group = ensure_group(table, memberships[first + i], fact, 0)
            if group == 0:
                return layout.FULL
            words[link + 2 * i + 1] = group
    for i in range(classes[row + layout.CLASS_LINK_COUNT]):
        arrangement = memberships[first + i]
        index = indexes[arrangement]
        if index != 0:
            filled[arrangement] = index
            at = index_id(table, arrangement, fact)
            _prepend(table, fact, arrangement, link + 2 * i, int32_column(index), at)
        else:
            at = 2 * words[link + 2 * i + 1] + layout.GROUP_FIRST
            _prepend(table, fact, arrangement, link + 2 * i, words, at)
    words[2 * fact] |= layout.ARRANGED
    return layout.OK


@kernel
def enlist(table: layout.Int64s, fact: int) -> int:
    """Add a candidate, present or not, to the group of its lattice; returns a status."""
    words = int32_column(table[layout.ARENA])
    row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    arrangement = int32_column(table[layout.CLASSES])[row + layout.CLASS_LATTICE] - 1
    group = ensure_group(table, arrangement, fact, layout.LATTICE_UNITS)
    if group == 0:
        return layout.FULL
    prepend_candidate(table, group, fact, link_offset(table, words[2 * fact], arrangement))
    words[2 * fact] &= ~layout.UNLISTED
    return layout.OK


@inlined
def prepend_candidate(table: layout.Int64s, group: int, fact: int, offset: int) -> None:
    """Prepend a candidate, whose link is *offset* words behind its header, to those of its group.

    Every candidate has the link at the same word, so the first one need not be read.
    """
    words = int32_column(table[layout.ARENA])
    following = words[2 * group + layout.GROUP_FIRST]
    words[2 * fact + offset] = following
    words[2 * fact + offset + 1] = 0
    if following != 0:
        words[2 * following + offset + 1] = fact
    words[2 * group + layout.GROUP_FIRST] = fact


@inlined
def _prepend(
    table: layout.Int64s, fact: int, arrangement: int, link: int, firsts: layout.Int32s, at: int
) -> None:
    """Prepend a fact, whose link is word *link* of the arena, to the list at *firsts*[at]."""
    words = int32_column(table[layout.ARENA])
    following = firsts[at]
    words[link] = following
    words[link + 1] = 0
    if following != 0:
        offset = link_offset(table, words[2 * following], arrangement)
        words[2 * following + offset + 1] = fact
    firsts[at] = fact


@kernel
def withdraw(table: layout.Int64s, fact: int) -> None:
    """Remove a fact from all its groups; empty groups are dropped."""
    words = int32_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    memberships = int32_column(table[layout.MEMBERSHIPS])
    row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    link = 2 * fact + classes[row + layout.CLASS_LINKS]
    first = classes[row + layout.CLASS_MEMBERSHIPS]
    is_milestone = words[2 * fact] & layout.MILESTONE != 0
    for i in range(classes[row + layout.CLASS_LINK_COUNT]):
        if is_milestone:
            forget_milestones(table, memberships[first + i], fact)
        _unlink(table, fact, memberships[first + i], link + 2 * i, 0)
    words[2 * fact] &= ~(layout.ARRANGED | layout.MILESTONE)


@kernel
def delist(table: layout.Int64s, fact: int) -> None:
    """Remove a candidate from the group of its lattice."""
    words = int32_column(table[layout.ARENA])
    row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    arrangement = int32_column(table[layout.CLASSES])[row + layout.CLASS_LATTICE] - 1
    link = 2 * fact + link_offset(table, words[2 * fact], arrangement)
    if words[link] == 0 and words[link + 1] == 0:
        forget_winners(table, fields_of(table, group_of(table, arrangement, fact)))
    _unlink(table, fact, arrangement, link, layout.LATTICE_UNITS)
    words[2 * fact] |= layout.UNLISTED


@kernel
def _unlink(table: layout.Int64s, fact: int, arrangement: int, link: int, extra: int) -> None:
    """Remove a fact, whose link is word *link* of the arena, from its group."""
    words = int32_column(table[layout.ARENA])
    following = words[link]
    previous = words[link + 1]
    if following != 0:
        offset = link_offset(table, words[2 * following], arrangement)
        words[2 * following + offset + 1] = previous
    if previous != 0:
        offset = link_offset(table, words[2 * previous], arrangement)
        words[2 * previous + offset] = following
        return
    index = int64_column(table[layout.INDEXES])[arrangement]
    if index != 0 and extra == 0:
        int32_column(index)[index_id(table, arrangement, fact)] = following
        return
    group = group_of(table, arrangement, fact)
    words[2 * group + layout.GROUP_FIRST] = following
    if following == 0:
        drop_group(table, group, extra)
