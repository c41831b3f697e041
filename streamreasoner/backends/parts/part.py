"""One part of a state: a columnar store with an outbox. Invariant: it changes nothing of others.

The parts of a state work in turns or at the same time, as long as each step is done by all of them
before the next one: settle, fetch changes, derive, fetch heads, empty the outbox.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar import reading
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.parts import outbox, owners
from streamreasoner.backends.columnar.kernels.settling import exchange
from streamreasoner.native.reserved import ReservedColumn, reservable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.backends.columnar.compiler.tables import ProgramTables
    from streamreasoner.engine.ports import Statistics
    from streamreasoner.plan.program_plan import ProgramPlan
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.values.value_columns import Values

_GOLDEN = np.int64(owners.GOLDEN)
_LOW = np.int64((1 << 32) - 1)
_COPIED = (layout.COPIED_FACTS, layout.COPIED_ROWS, layout.COPIED_ASSERTED)
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

    Attributes:
        table: The addresses of its columns.
        settled: The numbers of the first delta of the last settling, and of the one after the last.
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
    ) -> None:
        super().__init__(plan, dictionary, values, compiled=compiled, share=parts)
        state = self._state
        self.table = state.table
        # A load logs the heads of a lattice only where all of them are derived.
        state.tables = replace(state.tables, logged={}, targeted={})
        rows = reservable(parts * layout.OUTBOX_WIDTH * 8, at_most=_ID_LIMIT)
        cells = reservable(parts * 8, at_most=_ID_LIMIT)
        self._outbox = {
            layout.OUTBOX_ROWS: ReservedColumn(np.int64, layout.OUTBOX_WIDTH * rows),
            layout.OUTBOX_CELLS: ReservedColumn(np.int32, cells),
            layout.OUTBOX_SLOTS: ReservedColumn(np.int64, 4 * rows + layout.OUTBOX_FIRST_MASK + 1),
            layout.OUTBOX_FIRST: ReservedColumn(np.int64, parts),
        }
        for column, reserved in self._outbox.items():
            state.table[column] = reserved.address
        places = (owning.get(name) for name in self._numbering.relations)
        self._owners = np.array([-1 if at is None else at for at in places], np.int32)
        state.table[layout.OWNERS] = self._owners.ctypes.data
        state.scalars[layout.PARTS], state.scalars[layout.PART] = parts, number
        state.scalars[layout.OUTBOX_LIMIT] = rows
        state.scalars[layout.OUTBOX_CELL_LIMIT] = cells
        state.scalars[layout.OUTBOX_MASK] = layout.OUTBOX_FIRST_MASK
        self._copied = [0] * len(_COPIED)
        self.settled = (0, 0)
        originals = {copy.pattern.predicate for copy in plan.copies}
        self._originals = [self._numbering.relations[name] for name in sorted(originals)]

    def settle(self, iteration: int) -> int:
        """Settle what this part owns; returns the number of deltas so far."""
        first = int(self._state.scalars[layout.DELTA_COUNT])
        last = super().settle(iteration)
        self.settled = first, last
        return last

    def fetch_changes(self, parts: Sequence[Part], iteration: int) -> None:
        """Change the copies of what parts, itself included, have settled."""
        for part in parts:
            first, last = part.settled
            if first < last:
                status = exchange.fetch_changes(self._table, part.table, first, last, iteration)
                self._check(status)

    def fetch_heads(self, parts: Sequence[Part]) -> None:
        """Add the heads in the outboxes of parts that this one owns."""
        for part in parts:
            if part.table is not self.table:
                self._check(exchange.fetch_heads(self._table, part.table))

    def empty_outbox(self) -> None:
        """Forget the heads, which all parts have fetched."""
        outbox.clear_outbox(self._table)

    def fetch_facts(self, parts: Sequence[Part]) -> None:
        """Make copies of the facts of parts, itself included, that have been restored."""
        for part in parts:
            self._check(exchange.fetch_facts(self._table, part.table, part.copied()))

    def copied(self) -> NDArray[np.int32]:
        """The records of what it owns that any part may have a copy of, int32 of shape (n,)."""
        return reading.records_of(self._state, self._originals)[0]

    @property
    def fetched(self) -> tuple[int, int]:
        """How many heads, and changes of copies, others have sent since the start."""
        scalars = self._state.scalars
        return int(scalars[layout.FETCHED_HEADS]), int(scalars[layout.FETCHED_CHANGES])

    def commit(self, epoch: int, *, more: bool = False) -> None:
        """Make the epoch's changes final."""
        super().commit(epoch, more=more)
        self._copied = [int(self._state.scalars[scalar]) for scalar in _COPIED]

    def rollback(self) -> None:
        """Undo the epoch completely."""
        self.empty_outbox()
        super().rollback()
        for scalar, count in zip(_COPIED, self._copied, strict=True):
            self._state.scalars[scalar] = count

    def finish_restore(self) -> None:
        """Settle what was loaded or copied."""
        super().finish_restore()
        self._copied = [int(self._state.scalars[scalar]) for scalar in _COPIED]

    def statistics(self) -> Statistics:
        """Size of what this part owns; bytes are those of copies, too."""
        whole = super().statistics()
        facts, rows, asserted = self._copied
        return replace(
            whole,
            facts=whole.facts - facts,
            trace_rows=whole.trace_rows - rows,
            asserted=whole.asserted - asserted,
        )
