"""Multiplicities and transitions of a fact by iteration. Invariant: each change is journaled once.

An entry holds, for one iteration, a multiplicity, the stored transition and two flags: TOUCHED (it
is in that iteration's list) and JOURNALED (the journal has its multiplicity before the epoch).
Entries are kept until commit, even at zero, so that joins see both old and new transitions.

An entry has room for small numbers. It gets a record for its numbers when one of them is large, and
keeps it as long as it is there, so that a rollback needs no memory.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import enlist
from streamreasoner.backends.columnar.kernels.records.fact_record import allocate, release
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.slots import insert
from streamreasoner.native.compile import inlined, kernel


@inlined
def presence(table: layout.Int64s, fact: int) -> int:
    """1 if the stored transitions leave the fact present, else 0."""
    entry = facts.first_entry(fact)
    total = 0
    while entry != 0:
        total += facts.transition(table, entry)
        entry = facts.next_entry(table, entry)
    return total


@inlined
def has_transitions(table: layout.Int64s, fact: int) -> bool:
    """Whether a fact has a transition, so that a join may match it at some iteration."""
    entry = facts.first_entry(fact)
    while entry != 0:
        if facts.transition(table, entry) != 0:
            return True
        entry = facts.next_entry(table, entry)
    return False


@inlined
def state_of(table: layout.Int64s, fact: int) -> int:
    """Whether a settled fact is present, asserted and below zero, as journal flags."""
    entry = facts.first_entry(fact)
    present = 0
    total = 0
    asserted = 0
    while entry != 0:
        multiplicity = facts.multiplicity(table, entry)
        present += facts.transition(table, entry)
        total += multiplicity
        if facts.iteration(table, entry) == 0:
            asserted = multiplicity
        entry = facts.next_entry(table, entry)
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
    rows = 0
    entry = facts.first_entry(fact)
    while entry != 0:
        rows += facts.multiplicity(table, entry) != 0
        entry = facts.next_entry(table, entry)
    return rows


@inlined
def find_entry(table: layout.Int64s, fact: int, iteration: int) -> int:
    """The fact's entry for an iteration, or 0."""
    entry = facts.first_entry(fact)
    while entry != 0 and facts.iteration(table, entry) != iteration:
        entry = facts.next_entry(table, entry)
    return entry


@inlined
def entry_at(table: layout.Int64s, fact: int, iteration: int) -> int:
    """The fact's entry for an iteration, created if missing; 0 if the arena is full."""
    entry = find_entry(table, fact, iteration)
    if entry != 0:
        return entry
    entry = allocate(table, layout.ENTRY_UNITS)
    if entry == 0:
        return 0
    if begin_entry(table, entry, iteration, 0) != layout.OK:
        release(table, entry, layout.ENTRY_UNITS)
        return 0
    first = facts.first_entry(fact)
    facts.set_next_entry(table, entry, facts.next_entry(table, first))
    facts.set_next_entry(table, first, entry)
    return entry


@inlined
def begin_entry(table: layout.Int64s, entry: int, iteration: int, multiplicity: int) -> int:
    """Give a new entry, a zeroed unit, its numbers; returns a status."""
    if iteration < layout.HIGH_ITERATION and facts.is_small(multiplicity):
        numbers = (multiplicity << layout.MULTIPLICITY_SHIFT) | (
            iteration << layout.ITERATION_SHIFT
        )
        facts.set_word(table, entry, layout.ENTRY_STATE, numbers | layout.NO_TRANSITION)
        return layout.OK
    when = min(iteration, layout.HIGH_ITERATION) << layout.ITERATION_SHIFT
    facts.set_word(table, entry, layout.ENTRY_STATE, when | layout.NO_TRANSITION)
    return _add_numbers(table, entry, iteration, multiplicity)


@inlined
def make_room(table: layout.Int64s, entry: int, multiplicity: int) -> int:
    """Let an entry have room for a multiplicity; returns a status."""
    if facts.is_small(multiplicity) or facts.has_numbers(table, entry):
        return layout.OK
    when, present = facts.iteration(table, entry), facts.multiplicity(table, entry)
    return _add_numbers(table, entry, when, present)


@kernel
def _add_numbers(table: layout.Int64s, entry: int, iteration: int, multiplicity: int) -> int:
    """Give an entry a record for its numbers; returns a status."""
    numbers = allocate(table, layout.NUMBERS_UNITS)
    if numbers == 0:
        return layout.FULL
    views.units(table)[numbers + layout.NUMBERS_MULTIPLICITY] = multiplicity
    facts.set_word(table, numbers, layout.NUMBERS_ITERATION, iteration)
    facts.set_word(table, numbers, layout.NUMBERS_NEXT, facts.next_entry(table, entry))
    facts.set_word(table, entry, layout.ENTRY_NEXT, ~numbers)
    facts.set_small(table, entry, layout.ELSEWHERE)
    return layout.OK


@inlined
def free_numbers(table: layout.Int64s, entry: int) -> None:
    """Free the record for the numbers of an empty entry, if it has one; its successor stays."""
    if facts.has_numbers(table, entry):
        numbers = facts.numbers(table, entry)
        facts.set_word(table, entry, layout.ENTRY_NEXT, facts.next_entry(table, entry))
        facts.set_small(table, entry, 0)
        release(table, numbers, layout.NUMBERS_UNITS)


@inlined
def journal_fact(table: layout.Int64s, fact: int) -> None:
    """Journal the state of an existing fact before its first change in an epoch."""
    if not facts.is_fact_journaled(table, fact):
        journal_with(table, fact, facts.class_of(table, fact), state_of(table, fact))


