"""What an epoch has changed, as the port has it. Invariant: a relation without rows costs nothing.

Most epochs change a few facts of one or two predicates, and take as long as the Python that reads
them. So kernels find out what there is, and only that is touched here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar.kernels.epoch import changes
from streamreasoner.engine.ports import NO_CHANGES, EpochChanges
from streamreasoner.engine.updates import Changes, TraceRows

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.backends.columnar.kernels.records import layout


class Reader:
    """Reads changes of the relations of a program.

    Args:
        numbering: Its relations, by number, and those of earlier programs.
    """

    def __init__(self, numbering: Numbering) -> None:
        self._relations = tuple(
            (predicate, numbering.arities[predicate]) for predicate in numbering.relations
        )
        shape = changes.COLLECTIONS, len(self._relations)
        self._places = np.zeros(shape, np.int64)
        self._blocks = np.zeros((self._places.size, changes.BLOCK_WIDTH), np.int64)

    def read(self, table: layout.Int64s) -> EpochChanges:
        """The changes of the epoch of a state so far, which are not yet committed."""
        count = changes.count_changes(table, self._places, self._blocks)
        if count == 0:
            return NO_CHANGES
        blocks = self._blocks[:count].tolist()
        relations = self._relations
        rows, cells = [0] * changes.COLLECTIONS, [0] * changes.COLLECTIONS
        for collection, relation, size, row, cell in blocks:
            rows[collection] = row + size
            cells[collection] = cell + size * relations[relation][1]
        args = [np.empty(size, np.int32) for size in cells]
        signs = [np.empty(size, np.int8) for size in rows[: changes.TRACE]]
        iterations = np.empty(rows[changes.TRACE], np.int32)
        counts = np.empty(rows[changes.TRACE], np.int64)
        changes.read_changes(
            table,
            self._places,
            self._blocks,
            args[changes.DERIVED],
            signs[changes.DERIVED],
            args[changes.CLOSURE],
            signs[changes.CLOSURE],
            args[changes.TRACE],
            iterations,
            counts,
        )
        facts: tuple[list[Changes], list[Changes]] = [], []
        trace: list[TraceRows] = []
        for collection, relation, size, row, cell in blocks:
            predicate, arity = relations[relation]
            end = row + size
            own = args[collection][cell : cell + size * arity].reshape(size, arity)
            if collection == changes.TRACE:
                trace.append(TraceRows(predicate, own, iterations[row:end], counts[row:end]))
            else:
                facts[collection].append(Changes(predicate, own, signs[collection][row:end]))
        derived, closure = facts
        return EpochChanges(derived, closure, trace)
