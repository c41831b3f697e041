"""What an epoch has changed, as the port has it. Invariant: a relation without rows costs nothing.

Most epochs change a few facts of one or two predicates, and take as long as the Python that reads
them. So kernels find out what there is, and only that is touched here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from streamreasoner.backends.columnar.kernels.epoch import changes
from streamreasoner.engine.ports import NO_CHANGES, EpochChanges
from streamreasoner.engine.updates import Changes, TraceRows

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.backends.columnar.kernels.records import layout

_ID: Final = np.dtype(np.int32)
_SIGN: Final = np.dtype(np.int8)
_COUNT: Final = np.dtype(np.int64)


class Reader:
    """Reads changes of the relations of a program.

    Args:
        numbering: Its relations, by number, and those of earlier programs.
    """

    def __init__(self, numbering: Numbering) -> None:
        self._predicates = tuple(numbering.relations)
        self._places = np.zeros((changes.COLLECTIONS, len(self._predicates)), np.int64)
        rows = changes.ENDS + self._places.size
        self._blocks = np.zeros((rows, changes.BLOCK_WIDTH), np.int64)

    def read(self, table: layout.Int64s) -> EpochChanges:
        """The changes of the epoch of a state so far, which are not yet committed."""
        count = changes.count_changes(table, self._places, self._blocks)
        if count == 0:
            return NO_CHANGES
        facts_end, trace_end, *blocks = self._blocks[: changes.ENDS + count].tolist()
        cells = np.empty(facts_end[changes.CELL], _ID)
        signs = np.empty(facts_end[changes.ROW], _SIGN)
        trace_cells = np.empty(trace_end[changes.CELL], _ID)
        times = np.empty(trace_end[changes.ROW], _ID)
        counts = np.empty(trace_end[changes.ROW], _COUNT)
        changes.read_changes(
            table, self._places, self._blocks, cells, signs, trace_cells, times, counts
        )
        derived: list[Changes] = []
        closure: list[Changes] = []
        trace: list[TraceRows] = []
        for collection, relation, size, arity, row, cell in blocks:
            predicate, end = self._predicates[relation], row + size
            # `ndarray` takes half the time of a slice and its shape.
            if collection == changes.TRACE:
                args = np.ndarray((size, arity), _ID, trace_cells, _ID.itemsize * cell)
                trace.append(TraceRows(predicate, args, times[row:end], counts[row:end]))
                continue
            args = np.ndarray((size, arity), _ID, cells, _ID.itemsize * cell)
            facts = Changes(predicate, args, signs[row:end])
            if collection != changes.CLOSURE:
                derived.append(facts)
            if collection != changes.DERIVED:
                closure.append(facts)
        return EpochChanges(derived, closure, trace)
