"""Two threads for a large epoch. Invariant: neither thread reads what the other writes.

One thread joins: it applies deltas and buffers what they derive. The other accumulates: it adds the
previously filled buffer to the multiplicities. Joining writes headers, links and groups, and reads
transitions; accumulating writes multiplicities, journals and new facts. Transitions of new facts
are all 0, so it does not matter whether a join sees them. Between chunks both threads are idle.

Accumulating also adds new candidates of a lattice to its groups. Only one thread may create hashed
groups, so either all lattices or all arrangements must be indexed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar.kernels.joining import derive, together
from streamreasoner.backends.columnar.kernels.records import layout, pending, slots
from streamreasoner.system.processors import processors

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.arena import Arena

LARGE = 1 << 16
"""Number of deltas or updates from which a second thread pays off."""
CHUNK = 1 << 16
LIMIT = 1 << 17  # rows of a buffer
_GROUP_CHUNKS = 8  # chunks per reservation of memory for groups
_SORTED = (layout.SORTED_GROUP_COUNT, layout.INTERSECTED, layout.GATHERED)
_GROUPS = (layout.GROUP_SIZE, layout.GROUP_BUFFER, layout.GROUP_COUNT)


class Threads:
    """A joining thread alongside the caller's, which accumulates.

    Args:
        state: What both work on.
    """

    def __init__(self, state: Arena) -> None:
        self._state = state
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="join")
        self._scalars = np.zeros(layout.SCALAR_COUNT, np.int64)
        own: dict[int, NDArray[np.int32] | NDArray[np.int64]] = {
            layout.SCALARS: self._scalars,
            layout.SCRATCH: np.zeros_like(state.column(layout.SCRATCH)),
            layout.FREE: np.zeros_like(state.column(layout.FREE)),
        }
        self._buffers = [own | pending.columns(LIMIT, state.table) for _ in range(2)]

    @staticmethod
    def allowed() -> bool:
        """Whether a second processor is available."""
        return processors() > 1

    @property
    def can_derive(self) -> bool:
        """Whether the program permits deriving in two threads."""
        tables = self._state.tables
        return tables.group_units == 0 or tables.lattices_indexed

    def add(
        self, relation: int, arity: int, cells: layout.Int32s, multiplicities: layout.Int64s
    ) -> int:
        """Like `pending.add`."""

        def stage(start: int) -> Callable[[layout.Int64s], int]:
            rows = slice(start, start + CHUNK)
            chunk = cells[start * arity : (start + CHUNK) * arity]
            return lambda table: pending.stage(table, relation, arity, chunk, multiplicities[rows])

        count = len(multiplicities)
        slots.reserve(self._state.table, layout.FACT_TABLE, layout.FACT_SIZE, count)
        return self._run([stage(start) for start in range(0, count, CHUNK)])

    def derive(self, values: layout.Int64s, iteration: int) -> int:
        """Like `derive.derive`."""

        def chunk(apply: Callable[..., int], start: int) -> Callable[[layout.Int64s], int]:
            stop = min(start + CHUNK, count)
            return lambda table: apply(table, values, start, stop, iteration)

        state = self._state
        status, applied = derive.try_some(state.table, values, iteration)
        if status != layout.OK:
            return derive.finish(state.table, status)
        count = int(state.scalars[layout.DELTA_COUNT])
        starts = range(applied, count, CHUNK)
        units = state.tables.group_units
        try:
            status = self._run([chunk(derive.apply_deltas, start) for start in starts], units)
        finally:
            if units > 0:  # a rollback needs them, too
                for scalar in _GROUPS:
                    state.scalars[scalar] = self._scalars[scalar]
        if status == layout.OK and state.scalars[layout.CYCLIC_RULES] == layout.LATER:
            together.mark_deltas(state.table)
            starts = range(0, count, CHUNK)
            try:
                status = self._run([chunk(together.apply_together, start) for start in starts])
            finally:
                for scalar in _SORTED:
                    state.scalars[scalar] = self._scalars[scalar]
        return derive.finish(state.table, status)

    def _run(self, chunks: list[Callable[[layout.Int64s], int]], group_units: int = 0) -> int:
        """Fill two buffers in turn, accumulating one while the other is filled.

        Args:
            chunks: Each fills a buffer, given its address table, and returns a status.
            group_units: The most units of groups that a row of a chunk may need.
        """
        tables = self._tables()
        status = layout.OK
        full: layout.Int64s | None = None
        for number, chunk in enumerate((*chunks, None)):
            filling = tables[number % 2]
            status = max(status, self._prepare(full, filling, CHUNK * group_units))
            if status != layout.OK:
                break
            joining = self._pool.submit(chunk, filling) if chunk is not None else None
            try:
                if full is not None:
                    status = pending.accumulate_beside(self._state.table, full)
            finally:
                # The caller may roll back next, so the joining thread must be idle.
                if joining is not None:
                    wait([joining])
            if joining is not None:
                status = max(status, joining.result())
            full = filling
        return status

    def _tables(self) -> list[layout.Int64s]:
        """Address tables of the joining thread, one for each buffer."""
        group_memory = self._scalars[[layout.TOP, layout.CAPACITY]]
        self._scalars[:] = self._state.scalars
        self._scalars[[layout.TOP, layout.CAPACITY]] = group_memory
        tables = []
        for buffer in self._buffers:
            table = self._state.table.copy()
            for column, array in buffer.items():
                table[column] = array.ctypes.data
            pending.discard_pending(table)
            tables.append(table)
        return tables

    def _prepare(self, full: layout.Int64s | None, filling: layout.Int64s, needed: int) -> int:
        """Reserve room for a chunk and a buffer, so that neither thread moves shared memory."""
        state, joining = self._state.scalars, self._scalars
        state[layout.BUSY] = int(full is not None)
        if full is not None:
            waiting = pending.pending_count(full)
            slots.reserve(self._state.table, layout.FACT_TABLE, layout.FACT_SIZE, waiting)
        pending.share_fact_table(filling, self._state.table)
        if joining[layout.CAPACITY] - joining[layout.TOP] >= needed:
            return layout.OK
        if state[layout.TOP] + _GROUP_CHUNKS * needed > state[layout.CAPACITY]:
            return layout.FULL
        joining[layout.TOP] = state[layout.TOP]
        state[layout.TOP] += _GROUP_CHUNKS * needed
        joining[layout.CAPACITY] = state[layout.TOP]
        return layout.OK
