"""Runs the kernel through epochs of encoded updates. Invariant: a timed epoch begins with ids and
ends with a settled, committed state; reading its changes is timed separately.
"""  # noqa: D205

from __future__ import annotations

import hashlib
import mmap
import time
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.peers.case import integers, numbers
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.columnar.kernels.records import layout, slots
from streamreasoner.engine.circular import check_order
from streamreasoner.engine.fixpoint import fixpoints
from streamreasoner.engine.input.given import with_copies
from streamreasoner.engine.updates import Updates
from streamreasoner.lang.ast import Constant
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.load import load_program
from streamreasoner.values.value_columns import Values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from streamreasoner.engine.ports import EpochChanges, Statistics
    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.plan.program_plan import ProgramPlan
    from streamreasoner.rdf.dictionary import Dictionary

LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Epoch:
    """A timed epoch.

    Attributes:
        settle: Seconds of processor time from the updates to the committed state.
        read: Seconds of processor time to read all changes, of facts and of the trace.
        changes: The changes.
    """

    settle: float
    read: float
    changes: EpochChanges

    @property
    def changed(self) -> int:
        """Facts that became present or absent, including the updates themselves."""
        return sum(len(part.multiplicity) for part in self.changes.closure)


class Kernel:
    """A backend for a program, with the facts that the program states.

    Args:
        rules: The program, as text or as the name of a ruleset.
        dictionary: Gives the ids; several kernels may share one.
        replan: Gives it other plans.

    Attributes:
        stated: Facts that the program states, until they are loaded.
    """

    def __init__(
        self,
        rules: str,
        dictionary: Dictionary,
        replan: Callable[[ProgramPlan], ProgramPlan] = lambda plan: plan,
    ) -> None:
        program = load_program(rules)
        self._dictionary = dictionary
        self._plan = replan(lower(program))
        self._backend = ColumnarBackend(self._plan, dictionary, Values(dictionary))
        self._check_order = partial(
            check_order, program=self._plan, backend=self._backend, dictionary=dictionary
        )
        self.stated = [
            updates(
                fact.predicate,
                [[dictionary.intern(a.term) for a in fact.arguments if isinstance(a, Constant)]],
                1,
            )
            for fact in program.facts
        ]
        self.stated += [
            replace(
                updates(each.predicate, [[*map(dictionary.intern, each.terms)]], 1),
                iteration=each.iteration,
            )
            for each in self._plan.stated
        ]

    def load(self, batches: Iterable[Updates]) -> float:
        """Run one epoch without reading its changes; returns seconds of processor time."""
        return cpu(lambda: (self.settle(batches), self.commit()))

    def epoch(self, batches: Iterable[Updates]) -> Epoch:
        """One epoch, timed, and its changes."""
        settle = cpu(lambda: self.settle(batches))
        started = time.process_time()
        changes = self._backend.changes()
        read = time.process_time() - started
        return Epoch(settle + cpu(self.commit), read, changes)

    def commit(self) -> None:
        """Make the epoch final."""
        self._backend.commit()

    def rollback(self) -> None:
        """Undo an epoch that failed."""
        self._backend.rollback()

    def settle(self, batches: Iterable[Updates]) -> None:
        """Run an epoch up to its closure, with all multiplicities."""
        every = chain(self.stated, batches)
        for batch in with_copies(every, self._plan.given, self._dictionary.intern):
            self._backend.add(batch)
        self.stated = []
        fixpoints(self._backend, self._plan, LIMIT, self._check_order)

    def populate(self, other: Kernel) -> None:
        """Make the system allocate as much memory as the state of another kernel uses."""
        state, used = self._backend._state, other._backend._state  # noqa: SLF001 - to measure it
        facts = other.statistics().facts
        words = slots.WORDS * len(used.slots)
        for column, count in (
            (layout.ARENA, int(used.scalars[layout.TOP])),
            (layout.FACT_TABLE, words),
            (layout.FACT_TABLE + 1, words),
            (layout.JOURNAL_FACTS, facts),
            (layout.JOURNAL_NEXT, facts),
            (layout.TOUCHED_NODES, facts),
            (layout.DELTAS, facts),
        ):
            state._reserved[column].array[: count : mmap.PAGESIZE // 8] = 0  # noqa: SLF001 - as above

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of a predicate, as ids."""
        return self._backend.facts(predicate)

    def trace(self, predicate: str) -> TraceRows:
        """The trace of a predicate."""
        return self._backend.trace(predicate)

    def digest(self, predicates: Sequence[str]) -> str:
        """A hash of the trace of some predicates: facts, iterations and multiplicities."""
        return digest(map(self._backend.trace, predicates))

    def work(self) -> int:
        """What rules did in the last epoch: facts that joins looked at, heads and settled facts."""
        effort = self._backend.effort()
        return 0 if effort is None else effort.work

    def statistics(self) -> Statistics:
        """Size of the state."""
        return self._backend.statistics()


def digest(traces: Iterable[TraceRows]) -> str:
    """A hash of traces that does not depend on the order of their rows."""
    total = hashlib.sha256()
    for rows in traces:
        order = np.lexsort((rows.iteration, *rows.args.T))
        for column in (*rows.args.T, rows.iteration, rows.multiplicity):
            total.update(np.ascontiguousarray(column[order]))
    return total.hexdigest()


class Numbers:
    """Integers as terms of a dictionary.

    Args:
        dictionary: Gets the terms of 0 to *top* - 1.
    """

    def __init__(self, dictionary: Dictionary, top: int) -> None:
        self._dictionary = dictionary
        self._ids = dictionary.encode(integers(np.arange(top)))

    def encode(self, rows: NDArray[np.integer]) -> NDArray[np.int32]:
        """Ids of numbers below *top*, in the shape of the rows."""
        return np.ascontiguousarray(self._ids[rows], np.int32)

    def decode(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """Numbers of ids, in the shape of the ids."""
        distinct, places = np.unique(ids, return_inverse=True)
        return numbers(self._dictionary.decode(distinct))[places].reshape(ids.shape)


def updates(predicate: str, ids: object, multiplicity: int) -> Updates:
    """Updates of rows of ids, all with the same multiplicity."""
    rows = np.ascontiguousarray(ids, np.int32)
    return Updates(predicate, rows, np.full(len(rows), multiplicity, np.int64))


def cpu(work: Callable[[], object]) -> float:
    """Seconds of processor time of a call; other load on the machine affects it little."""
    started = time.process_time()
    work()
    return time.process_time() - started
