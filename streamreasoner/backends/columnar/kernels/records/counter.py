"""Sizes of groups that plans only count. Invariant: each applied delta has been counted once.

A counter belongs to a stratum, and holds by key the number of the present facts of its groups, as
far as their deltas have been applied in this stratum: between epochs of all present facts. The
facts are those of lower strata. Those of stratum 0 are for withdrawn rules, and hold the sizes from
before the change of program.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.entry import presence
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.native.addresses import int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel


@inlined
def count_change(table: layout.Int64s, fact: int, change: int) -> None:
    """Add a change of a fact's presence to its counters of the present stratum."""
    words = int32_column(table[layout.ARENA])
    dispatch = int32_column(table[layout.DISPATCH])
    row = layout.DISPATCH_WIDTH * (words[2 * fact] & layout.CLASS_BITS)
    first = dispatch[row + layout.DISPATCH_COUNTED]
    for i in range(first, first + dispatch[row + layout.DISPATCH_COUNTED_COUNT]):
        _add(table, fact, layout.COUNTED_WIDTH * i, change)


@inlined
def _count_in_strata(table: layout.Int64s, fact: int, start: int, stop: int, change: int) -> None:
    """Add a change of a fact's presence to its counters of some strata."""
    counted = int32_column(table[layout.COUNTED])
    classes = int32_column(table[layout.CLASSES])
    kind = int32_column(table[layout.ARENA])[2 * fact] & layout.CLASS_BITS
    first = classes[kind * layout.CLASS_WIDTH + layout.CLASS_COUNTED]
    count = classes[kind * layout.CLASS_WIDTH + layout.CLASS_COUNTED_COUNT]
    for i in range(first, first + count):
        row = layout.COUNTED_WIDTH * i
        if start <= counted[row + layout.COUNTED_STRATUM] < stop:
            _add(table, fact, row, change)


@inlined
def _add(table: layout.Int64s, fact: int, row: int, change: int) -> None:
    """Add a change of a fact's presence to the counter of a row of COUNTED."""
    words = int32_column(table[layout.ARENA])
    counted = int32_column(table[layout.COUNTED])
    counters = int64_column(table[layout.COUNTERS])
    key = _key(words, fact, counted[row + layout.COUNTED_KEY])
    int32_column(counters[counted[row + layout.COUNTED_COUNTER]])[key] += change


@inlined
def size(table: layout.Int64s, counter: int, key: int, fact: int, old: bool) -> int:  # noqa: FBT001 - numba has no keyword-only arguments
    """The size of a group while a fact drives a plan.

    Args:
        table: The addresses.
        counter: The counter.
        key: Its key; 0 if there is only one group.
        fact: The fact that drives the plan, whose delta has been counted already.
        old: Whether the group is read without this delta, and those of its block.
    """
    members: int = int32_column(int64_column(table[layout.COUNTERS])[counter])[key]
    if not old:
        return members
    number = int64_column(table[layout.SCALARS])[layout.BLOCK]
    if number == 0:
        return members - _part(table, counter, key, fact)
    deltas = int64_column(table[layout.DELTAS])
    following = int32_column(table[layout.BLOCK_NEXT])
    while number != 0:
        members -= _part(table, counter, key, deltas[number - 1] & LOW)
        number = following[number - 1]
    return members


@inlined
def _part(table: layout.Int64s, counter: int, key: int, fact: int) -> int:
    """What the delta of a fact has added to the size of a group."""
    words = int32_column(table[layout.ARENA])
    change = (words[2 * fact] >> layout.DELTA_SHIFT) & 7
    if change == 0:
        return 0
    dispatch = int32_column(table[layout.DISPATCH])
    counted = int32_column(table[layout.COUNTED])
    row = layout.DISPATCH_WIDTH * (words[2 * fact] & layout.CLASS_BITS)
    first = dispatch[row + layout.DISPATCH_COUNTED]
    part = 0
    for i in range(first, first + dispatch[row + layout.DISPATCH_COUNTED_COUNT]):
        at = layout.COUNTED_WIDTH * i
        is_counter = counted[at + layout.COUNTED_COUNTER] == counter
        if is_counter and _key(words, fact, counted[at + layout.COUNTED_KEY]) == key:
            part += change - layout.DELTA_ZERO
    return part


@kernel
def uncount(table: layout.Int64s) -> None:
    """Subtract what an epoch that fails has counted, while its deltas and journal are there.

    That are the changes of the facts of lower strata in each stratum up to the present one, where
    the deltas that are left have not been applied.
    """
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    facts = int64_column(table[layout.JOURNAL_FACTS])
    if scalars[layout.COUNTER_COUNT] == 0:
        return
    for i in range(scalars[layout.JOURNALED_FACTS]):
        fact = facts[i] & LOW
        change = presence(table, fact) - ((facts[i] >> 32) & layout.WAS_PRESENT)
        if change != 0:
            waiting = words[2 * fact] & layout.DELTA_BITS != 0
            stop = scalars[layout.STRATUM] + (0 if waiting else 1)
            _count_in_strata(table, fact, 1, stop, -change)


@kernel
def recount(table: layout.Int64s) -> None:
    """Fill the counters, which are all 0, from the transitions of all facts."""
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    for i in range(scalars[layout.FACT_MASK] + 1):
        fact = slots[i] & LOW
        present = presence(table, fact) if fact != 0 else 0
        if present != 0:
            _count_in_strata(table, fact, 0, scalars[layout.STRATA], present)


@inlined
def _key(words: layout.Int32s, fact: int, position: int) -> int:
    """The key of a fact: an argument, or 0 without a position."""
    return words[2 * fact + layout.CELLS + position] if position >= 0 else 0
