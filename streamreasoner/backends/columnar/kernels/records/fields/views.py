"""The columns of the address table. Invariant: no address changes while a kernel runs.

LLVM is told so. A column can therefore be named wherever it is read, as if it had been bound to a
variable at the start of the kernel.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.native.addresses import fixed_address, prefetch
from streamreasoner.native.addresses import fixed_int32_column as ints
from streamreasoner.native.addresses import fixed_int64_column as longs
from streamreasoner.native.compile import inlined

words, units = ints(layout.ARENA), longs(layout.ARENA)  # the arena, by the size of what is read
scratch, products = ints(layout.SCRATCH), longs(layout.SCRATCH)
scalars = longs(layout.SCALARS)
arguments, arrangements = ints(layout.ARGUMENTS), ints(layout.ARRANGEMENTS)
block_heads, block_next = ints(layout.BLOCK_HEADS), ints(layout.BLOCK_NEXT)
block_rows, classes = ints(layout.BLOCK_ROWS), ints(layout.CLASSES)
class_journaled, class_sizes = ints(layout.CLASS_JOURNALED), ints(layout.CLASS_SIZES)
counted, dispatch = ints(layout.COUNTED), ints(layout.DISPATCH)
dispatched, driven = ints(layout.DISPATCHED), ints(layout.DRIVEN)
driven_from, free = ints(layout.DRIVEN_FROM), ints(layout.FREE)
initial_heads, journal_next = ints(layout.INITIAL_HEADS), ints(layout.JOURNAL_NEXT)
link_offsets, logged = ints(layout.LINK_OFFSETS), ints(layout.LOGGED)
log_lattices, log_records = ints(layout.LOG_LATTICES), ints(layout.LOG_RECORDS)
memberships, memo = ints(layout.MEMBERSHIPS), ints(layout.MEMO)
milestones, operands = ints(layout.MILESTONES), ints(layout.OPERANDS)
copies, owners = ints(layout.COPIES), ints(layout.OWNERS)
self_joins = ints(layout.SELF_JOINS)
outbox_cells, outbox_rows = ints(layout.OUTBOX_CELLS), longs(layout.OUTBOX_ROWS)
outbox_slots, outbox_first = longs(layout.OUTBOX_SLOTS), longs(layout.OUTBOX_FIRST)
pending_cells, plans = ints(layout.PENDING_CELLS), ints(layout.PLANS)
readers, reductions = ints(layout.READER_ROWS), ints(layout.REDUCTIONS)
relations, sorts, steps = ints(layout.RELATIONS), ints(layout.SORTS), ints(layout.STEPS)
targets, target_places = ints(layout.TARGETS), ints(layout.TARGET_PLACES)
touched_heads, touched_last = ints(layout.TOUCHED_HEADS), ints(layout.TOUCHED_LAST)
trie_nodes = ints(layout.TRIE_NODES)
candidates, counters = longs(layout.CANDIDATES), longs(layout.COUNTERS)
deltas, filled, indexes = longs(layout.DELTAS), longs(layout.FILLED), longs(layout.INDEXES)
journal_entries, journal_facts = longs(layout.JOURNAL_ENTRIES), longs(layout.JOURNAL_FACTS)
log, log_changed = longs(layout.LOG), longs(layout.LOG_CHANGED)
log_gathered, log_groups = longs(layout.LOG_GATHERED), longs(layout.LOG_GROUPS)
pending_rows, reader_matches = longs(layout.PENDING_ROWS), longs(layout.READER_MATCHES)
sorted_items, sorted_groups = longs(layout.SORTED), longs(layout.SORTED_GROUPS)
sorted_rows, sort_lookups = longs(layout.SORTED_ROWS), longs(layout.SORT_LOOKUPS)
touched_nodes, trie_slots = longs(layout.TOUCHED_NODES), longs(layout.TRIE_SLOTS)
values, work = longs(layout.VALUES), longs(layout.WORK)


@inlined
def fact_table(table: layout.Int64s) -> int:
    """The address of the table of facts."""
    return fixed_address(table, layout.FACT_TABLE + scalars(table)[layout.FACT_BUFFER])


@inlined
def group_table(table: layout.Int64s) -> int:
    """The address of the table of groups."""
    return fixed_address(table, layout.GROUP_TABLE + scalars(table)[layout.GROUP_BUFFER])


@inlined
def index(table: layout.Int64s, arrangement: int) -> int:
    """The address of the index of an arrangement, or 0."""
    return indexes(table)[arrangement]


@inlined
def arity(table: layout.Int64s, relation: int) -> int:
    """The number of arguments of a relation."""
    return relations(table)[layout.RELATION_WIDTH * relation]


@inlined
def prefetch_unit(table: layout.Int64s, unit: int) -> None:
    """Prefetch the line of the arena that has a unit."""
    prefetch(fixed_address(table, layout.ARENA) + layout.UNIT_BYTES * unit)


@inlined
def prefetch_fact(table: layout.Int64s, fact: int) -> None:
    """Prefetch the record of a fact up to its third argument, which may be on the next line."""
    prefetch_member(table, fact, layout.THIRD_CELL)


@inlined
def prefetch_member(table: layout.Int64s, fact: int, offset: int) -> None:
    """Prefetch a record, and its word at an offset, which may be on the next line."""
    record = fixed_address(table, layout.ARENA) + layout.UNIT_BYTES * fact
    prefetch(record)
    prefetch(record + layout.WORD_BYTES * offset)
