"""Multiplicities and transitions of a fact by iteration. Invariant: each change is journaled once.

An entry holds, for one iteration, a multiplicity, the stored transition and two flags: TOUCHED (it
is in that iteration's list) and JOURNALED (the journal has its multiplicity before the epoch).
Entries are kept until commit, even at zero, so that joins see both old and new transitions.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import enlist
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    allocate,
    prefetch_further_entry,
)
from streamreasoner.backends.columnar.kernels.records.slots import LOW, insert
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel

AHEAD = 16
"""Journaled facts between prefetching a cache line and reading it."""


@inlined
def presence(table: layout.Int64s, fact: int) -> int:
    """1 if the stored transitions leave the fact present, else 0."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    entry = fact + 1
    total = 0
    while entry != 0:
        total += (units[entry] & layout.TRANSITION_BITS) - 1
        entry = words[2 * entry + 3]
    return total


@inlined
def has_transitions(table: layout.Int64s, fact: int) -> bool:
    """Whether a fact has a transition, so that a join may match it at some iteration."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    entry = fact + 1
    while entry != 0:
        if units[entry] & layout.TRANSITION_BITS != 1:
            return True
        entry = words[2 * entry + 3]
    return False


@inlined
def state_of(table: layout.Int64s, fact: int) -> int:
    """Whether a settled fact is present, asserted and below zero, as journal flags."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    entry = fact + 1
    present = 0
    total = 0
    asserted = 0
    while entry != 0:
        multiplicity = units[entry] >> layout.MULTIPLICITY_SHIFT
        present += (units[entry] & layout.TRANSITION_BITS) - 1
        total += multiplicity
        if words[2 * entry + 2] == 0:
            asserted = multiplicity
        entry = words[2 * entry + 3]
    state = 0
    if present > 0:
        state |= layout.WAS_PRESENT
    if total < 0:
        state |= layout.WAS_BELOW_ZERO
    if asserted > 0:
        state |= layout.WAS_ASSERTED
    return state


@inlined
def trace_rows(table: layout.Int64s, fact: int) -> int:
    """Number of iterations at which a fact has a multiplicity."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    rows = 0
    entry = fact + 1
    while entry != 0:
        rows += units[entry] >> layout.MULTIPLICITY_SHIFT != 0
        entry = words[2 * entry + 3]
    return rows


@inlined
def prefetch_journaled(table: layout.Int64s, i: int) -> None:
    """Prefetch records and further entries of facts that the journal has behind number *i*."""
    facts = int64_column(table[layout.JOURNAL_FACTS])
    if i + 2 * AHEAD < int64_column(table[layout.SCALARS])[layout.JOURNALED_FACTS]:
        prefetch(table[layout.ARENA] + 8 * (facts[i + 2 * AHEAD] & LOW))
        prefetch_further_entry(table, facts[i + AHEAD] & LOW)


@inlined
def prefetch_journaled_entry(table: layout.Int64s, i: int) -> None:
    """Prefetch an entry that the journal has behind number *i*, and the record of its fact."""
    entries = int64_column(table[layout.JOURNAL_ENTRIES])
    if i + AHEAD < int64_column(table[layout.SCALARS])[layout.JOURNALED_ENTRIES]:
        journaled = entries[2 * (i + AHEAD)]
        prefetch(table[layout.ARENA] + 8 * (journaled & LOW))
        fact = (journaled >> 32) & layout.FACT_BITS
        prefetch(table[layout.ARENA] + 8 * fact)
        prefetch(table[layout.ARENA] + 8 * fact + 4 * layout.THIRD_CELL)  # may be on the next line


@inlined
def find_entry(table: layout.Int64s, fact: int, iteration: int) -> int:
    """The fact's entry for an iteration, or 0."""
    words = int32_column(table[layout.ARENA])
    entry = fact + 1
    while entry != 0 and words[2 * entry + 2] != iteration:
        entry = words[2 * entry + 3]
    return entry


@inlined
def entry_at(table: layout.Int64s, fact: int, iteration: int) -> int:
    """The fact's entry for an iteration, created if missing; 0 if the arena is full."""
    words = int32_column(table[layout.ARENA])
    entry = find_entry(table, fact, iteration)
    if entry != 0:
        return entry
    entry = allocate(table, 2)
    if entry == 0:
        return 0
    int64_column(table[layout.ARENA])[entry] = layout.EMPTY_ENTRY
    words[2 * entry + 2] = iteration
    words[2 * entry + 3] = words[2 * (fact + 1) + 3]
    words[2 * (fact + 1) + 3] = entry
    return entry


