"""The memory of one reasoner. Invariant: addresses handed to kernels live as long as the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar.kernels.epoch.fit import fit
from streamreasoner.backends.columnar.kernels.joining import blocks, gather
from streamreasoner.backends.columnar.kernels.records import layout, pending, slots, walk
from streamreasoner.backends.columnar.kernels.records.counter import recount
from streamreasoner.backends.columnar.kernels.records.sorted_groups import FIRST_ITEM
from streamreasoner.backends.columnar.read_index import ReadIndex
from streamreasoner.native.reserved import ReservedColumn, reservable
from streamreasoner.system.memory import Fill

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.callbacks import Builtins
    from streamreasoner.backends.columnar.compiler.tables import ProgramTables

_ID_LIMIT = (1 << 31) - 1  # facts, entries and nodes are int32
UNIT_BYTES = 8
ADDRESSABLE_UNITS = _ID_LIMIT
"""Units of the arena that int32 can address: 16 GiB, however large the machine."""
_LEAST_FACT = 16  # bytes of a record with an argument at most, and without links
_LEAST_ENTRY = 8  # bytes of an entry
_LEAST_GROUP = 16  # bytes of a group with a key
_SORTED_SHARE = 8  # sorted groups have at most this share of the memory
_LOG_SHARE = 64  # the log of a load, and its rows by group, have at most this share of the memory
_TARGET_SHARE = 128  # the targets of a load have at most this share of the memory; so have places
LARGE_EPOCH = 1 << 20
"""Journaled facts from which an epoch returns memory."""
KEPT_BYTES = UNIT_BYTES * LARGE_EPOCH
"""Bytes of each column that are kept: what the largest epoch uses that returns none."""
_CONTINUED = (
    layout.EPOCH,
    layout.PRESENT,
    layout.ASSERTED,
    layout.BELOW_ZERO,
    layout.TRACE_ROWS,
    layout.DERIVATIONS,
    layout.INTERSECTED,
    layout.GATHERED,
    layout.SHARED,
    layout.LOGGED_ROWS,
    layout.REPLAYED,
    layout.TARGETED,
    layout.MILESTONED,
    layout.FETCHED_HEADS,
    layout.FETCHED_CHANGES,
)
_SEGMENTS = 1 << (31 - layout.SEGMENT_BITS)


def arena_units(share: int = 1) -> int:
    """Number of units in the arena of a new state, one of a number of states."""
    return reservable(share * UNIT_BYTES, at_most=ADDRESSABLE_UNITS)


def log_rows() -> int:
    """Number of rows of the log of a load, after which they are merged."""
    row = 2 * layout.LOG_WIDTH * UNIT_BYTES
    return reservable(row * _LOG_SHARE, at_most=_ID_LIMIT)


def is_limited_by_addresses(arena: Fill) -> bool:
    """Whether an arena has the largest addressable size, so that more memory would not help."""
    return arena.limit >= UNIT_BYTES * ADDRESSABLE_UNITS


class Arena:
    """Reserved columns, the tables of a program, and the table of all their addresses.

    Args:
        tables: The compiled program.
        builtins: What evaluates built-ins that kernels do not compute.
        share: How many such states the memory is for.

    Attributes:
        table: int64 of shape (ADDRESSES,), what kernels are called with.
        scalars: int64 of shape (SCALAR_COUNT,).
        tables: The compiled program.
        reads: Facts by one of their arguments.
    """

    def __init__(self, tables: ProgramTables, builtins: Builtins, share: int = 1) -> None:
        units = arena_units(share)
        facts = reservable(share * _LEAST_FACT, at_most=_ID_LIMIT)
        entries = reservable(share * _LEAST_ENTRY, at_most=_ID_LIMIT)
        groups = reservable(share * _LEAST_GROUP, at_most=_ID_LIMIT)
        members = reservable(share * UNIT_BYTES * _SORTED_SHARE, at_most=_ID_LIMIT)
        log = log_rows() // share
        targets = reservable(share * 4 * _TARGET_SHARE, at_most=_ID_LIMIT)
        self._reserved = {
            layout.ARENA: ReservedColumn(np.int64, units, huge_pages=True),
            layout.FACT_TABLE: ReservedColumn(np.int32, 4 * facts, huge_pages=True),
            layout.FACT_TABLE + 1: ReservedColumn(np.int32, 4 * facts, huge_pages=True),
            layout.GROUP_TABLE: ReservedColumn(np.int32, 4 * groups, huge_pages=True),
            layout.GROUP_TABLE + 1: ReservedColumn(np.int32, 4 * groups, huge_pages=True),
            layout.JOURNAL_FACTS: ReservedColumn(np.int64, facts, huge_pages=True),
            layout.JOURNAL_ENTRIES: ReservedColumn(np.int64, 2 * entries, huge_pages=True),
            layout.JOURNAL_NEXT: ReservedColumn(np.int32, facts, huge_pages=True),
            layout.TOUCHED_NODES: ReservedColumn(np.int64, entries + 1, huge_pages=True),
            layout.TOUCHED_HEADS: ReservedColumn(np.int32, _ID_LIMIT),
            layout.DELTAS: ReservedColumn(np.int64, facts, huge_pages=True),
            layout.SORTED: ReservedColumn(np.int64, members, huge_pages=True),
            layout.SORTED_GROUPS: ReservedColumn(np.int64, layout.SORTED_WIDTH * members),
            layout.BLOCK_HEADS: ReservedColumn(np.int32, reservable(4, at_most=_ID_LIMIT)),
            layout.BLOCK_NEXT: ReservedColumn(np.int32, facts),
            layout.LOG: ReservedColumn(np.int64, layout.LOG_WIDTH * log, huge_pages=True),
            layout.LOG_GATHERED: ReservedColumn(np.int64, layout.LOG_WIDTH * log, huge_pages=True),
            layout.LOG_GROUPS: ReservedColumn(np.int64, facts),
            layout.LOG_CHANGED: ReservedColumn(np.int64, facts),
            layout.TARGETS: ReservedColumn(np.int32, targets, huge_pages=True),
            layout.TARGET_PLACES: ReservedColumn(np.int32, targets),
            layout.LOG_RECORDS: ReservedColumn(np.int32, reservable(4, at_most=_ID_LIMIT)),
        }
        self._indexes: dict[int, ReservedColumn] = {}
        self._counters: list[ReservedColumn] = []
        self._sorted_rows: list[ReservedColumn] = []
        self.scalars = np.zeros(layout.SCALAR_COUNT, np.int64)
        self.reads = ReadIndex()
        self._arrays: dict[int, NDArray[np.int32] | NDArray[np.int64]] = {
            layout.SCALARS: self.scalars,
            layout.FREE: np.zeros(layout.MAX_RECORD + 1, np.int32),
            layout.SCRATCH: np.zeros(layout.SCRATCH_COUNT, np.int32),
            layout.TOUCHED_LAST: np.zeros(_SEGMENTS, np.int32),
            layout.ARGUMENTS: builtins.arguments,
            layout.MEMO: builtins.memo,
            layout.VALUES: builtins.values.table,
            layout.BLOCK_ROWS: blocks.rows(),
            layout.LOG_LATTICES: np.zeros(layout.LOGGED_WIDTH * layout.LOG_LATTICES_MOST, np.int32),
            layout.MILESTONES: walk.milestones(),
            **gather.columns(),
            **pending.columns(pending.BATCH),
        }
        self.table = np.zeros(layout.ADDRESSES, np.int64)
        for column, reserved in self._reserved.items():
            self.table[column] = reserved.address
        for column, array in self._arrays.items():
            self.table[column] = array.ctypes.data
        self.table[layout.CALL] = builtins.address
        self.scalars[layout.TOP] = layout.FIRST_RECORD
        self.scalars[layout.CAPACITY] = units
        self.scalars[layout.FACT_SIZE] = slots.LEAST_SIZE
        self.scalars[layout.GROUP_SIZE] = slots.LEAST_SIZE
        self.scalars[layout.CHANGED_GROUP] = -1
        self.scalars[layout.UNSETTLED_GROUP] = -1
        self.scalars[layout.EPOCH] = 1
        self.scalars[layout.STRATUM_FIELD] = layout.CLASS_STRATUM
        self.scalars[layout.SORTED_TOP] = FIRST_ITEM
        self.scalars[layout.SORTED_CAPACITY] = members
        self.scalars[layout.SORTED_GROUP_CAPACITY] = members
        self.scalars[layout.LOG_LIMIT] = log
        self.scalars[layout.TARGET_LIMIT] = targets
        self.install(tables)

    def install(self, tables: ProgramTables) -> None:
        """Make kernels read another program; no fact may be touched or journaled."""
        ids = reservable(4, at_most=_ID_LIMIT)
        for grouping in tables.indexed:
            if grouping not in self._indexes:
                self._indexes[grouping] = ReservedColumn(np.int32, ids)
        while len(self._sorted_rows) < tables.sorts:
            self._sorted_rows.append(ReservedColumn(np.int32, ids))
        indexes = np.zeros(tables.groupings + 1, np.int64)
        for grouping, index in self._indexes.items():
            indexes[grouping] = index.address
        while len(self._counters) < tables.counters:
            self._counters.append(ReservedColumn(np.int32, reservable(4, at_most=_ID_LIMIT)))
        filled = np.zeros(tables.groupings + 1, np.int64)
        known = self._arrays.get(layout.FILLED, filled)
        filled[: len(known)] = known
        self._arrays |= tables.columns
        self._arrays[layout.INITIAL_HEADS] = np.zeros(tables.strata, np.int32)
        self._arrays[layout.INDEXES] = indexes
        self._arrays[layout.FILLED] = filled
        self._arrays[layout.COUNTERS] = np.array(
            [column.address for column in self._counters] or [0], np.int64
        )
        places = [column.address for column in self._sorted_rows] or [0]
        self._arrays[layout.SORTED_ROWS] = np.array(places, np.int64)
        for column in (
            layout.INITIAL_HEADS,
            layout.INDEXES,
            layout.FILLED,
            layout.COUNTERS,
            layout.SORTED_ROWS,
            *tables.columns,
        ):
            self.table[column] = self._arrays[column].ctypes.data
        self.tables = tables
        self.reads.clear()  # records of another program are elsewhere
        self.scalars[layout.SORT_COUNT] = tables.sorts
        self.scalars[layout.STRATA] = tables.strata
        # No row of DISPATCH is filled before the first stratum, or after the return to a program.
        tables.columns[layout.DISPATCH][:] = 0
        self.scalars[layout.SHOWN] = 0
        self.scalars[layout.CLASS_COUNT] = len(tables.columns[layout.CLASSES]) // layout.CLASS_WIDTH
        self.scalars[layout.ARRANGEMENT_COUNT] = tables.groupings
        self.scalars[layout.TRIE_MASK] = tables.trie_mask
        classes = tables.columns[layout.CLASSES].reshape(-1, layout.CLASS_WIDTH)
        self.scalars[layout.LATTICES] = int(classes[:, layout.CLASS_LATTICE].any())
        self.scalars[layout.COUNTER_COUNT] = tables.counters

    def succeed(self, former: Arena) -> None:
        """Count from where a former state is; this one is empty."""
        for scalar in _CONTINUED:
            self.scalars[scalar] = former.scalars[scalar]

    def recount(self) -> None:
        """Count the present facts again that plans only count; no delta may be pending."""
        for counter in self._counters:
            counter.clear()
        if self.tables.counters:
            recount(self.table)

    def preview(self, tables: ProgramTables) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The future address table, and its scalars, which must live as long as the table."""
        table, scalars = self.table.copy(), self.scalars.copy()
        for column, array in tables.columns.items():
            table[column] = array.ctypes.data
        scalars[layout.TRIE_MASK] = tables.trie_mask
        table[layout.SCALARS] = scalars.ctypes.data
        return table, scalars

    def arrays(self) -> dict[int, NDArray[np.int32] | NDArray[np.int64]]:
        """The arrays that the address table points to, except the reserved ones."""
        return dict(self._arrays)

    @property
    def units(self) -> NDArray[np.int64]:
        """The arena, int64 by unit."""
        arena: NDArray[np.int64] = self._reserved[layout.ARENA].array
        return arena

    @property
    def slots(self) -> NDArray[np.int32]:
        """The table of facts, int32 of shape (buckets, ids): 0 where there is none."""
        buffer = layout.FACT_TABLE + int(self.scalars[layout.FACT_BUFFER])
        words: NDArray[np.int32] = self._reserved[buffer].array
        used = words[: slots.WORDS * (int(self.scalars[layout.FACT_SIZE]) >> slots.SIZE_BITS)]
        return used.reshape(-1, slots.WORDS)[:, slots.FIRST :]

    @property
    def journaled(self) -> NDArray[np.int64]:
        """The facts in the journal, with their state before the epoch."""
        journaled: NDArray[np.int64] = self._reserved[layout.JOURNAL_FACTS].array
        return journaled[: self.scalars[layout.JOURNALED_FACTS]]

    def column(self, column: int) -> NDArray[np.int32] | NDArray[np.int64]:
        """An array by its column in the address table."""
        return self._arrays[column]

    def trim(self, *, fits: bool) -> None:
        """Return the pages that only a large epoch needed to the system.

        What a small epoch may use is kept, so that none has to get it again. No kernel expects
        zeros in these columns.

        Args:
            fits: Whether the table of facts has been filled, so that it should be fitted as well.
        """
        for column in (
            layout.JOURNAL_FACTS,
            layout.JOURNAL_ENTRIES,
            layout.JOURNAL_NEXT,
            layout.TOUCHED_NODES,
            layout.DELTAS,
            layout.SORTED,
            layout.SORTED_GROUPS,
            layout.BLOCK_NEXT,
            layout.LOG,
            layout.LOG_GATHERED,
            layout.LOG_GROUPS,
            layout.LOG_CHANGED,
            layout.TARGETS,
            layout.TARGET_PLACES,
        ):
            self._reserved[column].shrink(KEPT_BYTES)
        for places in self._sorted_rows:
            places.shrink(KEPT_BYTES)
        self.reads.clear()  # after a large epoch, most records are new
        if fits:
            fit(self.table)

    @property
    def fill(self) -> Fill:
        """Fill of the arena, which holds the records of all facts."""
        top, capacity = (int(self.scalars[which]) for which in (layout.TOP, layout.CAPACITY))
        return Fill(UNIT_BYTES * top, UNIT_BYTES * capacity)

    def bytes(self, ids: int) -> int:
        """Memory of facts, groups, their tables, and written pages of arrays by one of *ids*."""
        top, *sizes = self.scalars[[layout.TOP, layout.FACT_SIZE, layout.GROUP_SIZE]].tolist()
        used = UNIT_BYTES * top + slots.BYTES * sum(size >> slots.SIZE_BITS for size in sizes)
        by_id = [*self._indexes.values(), *self._counters[: self.tables.counters]]
        return used + sum(column.resident(ids) for column in by_id) + self.reads.nbytes
