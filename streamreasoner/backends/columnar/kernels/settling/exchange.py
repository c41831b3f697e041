"""What a part takes from the others. Invariant: it writes only what is its own.

A part reads the outboxes of the others when none of them derives, and the deltas and the records of
their facts when none of them settles. So parts can take at the same time, without a lock.

A *copy* is a fact of a hidden relation, in every part or in the one that an argument tells. Its
multiplicities are the transitions of the fact that it is a copy of, so its transitions are these
too: they change together, and a copy is never settled.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.entry import (
    add_delta,
    add_multiplicity,
    find_entry,
    journal_with,
    new_record,
    trace_rows,
)
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    classify,
    find_tagged,
    tag_of,
)
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.parts.outbox import post
from streamreasoner.backends.columnar.kernels.records.parts.owners import (
    is_copy,
    is_for_another,
    part_of,
)
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, flush, push
from streamreasoner.backends.columnar.kernels.records.slots import fact_at, fact_words
from streamreasoner.native.compile import inlined, kernel


@kernel
def fetch_heads(table: layout.Int64s, source: layout.Int64s) -> int:
    """Add the heads that another part has derived and this one owns; returns a status.

    Args:
        table: The addresses of this part.
        source: Those of the other part, which derives nothing meanwhile.
    """
    rows, cells = views.outbox_rows(source), views.outbox_cells(source)
    number = views.outbox_first(source)[views.scalars(table)[layout.PART]]
    while number != 0:
        row = layout.OUTBOX_WIDTH * (number - 1)
        status = push(
            table,
            rows[row + layout.OUTBOX_RELATION],
            cells,
            rows[row + layout.OUTBOX_CELL],
            rows[row + layout.OUTBOX_ITERATION],
            rows[row + layout.OUTBOX_MULTIPLICITY],
            UNKNOWN,
        )
        if status != layout.OK:
            return status
        views.scalars(table)[layout.FETCHED_HEADS] += 1
        number = rows[row + layout.OUTBOX_NEXT]
    return flush(table)


@kernel
def fetch_changes(table: layout.Int64s, source: layout.Int64s, iteration: int) -> int:
    """Change the copies of facts that a part has settled; returns a status.

    Args:
        table: The addresses of this part.
        source: Those of the part, maybe this one, which settles nothing meanwhile.
        iteration: The iteration that was settled.
    """
    words = views.words(source)
    settled = views.scalars(source)
    fetched = views.scalars(table)[layout.PART] != settled[layout.PART]
    for i in range(settled[layout.SETTLED_FROM], settled[layout.SETTLED_TO]):
        kind = lists.delta_class(source, i)
        at = facts.arguments_at(lists.delta_fact(source, i))
        change = settled_change(source, i)
        status = change_copies(table, kind, words, at, iteration, change, True, fetched)  # noqa: FBT003
        if status != layout.OK:
            return status
    return layout.OK


@kernel
def fetch_facts(table: layout.Int64s, source: layout.Int64s, records: layout.Int32s) -> int:
    """Make copies of settled facts, from all of their transitions; returns a status.

    Args:
        table: The addresses of this part.
        source: Those of the part, maybe this one, that has the facts.
        records: The facts.
    """
    words = views.words(source)
    for i in range(len(records)):
        kind = facts.class_of(source, records[i])
        at = facts.arguments_at(records[i])
        entry = facts.first_entry(records[i])
        while entry != 0:
            when, change = facts.iteration(source, entry), facts.transition(source, entry)
            if change != 0:
                status = change_copies(table, kind, words, at, when, change, False, False)  # noqa: FBT003
                if status != layout.OK:
                    return status
            entry = facts.next_entry(source, entry)
    return layout.OK


@kernel
def leave(table: layout.Int64s) -> int:
    """Send the facts that other parts own to them, and empty all copies; returns a status.

    What is left of them has no multiplicity, and goes when this is committed.
    """
    scalars = views.scalars(table)
    status = layout.OK
    scalars[layout.QUIET] = 1
    for i in range(fact_words(table)):
        fact = fact_at(table, i)
        if fact != 0 and status == layout.OK:
            status = _leave(table, fact)
    scalars[layout.QUIET] = 0
    for i in range(layout.COPY_COUNTS):
        scalars[layout.COPIED_FACTS + i] = 0
    return status


@inlined
def _leave(table: layout.Int64s, fact: int) -> int:
    """Send a fact to the part that owns it, and empty it, if this one does not own it; a status."""
    relation = facts.field_of(table, fact, layout.CLASS_RELATION)
    words, at = views.words(table), facts.arguments_at(fact)
    copied = is_copy(table, fact)
    if not copied and not is_for_another(table, relation, words, at):
        return layout.OK
    status = layout.OK
    entry = facts.first_entry(fact)
    while entry != 0 and status == layout.OK:
        when, multiplicity = facts.iteration(table, entry), facts.multiplicity(table, entry)
        if multiplicity != 0:
            if not copied:
                status = post(table, relation, words, at, when, multiplicity)
            status = max(status, add_multiplicity(table, fact, when, -multiplicity))
        entry = facts.next_entry(table, entry)
    return status


@inlined
def settled_change(table: layout.Int64s, i: int) -> int:
    """The change of a transition that is a delta."""
    return (lists.delta_bits(table, i) >> layout.DELTA_SHIFT) - layout.DELTA_ZERO


@inlined
def change_copies(
    table: layout.Int64s,
    kind: int,
    words: layout.Int32s,
    at: int,
    iteration: int,
    change: int,
    settled: bool,  # noqa: FBT001 - numba has no keyword-only arguments
    fetched: bool,  # noqa: FBT001
) -> int:
    """Change a transition of all copies of a fact that this part has; returns a status.

    Args:
        table: The addresses.
        kind: The class of the fact.
        words: Holds its arguments.
        at: Offset of the arguments.
        iteration: Iteration of the transition.
        change: What is added to it.
        settled: Whether it is a delta of this iteration.
        fetched: Whether it counts as sent by another part.
    """
    row = facts.class_field(table, kind, layout.CLASS_COPIES)
    part = views.scalars(table)[layout.PART]
    for j in range(row, row + facts.class_field(table, kind, layout.CLASS_COPY_COUNT)):
        if is_wanted(table, part, j, words, at):
            copy = _change(table, j, words, at, iteration, change)
            if copy == 0:
                return layout.FULL
            if settled:
                add_delta(table, copy, change)
            views.scalars(table)[layout.FETCHED_CHANGES] += fetched
    return layout.OK


@inlined
def is_wanted(table: layout.Int64s, part: int, copy: int, words: layout.Int32s, at: int) -> bool:
    """Whether a part has a copy of a fact with these arguments, by a row of COPIES."""
    position = views.copies(table)[layout.COPY_WIDTH * copy + layout.COPY_POSITION]
    return bool(position < 0 or part_of(table, words[at + position]) == part)


@kernel
def _change(
    table: layout.Int64s, copy: int, words: layout.Int32s, at: int, iteration: int, change: int
) -> int:
    """Change a transition of a copy, and its multiplicity; returns the copy, 0 if there is no room.

    Args:
        table: The addresses.
        copy: Row of COPIES.
        words: Holds its arguments.
        at: Offset of the arguments.
        iteration: Iteration of the transition.
        change: What is added to it.
    """
    scalars = views.scalars(table)
    relation = views.copies(table)[layout.COPY_WIDTH * copy + layout.COPY_RELATION]
    tag = tag_of(table, relation, words, at)
    fact = find_tagged(table, relation, words, at, views.arity(table, relation), tag)
    before = 0
    if fact == 0:
        kind = classify(table, relation, words, at)
        fact = new_record(table, kind | layout.FRESH, words, at, tag, iteration, change)
        if fact == 0:
            return 0
        journal_with(table, fact, kind, 0)
    else:
        before = trace_rows(table, fact)
        scalars[layout.QUIET] = 1
        status = add_multiplicity(table, fact, iteration, change)
        scalars[layout.QUIET] = 0
        if status != layout.OK:
            return 0
    entry = find_entry(table, fact, iteration)
    facts.change_transition(table, entry, change)
    after = trace_rows(table, fact)
    scalars[layout.COPIED_ROWS] += after - before
    scalars[layout.COPIED_FACTS] += (after != 0) - (before != 0)
    if iteration == 0:
        # It was absent from the start, or it is now.
        scalars[layout.COPIED_ASSERTED] += change
    return fact
