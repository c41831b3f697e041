"""An epoch that is evaluated anew, in a second state. Invariant: the former state is only read.

The second state begins with what is asserted, and is evaluated like a load: all of it is new, and
so in its journal. Comparing it with the former state makes this journal that of an epoch that had
changed the former state into it: so everything else about an epoch is the same for both.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.entry import (
    entry_at,
    find_entry,
    journal_entry,
    journal_with,
    make_room,
    state_of,
    write_record,
)
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    find_tagged,
    prefetch_record,
    prefetch_slot,
    tag_of,
)
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.parts.owners import is_copy
from streamreasoner.backends.columnar.kernels.records.pending import flush, push
from streamreasoner.backends.columnar.kernels.records.slots import fact_at, fact_words, reserve
from streamreasoner.backends.columnar.kernels.settling.settle import clear_class_lists
from streamreasoner.native.compile import inlined, kernel

BLOCK = 32
"""Facts whose cache misses overlap."""
_AHEAD = 16  # slots between prefetching a record and reading it
WORD_SHIFT = 6
"""A word of `found` has as many bits as 1 shifted by this."""
_WORD = 63


@kernel
def asserted(table: layout.Int64s, records: layout.Int32s) -> int:
    """Fill in the records with a multiplicity at iteration 0, but no copies; returns their number.

    Args:
        table: The addresses.
        records: Has room for all facts. They come in no particular order.
    """
    words = fact_words(table)
    count = 0
    for i in range(words):
        views.prefetch_unit(table, fact_at(table, min(i + _AHEAD, words - 1)))
        fact = fact_at(table, i)
        if fact != 0 and _multiplicity(table, fact, 0) != 0 and not is_copy(table, fact):
            records[count] = fact
            count += 1
    return count


@inlined
def _multiplicity(table: layout.Int64s, fact: int, iteration: int) -> int:
    """The multiplicity of a fact at an iteration."""
    entry = find_entry(table, fact, iteration)
    # The arena begins with an empty record.
    return facts.multiplicity(table, entry)


@kernel
def assert_again(table: layout.Int64s, former: layout.Int64s, records: layout.Int32s) -> int:
    """Add what is asserted of the records of a former state; returns a status."""
    reserve(table, layout.FACT_TABLE, layout.FACT_SIZE, len(records))
    for i in range(len(records)):
        fact = records[i]
        kind = facts.class_of(former, fact)
        relation = facts.class_field(former, kind, layout.CLASS_RELATION)
        multiplicity = _multiplicity(former, fact, 0)
        at = facts.arguments_at(fact)
        status = push(table, relation, views.words(former), at, 0, multiplicity, kind)
        if status != layout.OK:
            return status
    return flush(table)


@kernel
def compare(
    table: layout.Int64s, former: layout.Int64s, found: layout.Int64s, tags: layout.Int64s
) -> int:
    """Journal the difference to a former state instead of the whole state; returns a status.

    Args:
        table: The addresses of the state, which is settled, and has new facts only.
        former: Those of the former state, where the epoch has been withdrawn.
        found: Bits by fact of the former state, all 0.
        tags: Of shape (BLOCK,), for the hashes of a block of facts.
    """
    held = views.scalars(former)[layout.FACT_COUNT]
    clear_class_lists(table)
    common = _compare_facts(table, former, found, tags)
    if common < 0:
        return layout.FULL
    return _add_lost(table, former, found) if held > common else layout.OK


@kernel
def _compare_facts(
    table: layout.Int64s, former: layout.Int64s, found: layout.Int64s, tags: layout.Int64s
) -> int:
    """Compare each fact of the state with the former one, and mark those that this has.

    Returns the number of these, or -1 if the arena is full.
    """
    common = 0
    count = views.scalars(table)[layout.JOURNALED_FACTS]
    views.scalars(table)[layout.JOURNALED_FACTS] = 0
    for start in range(0, count, BLOCK):
        end = min(start + BLOCK, count)
        for i in range(start, end):
            fact = lists.journaled_fact(table, i)
            relation = facts.field_of(table, fact, layout.CLASS_RELATION)
            tags[i - start] = tag_of(table, relation, views.words(table), facts.arguments_at(fact))
            prefetch_slot(former, tags[i - start])
        for i in range(start, end):
            prefetch_record(former, tags[i - start])
        for i in range(start, end):
            fact = lists.journaled_fact(table, i)
            kind = facts.class_of(table, fact)
            relation = facts.class_field(table, kind, layout.CLASS_RELATION)
            arity = facts.class_field(table, kind, layout.CLASS_ARITY)
            at = facts.arguments_at(fact)
            other = find_tagged(former, relation, views.words(table), at, arity, tags[i - start])
            state = 0
            if other != 0:
                common += 1
                found[other >> WORD_SHIFT] |= 1 << (other & _WORD)
            if other != 0 and not facts.has(former, other, layout.FRESH):
                facts.unmark(table, fact, layout.FRESH)
                state = _former_state(former, other)
                differs = _compare_entries(table, fact, former, other)
                if differs < 0:
                    return -1
                if differs == 0 and state == state_of(table, fact):
                    facts.unflag(table, facts.first_entry(fact), layout.FACT_JOURNALED)
                    continue
            journal_with(table, fact, kind, state)
    return common


@inlined
def _compare_entries(table: layout.Int64s, fact: int, former: layout.Int64s, other: int) -> int:
    """Journal the multiplicities of a fact that differ from those of its former record.

    Returns whether there are any, or entries for the commit to free; -1 if the arena is full.
    """
    differs = 0
    entry = facts.first_entry(fact)
    while entry != 0:
        before = _multiplicity(former, other, facts.iteration(table, entry))
        if facts.multiplicity(table, entry) != before:
            if _journal_former(table, fact, entry, before) != layout.OK:
                return -1
            differs = 1
        elif facts.is_empty_entry(table, entry):
            differs = 1
        entry = facts.next_entry(table, entry)
    added = _add_entries(table, fact, former, other)
    return added if added < 0 else differs | added


@kernel
def _add_entries(table: layout.Int64s, fact: int, former: layout.Int64s, other: int) -> int:
    """Journal the multiplicities of a former record where its fact has no entry.

    Returns whether there are any, or -1 if the arena is full.
    """
    added = 0
    entry = facts.first_entry(other)
    while entry != 0:
        before = facts.multiplicity(former, entry)
        iteration = facts.iteration(former, entry)
        if before != 0 and find_entry(table, fact, iteration) == 0:
            empty = entry_at(table, fact, iteration)
            if empty == 0 or _journal_former(table, fact, empty, before) != layout.OK:
                return -1
            added = 1
        entry = facts.next_entry(former, entry)
    return added


@kernel
def _add_lost(table: layout.Int64s, former: layout.Int64s, found: layout.Int64s) -> int:
    """Create the facts that only the former state has, without multiplicities; returns a status.

    The commit drops them, like those that an epoch has left without multiplicities. No one looks
    them up until then, so they are not entered in the table of facts.
    """
    words = fact_words(former)
    for i in range(words):
        ahead = fact_at(former, min(i + _AHEAD, words - 1))
        if not _is_marked(found, ahead):
            views.prefetch_unit(former, ahead)
        fact = fact_at(former, i)
        if fact == 0 or _is_marked(found, fact) or facts.has(former, fact, layout.FRESH):
            continue
        if _add_empty(table, former, fact) != layout.OK:
            return layout.FULL
    return layout.OK


@inlined
def _journal_former(table: layout.Int64s, fact: int, entry: int, before: int) -> int:
    """Journal an entry with its multiplicity in the former state; returns a status."""
    status = make_room(table, entry, before)
    if status == layout.OK:
        journal_entry(table, fact, entry, before)
    return status


@inlined
def _former_state(former: layout.Int64s, fact: int) -> int:
    """The state of a fact before the epoch, which has been withdrawn but not rederived."""
    noted = (facts.header(former, fact) & layout.NOTED_BITS) >> layout.NOTED_SHIFT
    return noted - 1 if noted != 0 else state_of(former, fact)


@inlined
def _is_marked(found: layout.Int64s, fact: int) -> bool:
    """Whether the bit of a fact is set."""
    return bool(found[fact >> WORD_SHIFT] >> (fact & _WORD) & 1 != 0)


@inlined
def _add_empty(table: layout.Int64s, former: layout.Int64s, other: int) -> int:
    """Create a fact of a former state, without multiplicities, and journal it; returns a status."""
    kind = facts.class_of(former, other)
    iteration = facts.iteration(former, facts.first_entry(other))
    # It is in no group of a lattice, as it is not a candidate.
    header = kind | layout.UNLISTED | layout.LOST
    at = facts.arguments_at(other)
    fact = write_record(table, header, views.words(former), at, iteration, 0)
    if fact == 0:
        return layout.FULL
    before = facts.multiplicity(former, facts.first_entry(other))
    if _journal_former(table, fact, facts.first_entry(fact), before) != layout.OK:
        return layout.FULL
    journal_with(table, fact, kind, _former_state(former, other))
    return layout.OK if _add_entries(table, fact, former, other) >= 0 else layout.FULL