@inlined
def journal_fact(table: layout.Int64s, fact: int) -> None:
    """Journal the state of an existing fact before its first change in an epoch."""
    words = int32_column(table[layout.ARENA])
    if words[2 * fact + layout.JOURNAL_WORD] == 0:
        journal_with(table, fact, words[2 * fact] & layout.CLASS_BITS, state_of(table, fact))


@inlined
def journal_with(table: layout.Int64s, fact: int, kind: int, state: int) -> None:
    """Journal a fact of class *kind*, which is not journaled, with its state before the epoch."""
    scalars = int64_column(table[layout.SCALARS])
    journaled = (kind << layout.JOURNAL_CLASS_SHIFT) | (state << 32) | fact
    int64_column(table[layout.JOURNAL_FACTS])[scalars[layout.JOURNALED_FACTS]] = journaled
    scalars[layout.JOURNALED_FACTS] += 1
    int32_column(table[layout.ARENA])[2 * fact + layout.JOURNAL_WORD] = 1


@inlined
def journal_entry(table: layout.Int64s, fact: int, entry: int, before: int) -> None:
    """Journal an entry with its multiplicity before the epoch."""
    scalars = int64_column(table[layout.SCALARS])
    entries = int64_column(table[layout.JOURNAL_ENTRIES])
    row = 2 * scalars[layout.JOURNALED_ENTRIES]
    entries[row] = (fact << 32) | entry
    entries[row + 1] = before
    scalars[layout.JOURNALED_ENTRIES] += 1


@inlined
def new_record(
    table: layout.Int64s,
    header: int,
    cells: layout.Int32s,
    at: int,
    tag: int,
    iteration: int,
    multiplicity: int,
) -> int:
    """A record for a fact that has none, with one multiplicity; 0 if the arena is full.

    Args:
        table: The addresses.
        header: Its class and flags.
        cells: Holds its arguments.
        at: Offset of the arguments.
        tag: Hash of its relation and arguments.
        iteration: Iteration of its entry.
        multiplicity: Its multiplicity there.
    """
    fact = write_record(table, header, cells, at, iteration, multiplicity)
    if fact != 0:
        insert(table, layout.FACT_TABLE, layout.FACT_MASK, tag, fact)
    return fact


@inlined
def write_record(
    table: layout.Int64s,
    header: int,
    cells: layout.Int32s,
    at: int,
    iteration: int,
    multiplicity: int,
) -> int:
    """Like `new_record`, but leave it to the caller to enter it in the table of facts."""
    words = int32_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    row = (header & layout.CLASS_BITS) * layout.CLASS_WIDTH
    fact = allocate(table, classes[row + layout.CLASS_UNITS])
    if fact == 0:
        return 0
    words[2 * fact] = header
    int64_column(table[layout.ARENA])[fact + 1] = (
        multiplicity << layout.MULTIPLICITY_SHIFT
    ) | layout.EMPTY_ENTRY
    words[2 * (fact + 1) + 2] = iteration
    base = 2 * fact + layout.CELLS
    for j in range(classes[row + layout.CLASS_ARITY]):
        words[base + j] = cells[at + j]
    return fact


@inlined
def create_fact(
    table: layout.Int64s,
    kind: int,
    cells: layout.Int32s,
    at: int,
    tag: int,
    iteration: int,
    multiplicity: int,
) -> int:
    """Create a fact of class *kind* and hash *tag* with a multiplicity; returns a status."""
    if multiplicity > layout.MAX_MULTIPLICITY or multiplicity < -layout.MAX_MULTIPLICITY:
        return layout.OVERFLOW
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    fact = new_record(table, kind | layout.FRESH, cells, at, tag, iteration, multiplicity)
    if fact == 0:
        return layout.FULL
    journal_with(table, fact, kind, 0)
    if classes[kind * layout.CLASS_WIDTH + layout.CLASS_LATTICE] != 0:
        words[2 * fact] |= layout.UNLISTED
        if enlist(table, fact) != layout.OK:
            return layout.FULL
    if scalars[layout.QUIET] == 0:
        touch(table, fact, fact + 1)
    return layout.OK


