"""One part of a state: a columnar store with an outbox. Invariant: it changes nothing of others.

The parts of a state work in turns or at the same time, as long as each step is done by all of them
before the next one: settle, fetch changes, derive, fetch heads, empty the outbox.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar import reading
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.columnar.compiler.intersections import postpone
from streamreasoner.backends.columnar.kernels.epoch import journal, turns
from streamreasoner.backends.columnar.kernels.records import layout, pending
from streamreasoner.backends.columnar.kernels.records.parts import outbox, owners
from streamreasoner.backends.columnar.kernels.settling import exchange
from streamreasoner.native.reserved import ReservedColumn, reservable
from streamreasoner.plan.program_plan import is_copy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.arena import Arena
    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.backends.columnar.compiler.tables import ProgramTables
    from streamreasoner.engine.ports import Effort, Statistics
    from streamreasoner.plan.program_change import ProgramChange
    from streamreasoner.plan.program_plan import ProgramPlan
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.values.value_columns import Values

_GOLDEN = np.int64(owners.GOLDEN)
_LOW = np.int64((1 << 32) - 1)
_COPIED = slice(layout.COPIED_FACTS, layout.COPIED_FACTS + layout.COPY_COUNTS)
_BEFORE = slice(layout.COPIED_BEFORE, layout.COPIED_BEFORE + layout.COPY_COUNTS)
_ID_LIMIT = (1 << 31) - 1


def parts_of(ids: NDArray[np.int32], parts: int) -> NDArray[np.int64]:
    """The parts that own facts with these ids in their owning argument, as kernels compute them.

    Args:
        ids: int32 of shape (n,).
        parts: The number of parts.

    Returns:
        int64 of shape (n,).
    """
    hashed = (ids.astype(np.int64) * _GOLDEN) & _LOW
    return (hashed * parts) >> np.int64(32)


def owned_rows(
    position: int | None, args: NDArray[np.int32], parts: int
) -> Iterator[NDArray[np.intp] | None]:
    """The numbers of the facts that each part owns; None if it owns none of them.

    Args:
        position: Their owning argument; None if one part owns all of them.
        args: Term ids, int32 of shape (n, arity).
        parts: The number of parts.
    """
    if position is None or parts == 1:
        owners = np.zeros(len(args), np.uint16)
    else:
        owners = parts_of(args[:, position], parts).astype(np.uint16)
    order = np.argsort(owners, kind="stable")  # two passes, however many parts there are
    ends = np.searchsorted(owners[order], np.arange(parts - 1), side="right")
    for rows in np.split(order, ends):
        yield rows if len(rows) else None


class Part(ColumnarBackend):
    """The facts that one part owns, and its copies of others.

    Args:
        plan: The plan of a part.
        dictionary: Assigns ids; all parts share it.
        values: Values of terms; all parts share them.
        owning: The owning argument of each predicate.
        number: The number of this part.
        parts: How many there are.
        compiled: The program that another part has compiled; None: it is compiled here.
        share: How many parts the memory of this process is for.
    """

    large = 1 << 62  # parts share the processors among themselves

    def __init__(
        self,
        plan: ProgramPlan,
        dictionary: Dictionary,
        values: Values,
        *,
        owning: Mapping[str, int | None],
        number: int,
        parts: int,
        compiled: tuple[Numbering, ProgramTables] | None,
        share: int,
    ) -> None:
        super().__init__(plan, dictionary, values, compiled=compiled, share=share)
        rows = reservable(parts * layout.OUTBOX_WIDTH * 8, at_most=_ID_LIMIT)
        cells = reservable(parts * 8, at_most=_ID_LIMIT)
        self._outbox = {
            layout.OUTBOX_ROWS: ReservedColumn(np.int64, layout.OUTBOX_WIDTH * rows),
            layout.OUTBOX_CELLS: ReservedColumn(np.int32, cells),
            layout.OUTBOX_SLOTS: ReservedColumn(np.int64, 4 * rows + layout.OUTBOX_FIRST_MASK + 1),
            layout.OUTBOX_FIRST: ReservedColumn(np.int64, parts),
        }
        self._owning = self._former_owning = owning
        self._number, self._parts = number, parts
        self._settled = 0
        self._read_program(plan)

    def _read_program(self, plan: ProgramPlan) -> None:
        """Find out what is owned and what is copied."""
        # A load logs the heads of a lattice only where all of them are derived.
        self._state.tables = replace(self._state.tables, logged={}, targeted={})
        relations = self._numbering.relations
        places = (self._owning.get(name) for name in relations)
        self._owners = np.array([-1 if at is None else at for at in places], np.int32)
        self._copies = [number for name, number in relations.items() if is_copy(name)]
        originals = {copy.pattern.predicate for copy in plan.copies}
        self._originals = [relations[name] for name in sorted(originals)]
        self._make_part(self._state)

    def _migrate(self, plan: ProgramPlan, tables: ProgramTables) -> None:
        """Move the state to a program."""
        super()._migrate(plan, tables)
        self._read_program(plan)

    def _make_part(self, state: Arena) -> None:
        """Let a state send heads. States of a part have one outbox, which is empty meanwhile."""
        state.column(layout.LOGGED)[:] = layout.DIVIDED
        state.column(layout.LOGGED)[self._copies] = layout.COPIED
        for column, reserved in self._outbox.items():
            state.table[column] = reserved.address
        state.table[layout.OWNERS] = self._owners.ctypes.data
        state.scalars[layout.PARTS], state.scalars[layout.PART] = self._parts, self._number
        state.scalars[layout.OUTBOX_LIMIT] = (
            self._outbox[layout.OUTBOX_ROWS].capacity // layout.OUTBOX_WIDTH
        )
        state.scalars[layout.OUTBOX_CELL_LIMIT] = self._outbox[layout.OUTBOX_CELLS].capacity
        state.scalars[layout.OUTBOX_MASK] = layout.OUTBOX_FIRST_MASK

    @property
    def table(self) -> NDArray[np.int64]:
        """The addresses of its columns; others while an epoch is evaluated anew."""
        return self._table

    def second_state(self) -> Arena:
        """An empty state of the same program, which is a part, too."""
        state = super().second_state()
        self._make_part(state)
        return state

    def begin_anew(self, state: Arena) -> None:
        """Begin the epoch anew in an empty state, with what is asserted."""
        self.empty_outbox()
        super().begin_anew(state)

    @property
    def is_changing(self) -> bool:
        """Whether the epoch changes the program, or who owns facts."""
        return self._change is not None

    def adopt(
        self,
        change: ProgramChange,
        owning: Mapping[str, int | None],
        tables: ProgramTables | None = None,
    ) -> None:
        """Keep the state as another plan of a part needs it, until a rollback.

        Args:
            change: From one plan to the other.
            owning: The owning argument of each predicate from now on.
            tables: The other plan, as another part has compiled it.
        """
        self._former_owning, self._owning = self._owning, owning
        self.migrate(change, tables)

    def leave(self) -> None:
        """Send the facts that others own now to them, and empty all copies."""
        self._check(exchange.leave(self.table))

    def effort(self) -> Effort | None:
        """What the epoch takes here; copies are not asserted."""
        whole = super().effort()
        copied = int(self._state.scalars[_BEFORE][-1])
        return None if whole is None else replace(whole, asserted=whole.asserted - copied)

    def add_owned(
        self, relation: int, arity: int, cells: NDArray[np.int32], multiplicities: NDArray[np.int64]
    ) -> None:
        """Add asserted multiplicities of the facts that this part owns, of all that are given."""
        self._check(pending.add_owned(self.table, relation, arity, cells, multiplicities))

    def settle(self, iteration: int) -> int:
        """Settle what this part owns; returns the number of deltas so far."""
        self._check(turns.settle_part(self.table, self._values.table, iteration))
        return int(self._state.scalars[layout.DELTA_COUNT])

    def fetch_changes(self, parts: NDArray[np.int64], iteration: int) -> None:
        """Change the copies of what parts, itself included, have settled."""
        self._check(turns.fetch_all_changes(parts, self._number, iteration))

    def fetch_heads(self, parts: NDArray[np.int64]) -> None:
        """Add the heads in the outboxes of the others that this one owns."""
        self._check(turns.fetch_all_heads(parts, self._number))

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """Fetch heads that no stratum settles yet."""
        self._state.scalars[layout.QUIET] = 1
        try:
            yield
        finally:
            self._state.scalars[layout.QUIET] = 0

    def fetch_early(self, parts: NDArray[np.int64]) -> None:
        """Like `fetch_heads`, before the first stratum."""
        with self.untouched():
            self.fetch_heads(parts)

    def empty_outbox(self) -> None:
        """Forget the heads, which all parts have fetched."""
        outbox.clear_outbox(self.table)

    def postpone(self) -> None:
        """Let the deltas of cyclic rules be applied after those of the others."""
        postpone(self._state.scalars, self._state.tables.cyclic)

    def check(self, status: int) -> None:
        """Raise the error that a kernel has met, if any."""
        self._check(status)

    @property
    def deltas(self) -> int:
        """How many deltas wait to be joined, with those of copies."""
        return int(self._state.scalars[layout.DELTA_COUNT])

    @property
    def has_changes(self) -> bool:
        """Whether the epoch has changed anything here so far."""
        scalars = self._state.scalars
        return bool(scalars[layout.JOURNALED_FACTS] or scalars[layout.JOURNALED_ENTRIES])

    def fetch_facts(self, settled: Iterable[tuple[NDArray[np.int64], NDArray[np.int32]]]) -> None:
        """Make copies of facts, by the addresses of the parts that have settled them."""
        for table, records in settled:
            self._check(exchange.fetch_facts(self.table, table, records))

    def arrange_copies(self) -> None:
        """Let rules find, and count, the copies that have been made since facts were settled."""
        self._check(journal.arrange_journaled(self.table, self._settled))
        self._state.recount()

    def copied(self) -> NDArray[np.int32]:
        """The records of what it owns that any part may have a copy of, int32 of shape (n,)."""
        return reading.records_of(self._state, self._originals)[0]

    @property
    def fetched(self) -> tuple[int, int]:
        """How many heads, and changes of copies, others have sent since the start."""
        scalars = self._state.scalars
        return int(scalars[layout.FETCHED_HEADS]), int(scalars[layout.FETCHED_CHANGES])

    def note_records(self) -> None:
        """Note for reads what the epoch has made, before a kernel commits it."""
        self._state.reads.note(self._state)

    def commit(self) -> None:
        """Make the epoch's changes final."""
        super().commit()
        turns.note_copies(self.table)

    def rollback(self) -> None:
        """Undo the epoch completely."""
        self.empty_outbox()
        if self.is_changing:
            self._owning = self._former_owning
        super().rollback()
        self._state.scalars[_COPIED] = self._state.scalars[_BEFORE]

    def settle_restored(self) -> None:
        """Settle what was loaded, or has come from others."""
        super().settle_restored()
        self._settled = int(self._state.scalars[layout.JOURNALED_FACTS])

    def statistics(self) -> Statistics:
        """Size of what this part owns; bytes are those of copies, too."""
        whole = super().statistics()
        facts, rows, asserted = self._state.scalars[_BEFORE].tolist()
        return replace(
            whole,
            facts=whole.facts - facts,
            trace_rows=whole.trace_rows - rows,
            asserted=whole.asserted - asserted,
        )
