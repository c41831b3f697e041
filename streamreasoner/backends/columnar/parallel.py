"""Two threads for a large epoch. Invariant: what one of them writes, the other does not read.

One thread joins: it applies deltas and lets what they derive wait in a buffer. The other
accumulates: it adds the buffer filled before to the multiplicities. Joining writes headers, links
and groups, and reads transitions; accumulating writes multiplicities, journals and new facts, whose
transitions are all 0, so that a join may see them or not. Between two chunks both stand still.

New candidates of a lattice are put into its groups while they are accumulated. Only one thread may
make groups that a hash finds: an index must find those of all lattices, or of all arrangements.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar import derive, ingest, layout, pending, slots
from streamreasoner.backends.columnar.processors import processors
from streamreasoner.rdf.kernels.compile import kernel
from streamreasoner.rdf.kernels.memory import store_released

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.arrays import Int32s, Int64s
    from streamreasoner.backends.columnar.state import State

LARGE = 1 << 16
"""Deltas, or updates, from which on a second thread is worth its while."""
CHUNK = 1 << 16
LIMIT = 1 << 17  # rows of a buffer
_GROUP_CHUNKS = 8  # chunks for whose groups memory is set aside at a time
_GROUPS = (layout.GROUP_MASK, layout.GROUP_BUFFER, layout.GROUP_COUNT)


class Threads:
    """A joining thread beside the caller's, which accumulates.

    Args:
        state: What both work on.
    """

    def __init__(self, state: State) -> None:
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
        """Whether there is a processor for a second thread."""
        return processors() > 1

    @property
    def derives(self) -> bool:
        """Whether the program lets both derive."""
        tables = self._state.tables
        return tables.group_units == 0 or tables.lattices_indexed

    def add(self, relation: int, arity: int, cells: Int32s, multiplicities: Int64s) -> int:
        """As `ingest.add`."""

        def stage(start: int) -> Callable[[Int64s], int]:
            rows = slice(start, start + CHUNK)
            some = cells[start * arity : (start + CHUNK) * arity]
            return lambda table: ingest.stage(table, relation, arity, some, multiplicities[rows])

        count = len(multiplicities)
        slots.reserve(self._state.table, layout.FACT_TABLE, layout.FACT_MASK, count)
        return self._run([stage(start) for start in range(0, count, CHUNK)])

    def derive(self, values: Int64s, iteration: int) -> int:
        """As `derive.derive`."""

        def join(start: int) -> Callable[[Int64s], int]:
            stop = min(start + CHUNK, count)
            return lambda table: derive.apply_deltas(table, values, start, stop, iteration)

        derive.put_rare_first(self._state.table)
        count = int(self._state.scalars[layout.DELTA_COUNT])
        tables = self._state.tables
        status = self._run([join(start) for start in range(0, count, CHUNK)], tables.group_units)
        if tables.group_units > 0:
            for scalar in _GROUPS:
                self._state.scalars[scalar] = self._scalars[scalar]
        return derive.finish(self._state.table, status)

    def _run(self, chunks: list[Callable[[Int64s], int]], group_units: int = 0) -> int:
        """Fill one buffer after the other, and carry each out while the next is filled.

        Args:
            chunks: What fills a buffer, given its table of addresses; returns a status.
            group_units: The most units of groups that a row of a chunk may need.
        """
        tables = self._tables()
        status = layout.OK
        full: Int64s | None = None
        for number, chunk in enumerate((*chunks, None)):
            filling = tables[number % 2]
            status = max(status, self._prepare(full, filling, CHUNK * group_units))
            if status != layout.OK:
                break
            joining = self._pool.submit(chunk, filling) if chunk is not None else None
            try:
                if full is not None:
                    status = _accumulate(self._state.table, full)
            finally:
                # The caller may undo the epoch next: nobody may be at work then.
                if joining is not None:
                    wait([joining])
            if joining is not None:
                status = max(status, joining.result())
            full = filling
        return status

    def _tables(self) -> list[Int64s]:
        """The addresses as the joining thread knows them, one table for each buffer."""
        kept = self._scalars[[layout.TOP, layout.CAPACITY]]
        self._scalars[:] = self._state.scalars
        self._scalars[[layout.TOP, layout.CAPACITY]] = kept
        tables = []
        for buffer in self._buffers:
            table = self._state.table.copy()
            for column, array in buffer.items():
                table[column] = array.ctypes.data
            pending.forget_pending(table)
            tables.append(table)
        return tables

    def _prepare(self, full: Int64s | None, filling: Int64s, needed: int) -> int:
        """Make room for a chunk and a buffer, so that neither thread moves what both use."""
        state, joining = self._state.scalars, self._scalars
        state[layout.BUSY] = int(full is not None)
        if full is not None:
            waiting = pending.pending_count(full)
            slots.reserve(self._state.table, layout.FACT_TABLE, layout.FACT_MASK, waiting)
        pending.share_facts(filling, self._state.table)
        if joining[layout.CAPACITY] - joining[layout.TOP] >= needed:
            return layout.OK
        if state[layout.TOP] + _GROUP_CHUNKS * needed > state[layout.CAPACITY]:
            return layout.FULL
        joining[layout.TOP] = state[layout.TOP]
        state[layout.TOP] += _GROUP_CHUNKS * needed
        joining[layout.CAPACITY] = state[layout.TOP]
        return layout.OK


@kernel
def _accumulate(table: Int64s, full: Int64s) -> int:
    """Carry a buffer out, and say that it is done."""
    status = pending.accumulate(table, full)
    store_released(table[layout.SCALARS] + 8 * layout.BUSY, 0)
    return status