@inlined
def journal_with(table: layout.Int64s, fact: int, kind: int, state: int) -> None:
    """Journal a fact of class *kind*, which is not journaled, with its state before the epoch."""
    lists.set_journaled_fact(table, views.scalars(table)[layout.JOURNALED_FACTS], fact, state, kind)
    views.scalars(table)[layout.JOURNALED_FACTS] += 1
    facts.flag(table, facts.first_entry(fact), layout.FACT_JOURNALED)


@inlined
def journal_entry(table: layout.Int64s, fact: int, entry: int, before: int) -> None:
    """Journal an entry with its multiplicity before the epoch, for which it has room."""
    lists.set_journaled_entry(
        table, views.scalars(table)[layout.JOURNALED_ENTRIES], fact, entry, before
    )
    views.scalars(table)[layout.JOURNALED_ENTRIES] += 1


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
        insert(table, layout.FACT_TABLE, layout.FACT_SIZE, tag, fact)
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
    kind = header & layout.CLASS_BITS
    units = facts.class_field(table, kind, layout.CLASS_UNITS)
    fact = allocate(table, units)
    if fact == 0:
        return 0
    if begin_entry(table, facts.first_entry(fact), iteration, multiplicity) != layout.OK:
        release(table, fact, units)
        return 0
    facts.set_header(table, fact, header)
    words, base = views.words(table), facts.arguments_at(fact)
    for j in range(facts.class_field(table, kind, layout.CLASS_ARITY)):
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
    fact = new_record(table, kind | layout.FRESH, cells, at, tag, iteration, multiplicity)
    if fact == 0:
        return layout.FULL
    journal_with(table, fact, kind, 0)
    if facts.class_field(table, kind, layout.CLASS_LATTICE) != 0:
        facts.mark(table, fact, layout.UNLISTED)
        if enlist(table, fact) != layout.OK:
            return layout.FULL
    if views.scalars(table)[layout.QUIET] == 0:
        touch(table, fact, facts.first_entry(fact))
    return layout.OK


@kernel
def add_multiplicity(table: layout.Int64s, fact: int, iteration: int, multiplicity: int) -> int:
    """Add to a fact's multiplicity at an iteration, and touch it there; returns a status."""
    journal_fact(table, fact)
    entry = entry_at(table, fact, iteration)
    if entry == 0:
        return layout.FULL
    total = facts.multiplicity(table, entry)
    if not facts.has(table, fact, layout.FRESH) and not facts.is_journaled(table, entry):
        journal_entry(table, fact, entry, total)
        facts.flag(table, entry, layout.JOURNALED)
    status = set_total(table, entry, total + multiplicity)
    if status != layout.OK:
        return status
    if not facts.is_touched(table, entry) and views.scalars(table)[layout.QUIET] == 0:
        touch(table, fact, entry)
    return layout.OK


@inlined
def set_total(table: layout.Int64s, entry: int, total: int) -> int:
    """Set the multiplicity of an entry to a sum; returns a status."""
    if total > layout.MAX_MULTIPLICITY or total < -layout.MAX_MULTIPLICITY:
        return layout.OVERFLOW
    if make_room(table, entry, total) != layout.OK:
        return layout.FULL
    facts.set_multiplicity(table, entry, total)
    return layout.OK


@inlined
def add_delta(table: layout.Int64s, fact: int, change: int) -> None:
    """Record that a fact's transition changed at the iteration being settled."""
    lists.set_delta(
        table, views.scalars(table)[layout.DELTA_COUNT], fact, facts.class_of(table, fact), change
    )
    facts.mark(table, fact, (change + layout.DELTA_ZERO) << layout.DELTA_SHIFT)
    views.scalars(table)[layout.DELTA_COUNT] += 1


@inlined
def touch(table: layout.Int64s, fact: int, entry: int) -> None:
    """Put a fact on the touched list of an entry's iteration."""
    iteration = facts.iteration(table, entry)
    facts.flag(table, entry, layout.TOUCHED)
    if iteration == 0:
        touch_at_start(table, fact)
        return
    views.scalars(table)[layout.LAST_TOUCHED] = max(
        views.scalars(table)[layout.LAST_TOUCHED], iteration
    )
    last = views.touched_last(table)
    last[iteration >> layout.SEGMENT_BITS] = max(last[iteration >> layout.SEGMENT_BITS], iteration)
    _prepend_node(table, views.touched_heads(table), iteration, fact)


@kernel
def forget_touched(table: layout.Int64s) -> None:
    """Forget which iterations were touched last; their lists are empty."""
    for segment in range((views.scalars(table)[layout.LAST_TOUCHED] >> layout.SEGMENT_BITS) + 1):
        views.touched_last(table)[segment] = 0
    views.scalars(table)[layout.LAST_TOUCHED] = 0


@inlined
def touch_at_start(table: layout.Int64s, fact: int) -> None:
    """Put a fact on the touched list of iteration 0 of its stratum; it needs no entry there."""
    stratum = facts.field_of(table, fact, layout.CLASS_STRATUM)
    _prepend_node(table, views.initial_heads(table), stratum, fact)


@inlined
def _prepend_node(table: layout.Int64s, heads: layout.Int32s, at: int, fact: int) -> None:
    """Prepend a fact to a touched list."""
    scalars = views.scalars(table)
    node = scalars[layout.FREE_NODE]
    if node != 0:
        scalars[layout.FREE_NODE] = lists.next_touched_node(table, node)
    else:
        scalars[layout.TOUCHED_COUNT] += 1
        node = scalars[layout.TOUCHED_COUNT]
    lists.set_touched(table, node, fact, heads[at])
    heads[at] = node
