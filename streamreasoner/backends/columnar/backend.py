"""The columnar backend: the engine's port over the kernels. Invariant: a kernel's status is never
ignored, so a failed epoch always reaches the engine as an error.
"""  # noqa: D205

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar import census, intake, journal, layout, settle
from streamreasoner.backends.columnar.compile import compile_program
from streamreasoner.backends.columnar.derive import derive
from streamreasoner.backends.columnar.state import State
from streamreasoner.collection.updates import Changes, TraceRows
from streamreasoner.engine.ports import EpochChanges, Statistics
from streamreasoner.errors import EngineError, MultiplicityOverflowError
from streamreasoner.plan.algebra import Filter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from streamreasoner.collection.updates import Updates
    from streamreasoner.plan.algebra import ProgramPlan
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.rdf.values import Values


class ColumnarBackend:
    """Holds the state in this process, in reserved address space.

    Args:
        plan: The program.
        dictionary: Gives the program's constants their ids.
        values: Values of terms, for comparisons; read while deriving.
    """

    def __init__(self, plan: ProgramPlan, dictionary: Dictionary, values: Values) -> None:
        tables = compile_program(plan, dictionary.intern)
        self._relations = tables.relations
        self._arities = plan.arities
        self._values = values
        self._compares = any(
            isinstance(node, Filter)
            for stratum in plan.strata
            for delta_plan in stratum.plans
            for node in delta_plan.nodes
        )
        self._state = State(tables)
        self._table = self._state.table

    def add(self, updates: Updates) -> None:
        """Add asserted multiplicities, at iteration 0 of the stratum each fact belongs to."""
        relation, arity = self._relation(updates.predicate, updates.args)
        cells = np.ascontiguousarray(updates.args, dtype=np.int32).reshape(-1)
        _check(intake.add(self._table, relation, arity, cells, updates.multiplicity))

    def enter(self, stratum: int) -> int:
        """Start a stratum with the final changes of those before it as deltas at iteration 0."""
        if self._compares:
            self._values.extend()
        return settle.enter(self._table, stratum)

    def settle(self, iteration: int) -> int:
        """Step 1: transitions at *iteration* from the counts; returns the number of deltas."""
        return settle.settle(self._table, iteration)

    def derive(self, iteration: int) -> None:
        """Steps 2 and 3: the deltas through the stratum's plans, heads touched later on."""
        _check(derive(self._table, self._values.table, iteration))

    def next_touched(self) -> int:
        """The next iteration with touched facts, or -1 if the stratum is done."""
        return settle.next_touched(self._table)

    def changes(self) -> EpochChanges:
        """What the epoch has changed so far."""
        sizes = np.zeros((len(self._relations), 3), np.int64)
        journal.count_changes(self._table, sizes)
        derived, closure, trace = [], [], []
        for predicate, relation in self._relations.items():
            d, c, t = (int(size) for size in sizes[relation])
            arity = self._arities[predicate]
            if d or c:
                derived_changes = Changes(predicate, _args(d, arity), np.empty(d, np.int8))
                closure_changes = Changes(predicate, _args(c, arity), np.empty(c, np.int8))
                journal.read_changes(
                    self._table,
                    relation,
                    derived_changes.args,
                    derived_changes.multiplicity,
                    closure_changes.args,
                    closure_changes.multiplicity,
                )
                if d:
                    derived.append(derived_changes)
                if c:
                    closure.append(closure_changes)
            if t:
                rows = _trace_rows(predicate, t, arity)
                journal.read_trace_changes(
                    self._table, relation, rows.args, rows.iteration, rows.multiplicity
                )
                trace.append(rows)
        return EpochChanges(tuple(derived), tuple(closure), tuple(trace))

    def commit(self) -> None:
        """Make the epoch's changes final."""
        large = self._state.scalars[layout.JOURNALED_FACTS] > _LARGE_EPOCH
        journal.commit(self._table)
        if large:
            self._state.trim()

    def rollback(self) -> None:
        """Undo the epoch wholly."""
        _check(journal.rollback(self._table))

    def restore(self, rows: Iterable[TraceRows]) -> None:
        """Take the trace of an earlier run into an empty state."""
        for batch in rows:
            relation, arity = self._relation(batch.predicate, batch.args)
            cells = np.ascontiguousarray(batch.args, dtype=np.int32).reshape(-1)
            _check(
                intake.add_trace(
                    self._table, relation, arity, cells, batch.iteration, batch.multiplicity
                )
            )
        _check(journal.accept(self._table))
        self._state.trim()

    def trace(self, predicate: str) -> TraceRows:
        """Every (fact, iteration, multiplicity) of a predicate, in no particular order."""
        relation = self._relations[predicate]
        _, counts = census.count(self._table, relation)
        rows = _trace_rows(predicate, counts, self._arities[predicate])
        census.read_trace(self._table, relation, rows.args, rows.iteration, rows.multiplicity)
        return rows

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, int32 of shape (n, arity), in no particular order."""
        relation = self._relations[predicate]
        present, _ = census.count(self._table, relation)
        args = _args(present, self._arities[predicate])
        census.read_facts(self._table, relation, args)
        return args

    def statistics(self) -> Statistics:
        """Size of the state."""
        scalars = self._state.scalars
        return Statistics(
            facts=int(scalars[layout.FACT_COUNT]),
            present=int(scalars[layout.PRESENT]),
            asserted=int(scalars[layout.ASSERTED]),
            below_zero=int(scalars[layout.BELOW_ZERO]),
            counts=int(scalars[layout.COUNTS]),
            bytes=self._state.bytes,
        )

    def _relation(self, predicate: str, args: NDArray[np.int32]) -> tuple[int, int]:
        if predicate not in self._relations:
            known = ", ".join(self._relations)
            raise EngineError(f"The program has no predicate {predicate!r}; it has {known}.")
        arity = self._arities[predicate]
        if args.ndim != 2 or args.shape[1] != arity:  # noqa: PLR2004 - rows and arguments
            raise EngineError(f"{predicate} has {arity} arguments, not shape {args.shape}.")
        return self._relations[predicate], arity


_LARGE_EPOCH = 1 << 20


def _args(rows: int, arity: int) -> NDArray[np.int32]:
    return np.empty((rows, arity), np.int32)


def _trace_rows(predicate: str, rows: int, arity: int) -> TraceRows:
    return TraceRows(
        predicate, _args(rows, arity), np.empty(rows, np.int32), np.empty(rows, np.int64)
    )


def _check(status: int) -> None:
    match status:
        case layout.OK:
            return
        case layout.OVERFLOW:
            raise MultiplicityOverflowError(
                "A multiplicity left the range of ±2^58. The epoch was undone."
            )
        case layout.FULL:
            raise EngineError(
                "The state is full: it holds as many facts as fit this machine's memory. "
                "The epoch was undone. Use a larger machine."
            )
        case _:
            raise AssertionError(f"Unknown kernel status {status}.")
