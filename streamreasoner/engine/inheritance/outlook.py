"""What the input of an epoch tells of hierarchies before its rules are evaluated.

It tells which classes rules will want, and whether hierarchies are worth encoding, as most facts
would be copies that no rule reads. Invariant: it decides what an epoch costs, and nothing else.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.cost_model import ENOUGH, Estimate
from streamreasoner.engine.inheritance.climb import classes_of, consolidated
from streamreasoner.engine.inheritance.edges import View
from streamreasoner.engine.inheritance.entities import Found
from streamreasoner.engine.inheritance.guess import Guess
from streamreasoner.engine.inheritance.inherited import InheritedFacts
from streamreasoner.engine.inheritance.rows import matching
from streamreasoner.engine.inheritance.sets import distinct, places
from streamreasoner.engine.updates import TraceRows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from numpy.typing import NDArray

    from streamreasoner.engine.inheritance.entities import Shape
    from streamreasoner.engine.ports import Backend
    from streamreasoner.engine.updates import Updates
    from streamreasoner.plan.program_plan import ProgramPlan

_log = logging.getLogger(__name__)
SAMPLED = 32
"""The facts of one in 32 entities are read to estimate what all of them inherit."""
MOST_KEPT = 1 << 22
"""Updates that are kept until an epoch has doubled what is asserted, and so decides."""
_SPREAD = np.uint32(2654435769)  # Knuth's multiplier: ids that follow each other are far apart


class Outlook:
    """Takes note of the input of epochs, one after the other.

    Attributes:
        estimate: What the last epoch told that decided; None: none has.

    Args:
        backend: The state.
        intern: Gives the id of a term.
        evaluate: Brings a state with input of a program up to date.
        new_state: Makes an empty state; None: nothing is found out.
    """

    def __init__(
        self,
        backend: Backend,
        intern: Callable[[str], int],
        evaluate: Callable[[ProgramPlan, Backend], int],
        new_state: Callable[[ProgramPlan], Backend] | None,
    ) -> None:
        self._backend, self._intern, self._evaluate = backend, intern, evaluate
        self._new_state = new_state
        self._weigh: Callable[[], Weighed] | None = None
        self._guess: Guess | None = None
        self._weighed: Weighed | None = None
        self._waiting: list[Updates] = []
        self._known: Collection[str] = ()
        self._rows = 0
        self.estimate: Estimate | None = None

    def begin(self, program: ProgramPlan, weigh: Callable[[], Weighed] | None = None) -> None:
        """Begin an epoch of a program.

        Args:
            program: The plan of the program.
            weigh: Makes what weighs its plan with hierarchies encoded, to take if that pays; None:
                it is kept.
        """
        self._weigh, self._weighed, self._waiting, self._rows = weigh, None, [], 0
        self._known = program.arities
        if not program.hierarchies:
            self._guess = None
        elif self._guess is None or self._guess.plan is not program:
            self._guess = Guess(program, self._intern)
        if self._guess is not None:
            self._guess.begin()

    def note(self, batch: Updates) -> None:
        """Take note of updates of an epoch."""
        if self._guess is not None:
            self._guess.note(batch)
        elif self._weighed is not None:
            self._weighed.note(batch)
        elif self._weigh is not None:
            self._waiting.append(batch)
            self._rows += len(batch.args)
            if self._rows >= ENOUGH and self._rows >= self._asserted():
                self._weighed = self._weigh()
                self._weighed.guess.remember(View(self._backend.trace), self._known)
                for each in self._waiting:
                    self._weighed.note(each)
                self._waiting.clear()
            elif self._rows > MOST_KEPT:
                self._weigh, self._waiting = None, []

    def held(self) -> list[Updates]:
        """Which classes to hold besides, if the epoch is large and its hierarchies are encoded."""
        if self._guess is not None and self._new_state is not None:
            alone = self._guess.alone(self._new_state, self._evaluate)
            if alone is not None:
                return self._guess.held(alone, self._backend)
        return []

    def encoded(self, updates: int) -> tuple[ProgramPlan, list[Updates]] | None:
        """The plan to take instead, and which classes to hold; None: not to change it.

        Args:
            updates: The size of the epoch.
        """
        weighed, new_state = self._weighed, self._new_state
        self._weigh, self._weighed, self._waiting = None, None, []
        if weighed is None or new_state is None or not weighed.plan.hierarchies:
            return None
        alone = weighed.guess.alone(new_state, self._evaluate)
        if alone is None:
            return None
        self.estimate = estimate = weighed.estimate(alone, updates)
        if not estimate.pays:
            return None
        _log.info(
            "Hierarchies are encoded: of some %s facts, %s would be copies that no rule reads.",
            f"{estimate.facts:,}",
            f"{estimate.left_out:,}",
        )
        return weighed.plan, weighed.guess.held(alone)

    def _asserted(self) -> int:
        """How many facts are asserted, which an epoch at least doubles if it decides."""
        effort = self._backend.effort()
        return 0 if effort is None else effort.asserted


class Weighed:
    """What an epoch would have with hierarchies encoded.

    Attributes:
        plan: The plan of the program with its hierarchies encoded.
        guess: Takes note of the schema.

    Args:
        plan: The same.
        intern: Gives the id of a term; called here, and not for updates.
    """

    def __init__(self, plan: ProgramPlan, intern: Callable[[str], int]) -> None:
        self.plan, self.guess = plan, Guess(plan, intern, steps=True)
        self._hierarchies = [InheritedFacts(each, plan, intern) for each in plan.hierarchies]
        self._sampled: list[list[TraceRows]] = [[] for _ in self._hierarchies]

    def note(self, batch: Updates) -> None:
        """Take note of updates."""
        self.guess.note(batch)
        for each, rows in zip(self._hierarchies, self._sampled, strict=True):
            shape = each.shape
            if shape.place.predicate == batch.predicate:
                chosen = _sample(shape, batch.args)
                chosen &= matching(batch.args, shape.place.bound)
                args, counts = batch.args[chosen], batch.multiplicity[chosen]
                first = np.zeros(len(args), np.int32)
                rows.append(TraceRows(batch.predicate, args, first, counts))

    def estimate(self, alone: Backend, updates: int) -> Estimate:
        """What they come to, with a schema that was evaluated alone."""
        facts, left_out = updates, 0
        for each, rows, hierarchy in zip(
            self._hierarchies, self._sampled, self.plan.hierarchies, strict=True
        ):
            if rows:
                classes = _inherited(each, rows, alone)
                stored = places(classes, distinct(alone.facts(hierarchy.wanted)[:, 0])) >= 0
                times = SAMPLED if each.shape.entity else 1
                facts += times * len(classes)
                left_out += times * int((~stored).sum())
        return Estimate(facts, left_out)


def _sample(shape: Shape, args: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which facts are of entities whose facts are read, all of them."""
    if not shape.entity:
        return np.ones(len(args), bool)
    spread = args[:, shape.entity[0]].astype(np.uint32) * _SPREAD
    chosen: NDArray[np.bool_] = (spread >> np.uint32(16)) % np.uint32(SAMPLED) == 0
    return chosen


def _inherited(
    hierarchy: InheritedFacts, rows: Iterable[TraceRows], alone: Backend
) -> NDArray[np.int32]:
    """The classes of the facts that the entities of some facts inherit."""
    stored = TraceRows.of(rows)
    entities = hierarchy.shape.entities([stored.args])
    ladder = hierarchy.ladder(View(alone.trace), distinct(stored.args[:, hierarchy.shape.position]))
    found = Found(entities, consolidated([entities.rows(stored)]), ladder)
    return classes_of(found.inherited())
