"""A program, the dictionary of its terms and its engine, kept in step.

Invariant: everything is ids; what has terms is the Python API above it, and what has messages the
pipeline. The facts that the program states follow its changes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain, groupby
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.epoch import (
    DEFAULT_MAX_NEW_TERMS,
    DEFAULT_RECURSION_LIMIT,
    Engine,
    EpochResult,
)
from streamreasoner.engine.inheritance.outlook import Weighed
from streamreasoner.engine.input.registers import NO_FRONTIER, Registers
from streamreasoner.engine.turn import Turn, in_turn
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import EngineError
from streamreasoner.lang.ast import Constant
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.program_plan import NO_SOURCES
from streamreasoner.program.edit import OTHER_EXPIRIES, other_arity, other_role
from streamreasoner.program.hierarchies import with_hierarchies
from streamreasoner.rdf.texts import column
from streamreasoner.system.ahead import one_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from streamreasoner.engine.ports import Backend
    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.lang.ast import Atom
    from streamreasoner.plan.program_plan import InputSources, ProgramPlan, Stated
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.rdf.dictionary import Dictionary

NO_PREDICATES: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Store:
    """Storage of the terms and facts of a session.

    Attributes:
        dictionary: Terms and their ids, including those of an earlier run.
        backend: Creates an empty backend for a program.
        trace: Gives the trace of an earlier run; None: there was none.
        aside: Creates one in the memory of this process, for what is evaluated alone; None: as
            `backend`.
    """

    dictionary: Dictionary
    backend: Callable[[ProgramPlan], Backend]
    trace: Callable[[], Iterable[TraceRows]] | None = None
    aside: Callable[[ProgramPlan], Backend] | None = None


class Session:
    """Keeps every consequence of a rule program up to date, on ids.

    Attributes:
        program: The checked program.
        dictionary: Terms and their ids.
        engine: The engine.
        next_epoch: The epoch that follows the last one.
        turn: Held by a thread while it reads or changes the state.

    Args:
        program: The program.
        store: Storage of terms and facts.
        recursion_limit: Iterations after which a stratum counts as not converging.
        max_new_terms: Most new terms that the rules of an epoch may make.
        known: Arities of predicates of earlier programs, whose facts the state may hold.
        sources: The sources of updates that the state keeps apart.
        known_constraints: The known predicates that were constraints.
        lowered: The plan of the program if it has been made before.
        encodes: Whether hierarchies are encoded; None: from the epoch on in which that pays.
    """

    def __init__(
        self,
        program: CheckedProgram,
        store: Store,
        *,
        recursion_limit: int = DEFAULT_RECURSION_LIMIT,
        max_new_terms: int = DEFAULT_MAX_NEW_TERMS,
        known: Mapping[str, int] = NO_PREDICATES,
        sources: InputSources = NO_SOURCES,
        known_constraints: frozenset[str] = frozenset(),
        lowered: ProgramPlan | None = None,
        encodes: bool | None = False,
    ) -> None:
        self.turn = Turn()
        self._sources, self._encodes = sources, encodes
        plan = lowered or _lowered(program, encodes=bool(encodes))
        plan = plan.with_sources(sources, known)
        plan = replace(plan, arities={**known, **plan.arities})
        self.program = program
        self.dictionary = store.dictionary
        self._constraints = known_constraints.union(program.constraints)
        facts = (
            *(
                self.rows(predicate, [*map(_terms, facts)])
                for predicate, facts in groupby(program.facts, attrgetter("predicate"))
            ),
            *(self._stated_rows(each, 1) for each in plan.stated),
        )
        registers = Registers(plan.expiries, self.dictionary.intern)
        self.engine = Engine(
            store.backend(plan),
            plan,
            recursion_limit,
            facts,
            registers,
            dictionary=self.dictionary,
            max_new_terms=max_new_terms,
            new_state=store.aside or store.backend,
        )
        self.next_epoch = 0
        self._earlier = store.trace
        self._ready: Weighed | None = None

    @in_turn
    def apply(
        self,
        updates: Iterable[Updates],
        program: CheckedProgram | None = None,
        frontier: int = NO_FRONTIER,
        *,
        epoch: int | None = None,
        report: bool = True,
    ) -> EpochResult:
        """Apply one epoch of updates, in any order, and a change of the program.

        Args:
            updates: The input; updates of facts that expire have times.
            program: The program from this epoch on, if it changes.
            frontier: The frontier from this epoch on, unless it is beyond it already.
            epoch: Its number; by default the next one.
            report: Whether to read the changes; without, the result has none of them.

        Raises:
            DataError: A predicate is unknown or has another arity.
            EngineError: The epoch failed, or the state has a predicate of the program with another
                arity or role; program and state are unchanged.
        """
        number = self.next_epoch if epoch is None else epoch
        if program is None:
            weigh = self._weigh if self._may_encode else None
            result = self.engine.apply(
                number, updates, frontier=frontier, report=report, weigh=weigh
            )
        else:
            plan, facts = self._change_to(program)
            result = self.engine.apply(number, chain(facts, updates), plan, frontier, report=report)
            self.program = program
            self._constraints = self._constraints.union(program.constraints)
        self.next_epoch = number + 1
        return result

    @in_turn
    def load(self, blocks: Iterable[Updates], *, report: bool = True) -> EpochResult:
        """Apply blocks as one epoch, each read in another thread while the one before is added.

        Whatever reads them may use the dictionary, which has no other user meanwhile.

        Raises:
            DataError: As of `apply`.
            EngineError: As of `apply`.
        """
        # Before the first block is taken: another thread adds terms from then on.
        self._ready = self._weigh() if self._may_encode else None
        try:
            with one_ahead(self.turn.lend(blocks)) as updates:
                return self.apply(updates, report=report)
        finally:
            self._ready = None

    @in_turn
    def rehearse(
        self,
        updates: Iterable[Updates],
        program: CheckedProgram | None = None,
        frontier: int = NO_FRONTIER,
        *,
        read: Callable[[], object] = lambda: None,
    ) -> None:
        """Evaluate an epoch of input and roll it back, to find out what it does.

        Only new terms remain in the dictionary.

        Args:
            updates: The input.
            program: The program of the epoch, if it changes.
            frontier: That of the epoch.
            read: Called at the end of the epoch, to read its state.

        Raises:
            EngineError: The epoch fails.
        """
        if program is None:
            self.engine.rehearse(updates, frontier=frontier, read=read)
        else:
            plan, facts = self._change_to(program)
            self.engine.rehearse(chain(facts, updates), plan, frontier, read=read)

    def resume_before(self, epoch: int, frontier: int | None) -> None:
        """Restore what the store has, unless it is done, and go on with an epoch.

        Args:
            epoch: The next epoch.
            frontier: That of the epoch before it; None if there was none.

        Raises:
            EngineError: As of `Engine.restore`.
        """
        at = NO_FRONTIER if frontier is None else frontier
        if self._earlier is None:
            self.engine.resume(epoch, at)
        else:
            self.engine.restore(self._earlier(), epoch, at)
            self._earlier = None
        self.next_epoch = epoch

    @in_turn
    def follow(self, epoch: int, added: Iterable[Updates]) -> None:
        """Take epochs that another session with this program has evaluated; see `Engine.follow`.

        Raises:
            EngineError: As of `Engine.follow`.
        """
        self.engine.follow(added)
        self.next_epoch = epoch + 1

    def close(self) -> None:
        """Release what it has open; a session in memory has nothing open."""

    @property
    def evaluated(self) -> Engine:
        """The engine, in which the facts of the program hold even before the first epoch."""
        if self.engine.awaits_facts:
            self.apply((), report=False)
        return self.engine

    @property
    def plan(self) -> ProgramPlan:
        """The plan of the program."""
        return self.engine.plan

    @property
    def arities(self) -> Mapping[str, int]:
        """Arity of every predicate of this program and earlier ones, hidden ones included."""
        return self.engine.plan.arities

    @property
    def encodes(self) -> bool:
        """Whether hierarchies are encoded: copies are stored only where rules read them."""
        return bool(self.plan.hierarchies)

    @property
    def counts_more(self) -> bool:
        """Whether the statistics count more than present and asserted facts of the program."""
        return bool(self.plan.hidden or self.plan.lattices)

    def rows(
        self,
        predicate: str,
        facts: Sequence[list[str]],
        multiplicities: Sequence[int] | None = None,
    ) -> Updates:
        """Encode facts of canonical terms; each is asserted once by default."""
        terms = [*chain.from_iterable(facts)]
        return Updates(
            predicate,
            self.dictionary.encode(column(terms)).reshape(len(facts), len(facts[0])),
            np.array(multiplicities or [1] * len(facts), dtype=np.int64),
        )

    def _change_to(self, program: CheckedProgram) -> tuple[ProgramPlan, list[Updates]]:
        """The plan of another program, and the updates of stated facts."""
        if {*program.expiries} != {*self.program.expiries}:
            raise EngineError(OTHER_EXPIRIES)
        plan = self._following(program, encodes=bool(self._encodes) or self.encodes)
        for predicate, arity in plan.arities.items():
            if self.arities.get(predicate, arity) != arity:
                raise EngineError(other_arity(predicate, arity, self.arities[predicate]))
            is_constraint = predicate in program.constraints
            if predicate in self.arities and is_constraint != (predicate in self._constraints):
                raise EngineError(other_role(predicate, is_constraint=is_constraint))
        before, after = Counter(self.program.facts), Counter(program.facts)
        facts = [
            self.rows(fact.predicate, [_terms(fact)], [sign * count])
            for difference, sign in ((after - before, 1), (before - after, -1))
            for fact, count in difference.items()
        ]
        old, new = dict.fromkeys(self.plan.stated), dict.fromkeys(plan.stated)
        facts += (self._stated_rows(each, 1) for each in new if each not in old)
        facts += (self._stated_rows(each, -1) for each in old if each not in new)
        return plan, facts

    @property
    def _may_encode(self) -> bool:
        """Whether an epoch may decide to encode hierarchies."""
        return self._encodes is None and not self.encodes

    def _weigh(self) -> Weighed:
        """What weighs the plan of the program with its hierarchies encoded."""
        if self._ready is not None:
            return self._ready
        return Weighed(self._following(self.program, encodes=True), self.dictionary.intern)

    def _following(self, program: CheckedProgram, *, encodes: bool) -> ProgramPlan:
        """The plan of a program that takes the place of this one."""
        plan = _lowered(program, encodes=encodes)
        return plan.with_sources(self._sources, self.arities)

    def _stated_rows(self, fact: Stated, sign: int) -> Updates:
        rows = self.rows(fact.predicate, [[*fact.terms]], [sign])
        return replace(rows, iteration=fact.iteration)


def _lowered(program: CheckedProgram, *, encodes: bool) -> ProgramPlan:
    return lower(with_hierarchies(program) if encodes else program)


def _terms(fact: Atom) -> list[str]:
    """The arguments of a fact of the program."""
    return [argument.term for argument in fact.arguments if isinstance(argument, Constant)]
