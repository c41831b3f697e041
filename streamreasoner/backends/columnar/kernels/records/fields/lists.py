"""What kernels list: deltas, touched facts, the journal. Invariant: a row is taken apart here only.

Rows pack two or three small numbers into 64 bits; `lower` and `upper` are the halves of those that
pack two.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, views
from streamreasoner.native.compile import inlined

AHEAD = 16
"""Journaled facts between prefetching a cache line and reading it."""


@inlined
def lower(packed: int) -> int:
    """The lower half of 64 bits: an id, or a record."""
    return packed & layout.LOW


@inlined
def upper(packed: int) -> int:
    """The upper half of 64 bits, unsigned: what comes with the lower one."""
    return (packed >> layout.HALF) & layout.LOW


@inlined
def pack(high: int, low: int) -> int:
    """Two numbers of 32 bits as one."""
    return (high << layout.HALF) | low


# Deltas ------------------------------------------------------------------------------------------


@inlined
def delta_fact(table: layout.Int64s, i: int) -> int:
    """The fact of a delta."""
    return lower(views.deltas(table)[i])


@inlined
def delta_class(table: layout.Int64s, i: int) -> int:
    """The class of the fact of a delta."""
    return upper(views.deltas(table)[i]) & layout.CLASS_BITS


@inlined
def delta_bits(table: layout.Int64s, i: int) -> int:
    """What the header of the fact of a delta has of it."""
    return (views.deltas(table)[i] >> layout.DELTA_CHANGE_SHIFT) << layout.DELTA_SHIFT


@inlined
def set_delta(table: layout.Int64s, i: int, fact: int, kind: int, change: int) -> None:
    """Make the change of a fact's transition a delta."""
    bits = (change + layout.DELTA_ZERO) << layout.DELTA_CHANGE_SHIFT
    views.deltas(table)[i] = bits | pack(kind, fact)


# Touched facts -----------------------------------------------------------------------------------


@inlined
def touched_fact(table: layout.Int64s, node: int) -> int:
    """The fact of a node of a touched list."""
    return lower(views.touched_nodes(table)[node])


@inlined
def next_touched_node(table: layout.Int64s, node: int) -> int:
    """The node that follows, or 0."""
    return upper(views.touched_nodes(table)[node])


@inlined
def set_touched(table: layout.Int64s, node: int, fact: int, following: int) -> None:
    """Set a node of a touched list."""
    views.touched_nodes(table)[node] = pack(following, fact)


# The journal -------------------------------------------------------------------------------------


@inlined
def journaled_fact(table: layout.Int64s, i: int) -> int:
    """A fact that the journal has."""
    return lower(views.journal_facts(table)[i])


@inlined
def state_before(table: layout.Int64s, i: int) -> int:
    """Its state before the epoch, as WAS_PRESENT and other flags."""
    return upper(views.journal_facts(table)[i]) & layout.STATE_BITS


@inlined
def journaled_class(table: layout.Int64s, i: int) -> int:
    """Its class."""
    journaled = views.journal_facts(table)[i]
    return (journaled >> layout.JOURNAL_CLASS_SHIFT) & layout.CLASS_BITS


@inlined
def set_journaled_fact(table: layout.Int64s, i: int, fact: int, state: int, kind: int) -> None:
    """Make a fact the one that the journal has at a number."""
    journaled = (kind << layout.JOURNAL_CLASS_SHIFT) | pack(state, fact)
    views.journal_facts(table)[i] = journaled


@inlined
def is_fact_accounted(table: layout.Int64s, i: int) -> bool:
    """Whether accumulators include it."""
    return views.journal_facts(table)[i] < 0


@inlined
def toggle_fact_accounted(table: layout.Int64s, i: int) -> None:
    """Note that accumulators include it, or do so no longer."""
    views.journal_facts(table)[i] ^= layout.ACCOUNTED


@inlined
def journaled_entry(table: layout.Int64s, i: int) -> int:
    """An entry that the journal has."""
    return lower(views.journal_entries(table)[layout.JOURNALED_WIDTH * i])


@inlined
def journaled_entry_fact(table: layout.Int64s, i: int) -> int:
    """The fact of the entry."""
    return upper(views.journal_entries(table)[layout.JOURNALED_WIDTH * i]) & layout.FACT_BITS


@inlined
def multiplicity_before(table: layout.Int64s, i: int) -> int:
    """The multiplicity of the entry before the epoch."""
    return views.journal_entries(table)[layout.JOURNALED_WIDTH * i + layout.JOURNALED_BEFORE]


@inlined
def set_journaled_entry(table: layout.Int64s, i: int, fact: int, entry: int, before: int) -> None:
    """Make an entry the one that the journal has at a number."""
    entries = views.journal_entries(table)
    entries[layout.JOURNALED_WIDTH * i] = pack(fact, entry)
    entries[layout.JOURNALED_WIDTH * i + layout.JOURNALED_BEFORE] = before


@inlined
def is_entry_accounted(table: layout.Int64s, i: int) -> bool:
    """Whether accumulators include the change of the entry."""
    return views.journal_entries(table)[layout.JOURNALED_WIDTH * i] < 0


@inlined
def toggle_entry_accounted(table: layout.Int64s, i: int) -> None:
    """Note that accumulators include the change of the entry, or do so no longer."""
    views.journal_entries(table)[layout.JOURNALED_WIDTH * i] ^= layout.ACCOUNTED


@inlined
def prefetch_journaled(table: layout.Int64s, i: int) -> None:
    """Prefetch records and further entries of facts that the journal has behind number *i*."""
    if i + AHEAD + AHEAD < views.scalars(table)[layout.JOURNALED_FACTS]:
        views.prefetch_unit(table, journaled_fact(table, i + AHEAD + AHEAD))
        facts.prefetch_further_entry(table, journaled_fact(table, i + AHEAD))


@inlined
def prefetch_journaled_entry(table: layout.Int64s, i: int) -> None:
    """Prefetch an entry that the journal has behind number *i*, and the record of its fact."""
    if i + AHEAD < views.scalars(table)[layout.JOURNALED_ENTRIES]:
        views.prefetch_unit(table, journaled_entry(table, i + AHEAD))
        views.prefetch_fact(table, journaled_entry_fact(table, i + AHEAD))


# Values that a group chooses ---------------------------------------------------------------------


@inlined
def chosen_at(table: layout.Int64s, chunk: int, place: int) -> int:
    """The value at a place of a chunk, counted from 1."""
    return views.units(table)[chunk + place] >> layout.CHOSEN_VALUE_SHIFT


@inlined
def is_shown(table: layout.Int64s, chunk: int, place: int) -> bool:
    """Whether the value at a place of a chunk is a result."""
    return views.units(table)[chunk + place] & layout.CHOSEN_SHOWN != 0


# Members of sorted groups ------------------------------------------------------------------------


@inlined
def sorted_member(fact: int, value: int, is_new: bool) -> int:  # noqa: FBT001 - numba has no keyword-only arguments
    """A fact as a member of a group that is sorted by a value; new if it had no transition."""
    return pack(value, fact | layout.SORTED_NEW if is_new else fact)


@inlined
def member_value(member: int) -> int:
    """The value by which a member is sorted."""
    return upper(member)


@inlined
def member_fact(member: int) -> int:
    """The fact of a member."""
    return member & (layout.SORTED_NEW - 1)


@inlined
def least_member(value: int) -> int:
    """What no member with a value is below."""
    return pack(value, 0)
