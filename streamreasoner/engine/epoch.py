"""Evaluate one epoch: apply input, update consequences, return changes. Invariant: it is atomic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.change import added_by_change, change_program
from streamreasoner.engine.circular import check_order
from streamreasoner.engine.fixpoint import fixpoints, goes_on, limited
from streamreasoner.engine.inheritance.held import Holding
from streamreasoner.engine.inheritance.outlook import Outlook, Weighed
from streamreasoner.engine.inheritance.reader import Reader
from streamreasoner.engine.input.given import with_copies
from streamreasoner.engine.input.registers import NO_FRONTIER, NO_REGISTERS
from streamreasoner.engine.input.sources import edited
from streamreasoner.engine.ports import LAST_ITERATION, NO_BOUND, NO_CHANGES, Work
from streamreasoner.engine.recomputation import FEW, Recomputation
from streamreasoner.engine.updates import added_by
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.analysis.hierarchies.hierarchy import Copied
    from streamreasoner.engine.cost_model import CostModel
    from streamreasoner.engine.input.registers import Admitted, Registers
    from streamreasoner.engine.ports import Backend, EpochChanges, Selection, Statistics
    from streamreasoner.engine.updates import Changes, TraceRows, Updates
    from streamreasoner.plan.program_plan import ProgramPlan

DEFAULT_RECURSION_LIMIT = 1_000_000
DEFAULT_MAX_NEW_TERMS = 10_000_000
NO_WORK = Work(0, *[np.empty(0, np.int64)] * 2)
"""That of no rules."""


@dataclass(frozen=True, slots=True)
class EpochResult:
    """What an epoch changed; its collections can be iterated until the next epoch begins.

    Attributes:
        epoch: Logical time of the input.
        updates: Number of input updates.
        iterations: Iterations touched, summed over strata.
        derived: Changes of derived facts (the closure minus the asserted facts).
        closure: Changes of all facts.
        trace: Signed differences of the trace.
        frontier: The event time up to which facts have expired, in milliseconds since 1970;
            `NO_FRONTIER` before the first event time.
        late: Number of assertions that had expired when they came.
        expired: Number of facts that left because of their time.
        recomputed: Whether it was evaluated anew, because that costs less.
        given_up: Whether rules had spent their budget on it before.
        work: Gives what rules did, until the next epoch begins.
        direct: Gives the changes of direct facts until then, given what the programs before the
            epoch and from it on copy along hierarchies.
    """

    epoch: int
    updates: int
    iterations: int
    derived: Iterable[Changes]
    closure: Iterable[Changes]
    trace: Iterable[TraceRows]
    frontier: int = NO_FRONTIER
    late: int = 0
    expired: int = 0
    recomputed: bool = False
    given_up: bool = False
    work: Callable[[], Work] = lambda: NO_WORK
    direct: Callable[[Copied, Copied], EpochChanges] = lambda *_: NO_CHANGES


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """An epoch that is evaluated, and not yet committed.

    Attributes:
        program: The program from it on.
        reader: Reads the state with the facts that are inherited.
        iterations: The number of iterations touched.
        changes: What it changes.
        direct: That of `EpochResult`.
    """

    program: ProgramPlan
    reader: Reader
    iterations: int
    changes: EpochChanges
    direct: Callable[[Copied, Copied], EpochChanges]


class Engine:
    """Keeps the consequences of a program up to date, epoch by epoch, on a backend.

    Attributes:
        outlook: Decides whether hierarchies are encoded.
        watch: Called with what an epoch adds to the asserted facts, even if it is rolled back then.

    Args:
        backend: Holds the trace; must be empty or restored.
        plan: The program.
        recursion_limit: Iterations after which a stratum counts as not converging.
        facts: The facts that the program states; added in the very first epoch.
        registers: The facts that expire.
        dictionary: Terms and ids, for rules that read asserted facts, or negate what the schema
            decides, or make terms.
        max_new_terms: Most new terms that the rules of an epoch may make.
        new_state: Makes an empty state for a program with encoded hierarchies.
    """

    def __init__(
        self,
        backend: Backend,
        plan: ProgramPlan,
        recursion_limit: int = DEFAULT_RECURSION_LIMIT,
        facts: tuple[Updates, ...] = (),
        registers: Registers = NO_REGISTERS,
        *,
        dictionary: Dictionary | None = None,
        max_new_terms: int = DEFAULT_MAX_NEW_TERMS,
        new_state: Callable[[ProgramPlan], Backend] | None = None,
    ) -> None:
        self._backend = backend
        self._plan = plan
        self._facts = facts
        self._registers = registers
        self._recomputation = Recomputation(backend)
        self._dictionary = Dictionary() if dictionary is None else dictionary
        self._frontier = NO_FRONTIER
        intern = self._dictionary.intern
        self._reader = Reader(backend, plan, intern)
        self._holding = Holding(plan, backend, intern)
        self._fixpoints = partial(_fixpoints, self._dictionary, recursion_limit, max_new_terms)
        self.outlook = Outlook(backend, intern, self._fixpoints, new_state)
        self._taken = self._gained = 0
        self.watch: Callable[[Updates], None] | None = None

    @property
    def plan(self) -> ProgramPlan:
        """The program, as it is evaluated."""
        return self._plan

    @property
    def frontier(self) -> int:
        """The event time up to which facts have expired; `NO_FRONTIER` before the first."""
        return self._frontier

    @property
    def awaits_facts(self) -> bool:
        """Whether the program states facts that no epoch has added; callable from any thread."""
        return bool(self._facts)

    @property
    def awaits_time(self) -> bool:
        """Whether facts wait to expire; may be called from any thread."""
        return self._registers.pending

    @property
    def next_deadline(self) -> int | None:
        """The first frontier at which a fact may expire, in milliseconds since 1970."""
        return self._registers.next_deadline(self._backend)

    def apply(
        self,
        epoch: int,
        updates: Iterable[Updates],
        plan: ProgramPlan | None = None,
        frontier: int = NO_FRONTIER,
        *,
        report: bool = True,
        weigh: Callable[[], Weighed] | None = None,
    ) -> EpochResult:
        """Apply one epoch of input, in any order, and return what it changed.

        Args:
            epoch: Logical time of the input.
            updates: Updates of predicates of the program.
            plan: The program from this epoch on, if it changes.
            frontier: The event time up to which input counts as complete, in milliseconds since
                1970; a lower one than that of the epoch before leaves it as it is.
            report: Whether to read the changes; without, the result has none of them.
            weigh: Makes what weighs the plan with hierarchies encoded, to take if that pays.

        Raises:
            EngineError: The epoch failed and was rolled back.
        """
        frontier = max(self._frontier, frontier)
        admitted = self._admit(updates, frontier)
        evaluated = self._evaluate(admitted.updates, plan, report=report, weigh=weigh)
        changes = evaluated.changes
        self._backend.commit()
        self._registers.commit()
        self._plan, self._reader = evaluated.program, evaluated.reader
        self._facts, self._frontier = (), frontier
        return EpochResult(
            epoch=epoch,
            updates=self._taken,
            iterations=evaluated.iterations,
            derived=changes.derived,
            closure=changes.closure,
            trace=changes.trace,
            frontier=frontier,
            late=admitted.late,
            expired=admitted.expired,
            recomputed=self._recomputation.recomputed,
            given_up=self._recomputation.given_up,
            work=self._backend.work,
            direct=evaluated.direct,
        )

    def rehearse(
        self,
        updates: Iterable[Updates],
        plan: ProgramPlan | None = None,
        frontier: int = NO_FRONTIER,
        *,
        read: Callable[[], object] = lambda: None,
    ) -> None:
        """Evaluate an epoch and roll it back, to find out what it does, or whether it fails.

        Args:
            updates: Updates of predicates of the program.
            plan: The program of the epoch, if it changes.
            frontier: That of the epoch.
            read: Called at the end of the epoch, to read its state.

        Raises:
            EngineError: The epoch fails.
        """
        admitted = self._admit(updates, max(self._frontier, frontier))
        evaluated = self._evaluate(admitted.updates, plan, report=True)
        before, self._reader = self._reader, evaluated.reader
        try:
            read()
        finally:
            self._reader = before
            self._backend.rollback()

    def follow(self, added: Iterable[Updates]) -> None:
        """Take epochs that another engine has evaluated, and derive the same from them.

        Copies, times and sources are as the other engine has added them, so nothing is admitted.

        Args:
            added: The rows of their traces at iteration 0; none has changed the program.

        Raises:
            EngineError: They cannot be evaluated here, and were rolled back.
        """
        self._taken = self._gained = 0
        try:
            self.outlook.begin(self._plan)
            later = self._add(self._counted(added))
            self._settle(self._plan, later)
        except BaseException:
            self._backend.rollback()
            raise
        self._reader.forget()
        self._backend.commit()

    def _admit(self, updates: Iterable[Updates], frontier: int) -> Admitted:
        """What input and the frontier change, before the epoch begins."""
        self._taken = self._gained = 0
        admitted = self._registers.admit(self._counted(updates), frontier, self._backend)
        rows = edited(admitted.updates, self._plan, self._backend)
        # Looked up before anything is added.
        return admitted if rows is admitted.updates else replace(admitted, updates=list(rows))

    def _counted(self, updates: Iterable[Updates]) -> Iterator[Updates]:
        for batch in updates:
            self._taken += len(batch.multiplicity)
            if self._taken >= FEW:
                self._gained += int(batch.multiplicity.sum())
            yield batch

    def _evaluate(
        self,
        updates: Iterable[Updates],
        plan: ProgramPlan | None,
        *,
        report: bool,
        weigh: Callable[[], Weighed] | None = None,
    ) -> _Evaluated:
        """The epoch, which is not committed."""
        try:
            program = self._plan
            if plan is not None:
                added = added_by_change(self._backend, program, plan, self._dictionary.intern)
                program = change_program(self._backend, program, plan)
                for batch in added:
                    self._backend.add(batch)
            updates = chain(self._facts, updates)
            updates = with_copies(updates, program.given, self._dictionary.intern)
            self.outlook.begin(program, weigh)
            later = self._add(updates)
            encoded = self.outlook.encoded(self._taken)
            if encoded is not None:
                plan, held = encoded
                program = self._again(plan, (*later, *held))
            program, iterations = self._settle(program, later, plan)
            reader, stored, changes = self._reader, NO_CHANGES, NO_CHANGES
            if plan is not None:
                reader = Reader(self._backend, program, self._dictionary.intern)
            if report:
                stored = self._backend.changes()
                changes = reader.changes(stored, self._reader)
            else:
                reader.forget()
        except BaseException:
            self._backend.rollback()
            raise
        direct = partial(reader.direct_changes, stored, self._reader)
        return _Evaluated(program, reader, iterations, changes, direct)

    def _add(self, updates: Iterable[Updates]) -> list[Updates]:
        """Add updates, and what to hold by their schema; gives those of later iterations."""
        later = []
        for batch in updates:
            self._backend.add(batch)
            self.outlook.note(batch)
            if self.watch is not None:
                self.watch(batch)
            if batch.iteration:
                later.append(batch)
        for batch in self.outlook.held():
            self._backend.add(batch)
        return later

    def _again(self, plan: ProgramPlan | None, others: Iterable[Updates]) -> ProgramPlan:
        """Begin the epoch again, with what was added, and others; returns its program."""
        rows = [*added_by(self._backend.changes().trace)]  # with copies and in sum
        self._backend.rollback()
        program = self._plan if plan is None else change_program(self._backend, self._plan, plan)
        for batch in (*rows, *others):
            self._backend.add(batch)
        return program

    def _settle(
        self, program: ProgramPlan, later: Sequence[Updates], plan: ProgramPlan | None = None
    ) -> tuple[ProgramPlan, int]:
        """Update the consequences of what was added, until all that rules read is stored.

        Returns the program of the epoch, and the number of iterations.
        """
        evaluate = partial(self._recomputation.evaluate, may_recompute=plan is None)
        if not program.hierarchies:
            rules = partial(self._fixpoints, program, self._backend)
            return program, evaluate(rules, self._taken, self._gained)
        iterations = 0
        while True:
            self._holding = self._holding.of(program)
            rules = partial(self._fixpoints, program, self._backend, stops=self._holding.lacks)
            touched, held = self._holding.after(partial(evaluate, rules, self._taken, self._gained))
            iterations += touched
            if not held:
                return program, iterations
            program = self._again(plan, (*later, *held))

    def restore(self, rows: Iterable[TraceRows], before: int, frontier: int = NO_FRONTIER) -> None:
        """Load the trace of all epochs before *before*, the next one, into an empty engine.

        Of encoded hierarchies the trace has copies that are not stored. So there only what was
        added is taken, and the rest is derived from it.

        Args:
            rows: The trace.
            before: The next epoch.
            frontier: That of the epoch before it.

        Raises:
            EngineError: It cannot be evaluated.
        """
        if not self._plan.hierarchies:
            self._backend.restore(rows)
        elif before > 0:
            self.follow(chain(added_by(rows), (each for each in self._facts if each.iteration)))
        self.resume(before, frontier)

    def resume(self, before: int, frontier: int) -> None:
        """Go on with a backend that has the epochs before *before*, the next one.

        Args:
            before: The next epoch.
            frontier: That of the epoch before it.
        """
        self._frontier = frontier
        if before > 0:
            self._facts = ()

    def trace(self, predicate: str, bound: Mapping[int, int] = NO_BOUND) -> TraceRows:
        """Every (fact, iteration, multiplicity) of *predicate* with these ids at these positions.

        In no particular order; see `Backend.trace`.
        """
        return self._reader.trace(predicate, bound)

    def facts(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of *predicate*, int32 of shape (n, arity), in no particular order."""
        return self._reader.facts(predicate, self._backend.facts(predicate))

    def facts_of(self, predicates: Iterable[str]) -> dict[str, NDArray[np.int32]]:
        """The same for each of some predicates, of which there may be thousands."""
        found = self._backend.facts_of(predicates)
        return {name: self._reader.facts(name, stored) for name, stored in found.items()}

    def asserted(self, predicate: str, args: NDArray[np.int32]) -> NDArray[np.int64]:
        """How often distinct facts of *predicate* are asserted; int64 of shape (n,)."""
        return self._backend.asserted(predicate, args)

    def select(
        self, predicate: str, bound: Mapping[int, int], iteration: int = LAST_ITERATION
    ) -> Selection:
        """The facts of *predicate* with these ids at these positions, as of *iteration*."""
        stored = self._backend.select(predicate, bound, iteration)
        return self._reader.select(predicate, bound, iteration, stored)

    def direct(self, copied: Copied, predicate: str, args: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which distinct facts of *predicate* are direct, given what the program copies."""
        return self._reader.direct(copied, predicate, args)

    def cost_model(self) -> CostModel | None:
        """What decides whether the next epoch is evaluated anew; None if it is never."""
        return self._recomputation.model()

    def statistics(self) -> Statistics:
        """Size of the state."""
        return self._backend.statistics()


def _fixpoints(  # noqa: PLR0917 - the first three are those of an engine
    dictionary: Dictionary,
    recursion_limit: int,
    max_new_terms: int,
    program: ProgramPlan,
    backend: Backend,
    stops: Callable[[int, int], bool] = goes_on,
) -> int:
    """Bring a state up to date with what was added; returns the number of iterations touched."""
    check = partial(check_order, program=program, backend=backend, dictionary=dictionary)
    terms = limited(max_new_terms, dictionary, program)
    return fixpoints(backend, program, recursion_limit, check, terms, stops=stops)
