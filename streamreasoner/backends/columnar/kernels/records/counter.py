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
def count_change(table: layout.Int64s, fact: int, stratum: int, change: int) -> None:
    """Add a change of a fact's presence to its counters of a stratum."""
    words = int32_column(table[layout.ARENA])
    counting = int32_column(table[layout.COUNTING])
    counted = int32_column(table[layout.COUNTED])
    counters = int64_column(table[layout.COUNTERS])
    strata = int64_column(table[layout.SCALARS])[layout.STRATA]
    row = 2 * ((words[2 * fact] & layout.CLASS_BITS) * strata + stratum)
    for i in range(counting[row], counting[row] + counting[row + 1]):
        key = _key(words, fact, counted[2 * i + 1])
        int32_column(counters[counted[2 * i]])[key] += change


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
    scalars = int64_column(table[layout.SCALARS])
    counting = int32_column(table[layout.COUNTING])
    counted = int32_column(table[layout.COUNTED])
    kind = words[2 * fact] & layout.CLASS_BITS
    row = 2 * (kind * scalars[layout.STRATA] + scalars[layout.STRATUM])
    part = 0
    for i in range(counting[row], counting[row] + counting[row + 1]):
        if counted[2 * i] == counter and _key(words, fact, counted[2 * i + 1]) == key:
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
            for stratum in range(1, scalars[layout.STRATUM] + (0 if waiting else 1)):
                count_change(table, fact, stratum, -change)


@kernel
def recount(table: layout.Int64s) -> None:
    """Fill the counters, which are all 0, from the transitions of all facts."""
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    for i in range(scalars[layout.FACT_MASK] + 1):
        fact = slots[i] & LOW
        present = presence(table, fact) if fact != 0 else 0
        if present != 0:
            for stratum in range(scalars[layout.STRATA]):
                count_change(table, fact, stratum, present)


@inlined
def _key(words: layout.Int32s, fact: int, position: int) -> int:
    """The key of a fact: an argument, or 0 without a position."""
    return words[2 * fact + layout.CELLS + position] if position >= 0 else 0
