"""Multiplicities and transitions of a fact by iteration. Invariant: what changes is journaled once.

An entry holds, for one iteration, a multiplicity, the stored transition and two flags: TOUCHED (it
waits in that iteration's list) and JOURNALED (its multiplicity before the epoch is kept). Entries
stay until commit, even at zero, so that joins see old and new transitions alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.fact import allocate
from streamreasoner.backends.columnar.layout import (
    ARENA,
    CLASS_BITS,
    CLASS_STRATUM,
    CLASS_WIDTH,
    CLASSES,
    COUNT_SHIFT,
    EMPTY_ENTRY,
    FREE_NODE,
    FULL,
    INITIAL_HEADS,
    JOURNAL_ENTRIES,
    JOURNAL_FACTS,
    JOURNAL_WORD,
    JOURNALED,
    JOURNALED_ENTRIES,
    JOURNALED_FACTS,
    LAST_TOUCHED,
    MAX_MULTIPLICITY,
    OK,
    OVERFLOW,
    SCALARS,
    TOUCHED,
    TOUCHED_COUNT,
    TOUCHED_HEADS,
    TOUCHED_NODES,
    TRANSITION_BITS,
    UNUSED,
    WAS_ASSERTED,
    WAS_BELOW_ZERO,
    WAS_PRESENT,
)
from streamreasoner.rdf.kernels.compile import inlined, kernel
from streamreasoner.rdf.kernels.memory import int32_column, int64_column

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.arrays import Int64s


@inlined
def presence(table: Int64s, fact: int) -> int:
    """1 if the stored transitions make the fact present in the end, else 0."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    entry = fact + 1
    total = 0
    while entry != 0:
        total += (units[entry] & TRANSITION_BITS) - 1
        entry = words[2 * entry + 3]
    return total


@inlined
def state_of(table: Int64s, fact: int) -> int:
    """Presence, assertion and deficit of a fact, as journal flags."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    entry = fact + 1
    total = 0
    asserted = 0
    while entry != 0:
        count = units[entry] >> COUNT_SHIFT
        total += count
        if words[2 * entry + 2] == 0:
            asserted = count
        entry = words[2 * entry + 3]
    state = 0
    if total > 0:
        state |= WAS_PRESENT
    if total < 0:
        state |= WAS_BELOW_ZERO
    if asserted > 0:
        state |= WAS_ASSERTED
    return state


@inlined
def entry_at(table: Int64s, fact: int, iteration: int) -> int:
    """The fact's entry for an iteration, new if need be; 0 if the arena is full."""
    words = int32_column(table[ARENA])
    entry = fact + 1
    if words[2 * entry + 2] == UNUSED:
        words[2 * entry + 2] = iteration
        return entry
    while entry != 0:
        if words[2 * entry + 2] == iteration:
            return entry
        entry = words[2 * entry + 3]
    entry = allocate(table, 2)
    if entry == 0:
        return 0
    int64_column(table[ARENA])[entry] = EMPTY_ENTRY
    words[2 * entry + 2] = iteration
    words[2 * entry + 3] = words[2 * (fact + 1) + 3]
    words[2 * (fact + 1) + 3] = entry
    return entry


@kernel
def add_count(table: Int64s, fact: int, iteration: int, multiplicity: int) -> int:
    """Add to a fact's multiplicity at an iteration, and touch it there; returns a status."""
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    if words[2 * fact + JOURNAL_WORD] == 0:
        facts = int64_column(table[JOURNAL_FACTS])
        facts[scalars[JOURNALED_FACTS]] = (state_of(table, fact) << 32) | fact
        scalars[JOURNALED_FACTS] += 1
        words[2 * fact + JOURNAL_WORD] = 1
    entry = entry_at(table, fact, iteration)
    if entry == 0:
        return FULL
    count = units[entry] >> COUNT_SHIFT
    if units[entry] & JOURNALED == 0:
        entries = int64_column(table[JOURNAL_ENTRIES])
        row = 2 * scalars[JOURNALED_ENTRIES]
        entries[row] = (fact << 32) | entry
        entries[row + 1] = count
        scalars[JOURNALED_ENTRIES] += 1
        units[entry] |= JOURNALED
    count += multiplicity
    if count > MAX_MULTIPLICITY or count < -MAX_MULTIPLICITY:
        return OVERFLOW
    units[entry] += multiplicity << COUNT_SHIFT
    if units[entry] & TOUCHED == 0:
        touch(table, fact, entry)
    return OK


@inlined
def touch(table: Int64s, fact: int, entry: int) -> None:
    """Put a fact on the list of an entry's iteration."""
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    nodes = int64_column(table[TOUCHED_NODES])
    iteration = words[2 * entry + 2]
    if iteration == 0:
        heads = int32_column(table[INITIAL_HEADS])
        at = int32_column(table[CLASSES])[
            (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH + CLASS_STRATUM
        ]
    else:
        heads = int32_column(table[TOUCHED_HEADS])
        at = iteration
        scalars[LAST_TOUCHED] = max(scalars[LAST_TOUCHED], iteration)
    node = scalars[FREE_NODE]
    if node != 0:
        scalars[FREE_NODE] = nodes[node] >> 32
    else:
        scalars[TOUCHED_COUNT] += 1
        node = scalars[TOUCHED_COUNT]
    nodes[node] = (heads[at] << 32) | fact
    heads[at] = node
    int64_column(table[ARENA])[entry] |= TOUCHED
