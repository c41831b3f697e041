"""Which classes a large epoch will want, guessed by its schema. Invariant: a guess is only a guess.

An epoch that ends with a wanted class that is not held is evaluated again. What tells which classes
are wanted is a small part of a large epoch: so it is evaluated alone first, in a state of its own.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.inheritance.edges import Place
from streamreasoner.engine.inheritance.held import changed
from streamreasoner.engine.inheritance.rows import matching
from streamreasoner.engine.updates import Updates, added_by
from streamreasoner.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from streamreasoner.engine.inheritance.edges import View
    from streamreasoner.engine.ports import Backend
    from streamreasoner.plan.program_plan import ProgramPlan

LARGE = 1 << 14
"""Updates from which an epoch is large."""
SHARE = 8
"""Its schema is evaluated alone if it has at least this many times as many updates."""


class Guess:
    """Takes note of the schema in the updates of epochs, one after the other.

    Attributes:
        plan: The plan of their program.

    Args:
        plan: The same.
        intern: Gives the id of a term.
        steps: Whether to take note of all edges, not only of those that tell what is wanted.
    """

    def __init__(
        self, plan: ProgramPlan, intern: Callable[[str], int], *, steps: bool = False
    ) -> None:
        self.plan = plan
        noted = ((*each.schema, *(each.steps if steps else ())) for each in plan.hierarchies)
        atoms = dict.fromkeys(chain.from_iterable(noted))
        self._places = [Place.of(atom, intern) for atom in atoms]
        self._before: list[Updates] = []
        self._noted: list[Updates] = []
        self._waiting: list[Updates] = []
        self._updates = 0

    def begin(self) -> None:
        """Begin an epoch."""
        self._noted, self._waiting, self._updates = [], [], 0

    def remember(self, view: View, known: Collection[str]) -> None:
        """Take the schema of a state, which was not noted, for that of epochs before.

        Args:
            view: Reads the state.
            known: The predicates that it has.
        """
        places = (place for place in self._places if place.predicate in known)
        self._before = [*added_by(view(place.predicate, place.bound) for place in places)]

    def note(self, batch: Updates) -> None:
        """Take note of updates of an epoch."""
        self._updates += len(batch.args)
        self._waiting.append(batch)
        if self._updates >= LARGE:
            for each in self._waiting:
                self._choose(each)
            self._waiting.clear()

    def _choose(self, batch: Updates) -> None:
        """Keep the schema of a batch."""
        chosen = np.zeros(len(batch.args), bool)
        for place in self._places:
            if place.predicate == batch.predicate:
                chosen |= matching(batch.args, place.bound)
        if chosen.any():
            self._noted.append(
                Updates(batch.predicate, batch.args[chosen], batch.multiplicity[chosen])
            )

    def alone(
        self,
        new_state: Callable[[ProgramPlan], Backend],
        evaluate: Callable[[ProgramPlan, Backend], int],
    ) -> Backend | None:
        """The schema, evaluated alone; None if it cannot be, or an epoch is not large.

        Args:
            new_state: Makes an empty state.
            evaluate: Brings a state with input of a program up to date.
        """
        noted = sum(len(each.args) for each in self._noted)
        if self._updates < LARGE or not noted * SHARE <= self._updates:
            return None
        schema = [*self._before, *self._noted]
        if not schema:
            return None
        alone = new_state(self.plan)
        for batch in schema:
            alone.add(batch)
        try:
            evaluate(self.plan, alone)
        except EngineError:  # without the rest of the epoch, which has errors of its own
            return None
        return alone

    def held(self, alone: Backend, now: Backend | None = None) -> list[Updates]:
        """What to hold besides.

        Args:
            alone: The schema.
            now: The state; None: it holds nothing.
        """
        none = np.empty((0, 1), np.int32)
        return [
            changed(
                each, alone.facts(each.wanted), none if now is None else now.facts(each.held), 1
            )
            for each in self.plan.hierarchies
        ]
