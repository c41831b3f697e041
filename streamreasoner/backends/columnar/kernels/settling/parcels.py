"""What parts in different processes send each other. Invariant: a parcel is int32 words alone.

A parcel of heads has a row for each head: relation, iteration, the halves of the multiplicity, the
arguments. One of changes has a row for each transition of a fact that the receiver has copies of:
class, iteration, change, the arguments. All parts have compiled the same program, so the numbers of
relations and classes mean the same.

What packs returns the words that the parcel takes, and writes it only if there is room.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, flush, push
from streamreasoner.backends.columnar.kernels.settling.exchange import (
    change_copies,
    is_wanted,
    settled_change,
)
from streamreasoner.native.compile import inlined, kernel


@kernel
def pack_heads(table: layout.Int64s, receiver: int, parcel: layout.Int32s) -> int:
    """Pack the heads that another part owns; returns the words that they take."""
    rows, cells = views.outbox_rows(table), views.outbox_cells(table)
    words = 0
    number = views.outbox_first(table)[receiver]
    while number != 0:
        row = layout.OUTBOX_WIDTH * (number - 1)
        relation = rows[row + layout.OUTBOX_RELATION]
        arity = views.arity(table, relation)
        if words + layout.HEAD_ARGUMENTS + arity <= len(parcel):
            multiplicity = rows[row + layout.OUTBOX_MULTIPLICITY]
            parcel[words + layout.HEAD_RELATION] = relation
            parcel[words + layout.HEAD_ITERATION] = rows[row + layout.OUTBOX_ITERATION]
            parcel[words + layout.HEAD_UPPER] = multiplicity >> layout.HALF
            parcel[words + layout.HEAD_LOWER] = multiplicity & layout.LOW
            for i in range(arity):
                parcel[words + layout.HEAD_ARGUMENTS + i] = cells[
                    rows[row + layout.OUTBOX_CELL] + i
                ]
        words += layout.HEAD_ARGUMENTS + arity
        number = rows[row + layout.OUTBOX_NEXT]
    return words


@kernel
def take_heads(table: layout.Int64s, parcel: layout.Int32s) -> int:
    """Add the heads of a parcel, which this part owns; returns a status."""
    word = 0
    while word < len(parcel):
        relation, at = parcel[word + layout.HEAD_RELATION], word + layout.HEAD_ARGUMENTS
        iteration = parcel[word + layout.HEAD_ITERATION]
        lower = parcel[word + layout.HEAD_LOWER] & layout.LOW
        multiplicity = lists.pack(parcel[word + layout.HEAD_UPPER], lower)
        status = push(table, relation, parcel, at, iteration, multiplicity, UNKNOWN)
        if status != layout.OK:
            return status
        views.scalars(table)[layout.FETCHED_HEADS] += 1
        word = at + views.arity(table, relation)
    return flush(table)


@kernel
def pack_changes(table: layout.Int64s, receiver: int, iteration: int, parcel: layout.Int32s) -> int:
    """Pack what this part has settled at an iteration; returns the words that it takes."""
    scalars = views.scalars(table)
    words = 0
    for i in range(scalars[layout.SETTLED_FROM], scalars[layout.SETTLED_TO]):
        fact, kind = lists.delta_fact(table, i), lists.delta_class(table, i)
        if _is_sent(table, receiver, kind, fact):
            change = settled_change(table, i)
            words = _pack_change(table, kind, fact, iteration, change, parcel, words)
    return words


@kernel
def pack_facts(
    table: layout.Int64s, receiver: int, records: layout.Int32s, parcel: layout.Int32s
) -> int:
    """Pack all transitions of facts; returns the words that they take."""
    words = 0
    for i in range(len(records)):
        kind = facts.class_of(table, records[i])
        if not _is_sent(table, receiver, kind, records[i]):
            continue
        entry = facts.first_entry(records[i])
        while entry != 0:
            when, change = facts.iteration(table, entry), facts.transition(table, entry)
            if change != 0:
                words = _pack_change(table, kind, records[i], when, change, parcel, words)
            entry = facts.next_entry(table, entry)
    return words


@inlined
def _is_sent(table: layout.Int64s, receiver: int, kind: int, fact: int) -> bool:
    """Whether another part has a copy of a fact."""
    words, at = views.words(table), facts.arguments_at(fact)
    row = facts.class_field(table, kind, layout.CLASS_COPIES)
    for j in range(row, row + facts.class_field(table, kind, layout.CLASS_COPY_COUNT)):
        if is_wanted(table, receiver, j, words, at):
            return True
    return False


@inlined
def _pack_change(
    table: layout.Int64s,
    kind: int,
    fact: int,
    iteration: int,
    change: int,
    parcel: layout.Int32s,
    words: int,
) -> int:
    """Write a transition if there is room; returns the words of the parcel with it."""
    arity = facts.class_field(table, kind, layout.CLASS_ARITY)
    if words + layout.CHANGE_ARGUMENTS + arity <= len(parcel):
        parcel[words + layout.CHANGE_CLASS] = kind
        parcel[words + layout.CHANGE_ITERATION] = iteration
        parcel[words + layout.CHANGE_TRANSITION] = change
        for i in range(arity):
            parcel[words + layout.CHANGE_ARGUMENTS + i] = facts.argument(table, fact, i)
    return words + layout.CHANGE_ARGUMENTS + arity


@kernel
def take_changes(table: layout.Int64s, parcel: layout.Int32s, settled: int) -> int:
    """Change the copies that a parcel has transitions of; returns a status.

    Args:
        table: The addresses.
        parcel: The parcel.
        settled: 1 if they are deltas of this iteration, 0 if they are restored.
    """
    word = 0
    while word < len(parcel):
        kind, at = parcel[word + layout.CHANGE_CLASS], word + layout.CHANGE_ARGUMENTS
        iteration = parcel[word + layout.CHANGE_ITERATION]
        change = parcel[word + layout.CHANGE_TRANSITION]
        status = change_copies(
            table, kind, parcel, at, iteration, change, settled != 0, settled != 0
        )
        if status != layout.OK:
            return status
        word = at + facts.class_field(table, kind, layout.CLASS_ARITY)
    return layout.OK
