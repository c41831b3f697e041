"""Multiplicities and transitions of a fact by iteration. Invariant: each change is journaled once.

An entry holds, for one iteration, a multiplicity, the stored transition and two flags: TOUCHED (it
is in that iteration's list) and JOURNALED (the journal has its multiplicity before the epoch).
Entries are kept until commit, even at zero, so that joins see both old and new transitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.kernels.records.arrangement import enlist
from streamreasoner.backends.columnar.kernels.records.fact_record import allocate
from streamreasoner.backends.columnar.kernels.records.layout import (
    ARENA,
    CELLS,
    CLASS_ARITY,
    CLASS_BITS,
    CLASS_LATTICE,
    CLASS_STRATUM,
    CLASS_UNITS,
    CLASS_WIDTH,
    CLASSES,
    DELTA_COUNT,
    DELTA_SHIFT,
    DELTA_ZERO,
    DELTAS,
    EMPTY_ENTRY,
    FACT_MASK,
    FACT_TABLE,
    FREE_NODE,
    FRESH,
    FULL,
    INITIAL_HEADS,
    JOURNAL_CLASS_SHIFT,
    JOURNAL_ENTRIES,
    JOURNAL_FACTS,
    JOURNAL_WORD,
    JOURNALED,
    JOURNALED_ENTRIES,
    JOURNALED_FACTS,
    LAST_TOUCHED,
    MAX_MULTIPLICITY,
    MULTIPLICITY_SHIFT,
    OK,
    OVERFLOW,
    QUIET,
    SCALARS,
    TOUCHED,
    TOUCHED_COUNT,
    TOUCHED_HEADS,
    TOUCHED_NODES,
    TRANSITION_BITS,
    UNLISTED,
    WAS_ASSERTED,
    WAS_BELOW_ZERO,
    WAS_PRESENT,
)
from streamreasoner.backends.columnar.kernels.records.slots import insert
from streamreasoner.native.addresses import int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.kernels.records.layout import Int32s, Int64s


@inlined
def presence(table: Int64s, fact: int) -> int:
    """1 if the stored transitions leave the fact present, else 0."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    entry = fact + 1
    total = 0
    while entry != 0:
        total += (units[entry] & TRANSITION_BITS) - 1
        entry = words[2 * entry + 3]
    return total


@inlined
def has_transitions(table: Int64s, fact: int) -> bool:
    """Whether a fact has a transition, so that a join may match it at some iteration."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    entry = fact + 1
    while entry != 0:
        if units[entry] & TRANSITION_BITS != 1:
            return True
        entry = words[2 * entry + 3]
    return False


@inlined
def state_of(table: Int64s, fact: int) -> int:
    """Whether a settled fact is present, asserted and below zero, as journal flags."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    entry = fact + 1
    present = 0
    total = 0
    asserted = 0
    while entry != 0:
        multiplicity = units[entry] >> MULTIPLICITY_SHIFT
        present += (units[entry] & TRANSITION_BITS) - 1
        total += multiplicity
        if words[2 * entry + 2] == 0:
            asserted = multiplicity
        entry = words[2 * entry + 3]
    state = 0
    if present > 0:
        state |= WAS_PRESENT
    if total < 0:
        state |= WAS_BELOW_ZERO
    if asserted > 0:
        state |= WAS_ASSERTED
    return state


@inlined
def entry_at(table: Int64s, fact: int, iteration: int) -> int:
    """The fact's entry for an iteration, created if missing; 0 if the arena is full."""
    words = int32_column(table[ARENA])
    entry = fact + 1
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


@inlined
def journal_fact(table: Int64s, fact: int) -> None:
    """Journal the state of an existing fact before its first change in an epoch."""
    words = int32_column(table[ARENA])
    if words[2 * fact + JOURNAL_WORD] == 0:
        scalars = int64_column(table[SCALARS])
        state = state_of(table, fact)
        kind = words[2 * fact] & CLASS_BITS
        journaled = (kind << JOURNAL_CLASS_SHIFT) | (state << 32) | fact
        int64_column(table[JOURNAL_FACTS])[scalars[JOURNALED_FACTS]] = journaled
        scalars[JOURNALED_FACTS] += 1
        words[2 * fact + JOURNAL_WORD] = 1