@kernel
def add_multiplicity(table: layout.Int64s, fact: int, iteration: int, multiplicity: int) -> int:
    """Add to a fact's multiplicity at an iteration, and touch it there; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    journal_fact(table, fact)
    entry = entry_at(table, fact, iteration)
    if entry == 0:
        return layout.FULL
    total = units[entry] >> layout.MULTIPLICITY_SHIFT
    if (words[2 * fact] & layout.FRESH) == 0 and units[entry] & layout.JOURNALED == 0:
        journal_entry(table, fact, entry, total)
        units[entry] |= layout.JOURNALED
    total += multiplicity
    if total > layout.MAX_MULTIPLICITY or total < -layout.MAX_MULTIPLICITY:
        return layout.OVERFLOW
    units[entry] += multiplicity << layout.MULTIPLICITY_SHIFT
    if units[entry] & layout.TOUCHED == 0 and scalars[layout.QUIET] == 0:
        touch(table, fact, entry)
    return layout.OK


@inlined
def class_of(delta: int) -> int:
    """The class of the fact of a delta."""
    return (delta >> 32) & layout.CLASS_BITS


@inlined
def change_of(header: int) -> int:
    """The change of the transition of a fact with this header, which has a delta."""
    return ((header >> layout.DELTA_SHIFT) & 7) - layout.DELTA_ZERO


@inlined
def add_delta(table: layout.Int64s, fact: int, change: int) -> None:
    """Record that a fact's transition changed at the iteration being settled."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    header = words[2 * fact]
    words[2 * fact] = header | ((change + layout.DELTA_ZERO) << layout.DELTA_SHIFT)
    int64_column(table[layout.DELTAS])[scalars[layout.DELTA_COUNT]] = (
        ((change + layout.DELTA_ZERO) << layout.DELTA_CHANGE_SHIFT)
        | ((header & layout.CLASS_BITS) << 32)
        | fact
    )
    scalars[layout.DELTA_COUNT] += 1


@inlined
def touch(table: layout.Int64s, fact: int, entry: int) -> None:
    """Put a fact on the touched list of an entry's iteration."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    iteration = words[2 * entry + 2]
    units = int64_column(table[layout.ARENA])
    units[entry] |= layout.TOUCHED
    if iteration == 0:
        touch_at_start(table, fact)
        return
    scalars[layout.LAST_TOUCHED] = max(scalars[layout.LAST_TOUCHED], iteration)
    last = int32_column(table[layout.TOUCHED_LAST])
    last[iteration >> layout.SEGMENT_BITS] = max(last[iteration >> layout.SEGMENT_BITS], iteration)
    _prepend_node(table, int32_column(table[layout.TOUCHED_HEADS]), iteration, fact)


@kernel
def forget_touched(table: layout.Int64s) -> None:
    """Forget which iterations were touched last; their lists are empty."""
    scalars = int64_column(table[layout.SCALARS])
    last = int32_column(table[layout.TOUCHED_LAST])
    for segment in range((scalars[layout.LAST_TOUCHED] >> layout.SEGMENT_BITS) + 1):
        last[segment] = 0
    scalars[layout.LAST_TOUCHED] = 0


@inlined
def touch_at_start(table: layout.Int64s, fact: int) -> None:
    """Put a fact on the touched list of iteration 0 of its stratum; it needs no entry there."""
    row = (int32_column(table[layout.ARENA])[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    stratum = int32_column(table[layout.CLASSES])[row + layout.CLASS_STRATUM]
    _prepend_node(table, int32_column(table[layout.INITIAL_HEADS]), stratum, fact)


@inlined
def _prepend_node(table: layout.Int64s, heads: layout.Int32s, at: int, fact: int) -> None:
    """Prepend a fact to a touched list."""
    scalars = int64_column(table[layout.SCALARS])
    nodes = int64_column(table[layout.TOUCHED_NODES])
    node = scalars[layout.FREE_NODE]
    if node != 0:
        scalars[layout.FREE_NODE] = nodes[node] >> 32
    else:
        scalars[layout.TOUCHED_COUNT] += 1
        node = scalars[layout.TOUCHED_COUNT]
    nodes[node] = (heads[at] << 32) | fact
    heads[at] = node