@inlined
def create_fact(
    table: Int64s,
    kind: int,
    cells: Int32s,
    at: int,
    tag: int,
    iteration: int,
    multiplicity: int,
) -> int:
    """Create a fact of class *kind* and hash *tag* with a multiplicity; returns a status."""
    if multiplicity > MAX_MULTIPLICITY or multiplicity < -MAX_MULTIPLICITY:
        return OVERFLOW
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    row = kind * CLASS_WIDTH
    fact = allocate(table, classes[row + CLASS_UNITS])
    if fact == 0:
        return FULL
    words[2 * fact] = kind | FRESH
    words[2 * fact + JOURNAL_WORD] = 1
    int64_column(table[ARENA])[fact + 1] = (multiplicity << MULTIPLICITY_SHIFT) | EMPTY_ENTRY
    words[2 * (fact + 1) + 2] = iteration
    base = 2 * fact + CELLS
    for j in range(classes[row + CLASS_ARITY]):
        words[base + j] = cells[at + j]
    insert(table, FACT_TABLE, FACT_MASK, tag, fact)
    journaled = (kind << JOURNAL_CLASS_SHIFT) | fact
    int64_column(table[JOURNAL_FACTS])[scalars[JOURNALED_FACTS]] = journaled
    scalars[JOURNALED_FACTS] += 1
    if classes[row + CLASS_LATTICE] != 0:
        words[2 * fact] |= UNLISTED
        if enlist(table, fact) != OK:
            return FULL
    if scalars[QUIET] == 0:
        touch(table, fact, fact + 1)
    return OK


@kernel
def add_multiplicity(table: Int64s, fact: int, iteration: int, multiplicity: int) -> int:
    """Add to a fact's multiplicity at an iteration, and touch it there; returns a status."""
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    journal_fact(table, fact)
    entry = entry_at(table, fact, iteration)
    if entry == 0:
        return FULL
    total = units[entry] >> MULTIPLICITY_SHIFT
    if (words[2 * fact] & FRESH) == 0 and units[entry] & JOURNALED == 0:
        entries = int64_column(table[JOURNAL_ENTRIES])
        row = 2 * scalars[JOURNALED_ENTRIES]
        entries[row] = (fact << 32) | entry
        entries[row + 1] = total
        scalars[JOURNALED_ENTRIES] += 1
        units[entry] |= JOURNALED
    total += multiplicity
    if total > MAX_MULTIPLICITY or total < -MAX_MULTIPLICITY:
        return OVERFLOW
    units[entry] += multiplicity << MULTIPLICITY_SHIFT
    if units[entry] & TOUCHED == 0 and scalars[QUIET] == 0:
        touch(table, fact, entry)
    return OK


@inlined
def add_delta(table: Int64s, fact: int, change: int) -> None:
    """Record that a fact's transition changed at the iteration being settled."""
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    header = words[2 * fact]
    words[2 * fact] = header | ((change + DELTA_ZERO) << DELTA_SHIFT)
    int64_column(table[DELTAS])[scalars[DELTA_COUNT]] = ((header & CLASS_BITS) << 32) | fact
    scalars[DELTA_COUNT] += 1


@inlined
def touch(table: Int64s, fact: int, entry: int) -> None:
    """Put a fact on the touched list of an entry's iteration."""
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    iteration = words[2 * entry + 2]
    units = int64_column(table[ARENA])
    units[entry] |= TOUCHED
    if iteration == 0:
        touch_at_start(table, fact)
        return
    scalars[LAST_TOUCHED] = max(scalars[LAST_TOUCHED], iteration)
    _prepend_node(table, int32_column(table[TOUCHED_HEADS]), iteration, fact)


@inlined
def touch_at_start(table: Int64s, fact: int) -> None:
    """Put a fact on the touched list of iteration 0 of its stratum; it needs no entry there."""
    row = (int32_column(table[ARENA])[2 * fact] & CLASS_BITS) * CLASS_WIDTH
    stratum = int32_column(table[CLASSES])[row + CLASS_STRATUM]
    _prepend_node(table, int32_column(table[INITIAL_HEADS]), stratum, fact)


@inlined
def _prepend_node(table: Int64s, heads: Int32s, at: int, fact: int) -> None:
    """Prepend a fact to a touched list."""
    scalars = int64_column(table[SCALARS])
    nodes = int64_column(table[TOUCHED_NODES])
    node = scalars[FREE_NODE]
    if node != 0:
        scalars[FREE_NODE] = nodes[node] >> 32
    else:
        scalars[TOUCHED_COUNT] += 1
        node = scalars[TOUCHED_COUNT]
    nodes[node] = (heads[at] << 32) | fact
    heads[at] = node
