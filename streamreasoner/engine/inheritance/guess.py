"""Which classes a large epoch will want, guessed by its schema. Invariant: a guess is only a guess.

An epoch that ends with a wanted class that is not held is evaluated again. What tells which classes
are wanted is a small part of a large epoch: so it is evaluated alone first, in a state of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.fixpoint import fixpoints
from streamreasoner.engine.inheritance.edges import Place
from streamreasoner.engine.inheritance.held import changed
from streamreasoner.engine.inheritance.rows import matching
from streamreasoner.engine.updates import Updates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    """

    def __init__(self, plan: ProgramPlan, intern: Callable[[str], int]) -> None:
        self.plan = plan
        atoms = dict.fromkeys(atom for each in plan.hierarchies for atom in each.schema)
        self._places = [Place.of(atom, intern) for atom in atoms]
        self._noted: list[Updates] = []
        self._updates = 0

    def begin(self) -> None:
        """Begin an epoch."""
        self._noted, self._updates = [], 0

    def note(self, batch: Updates) -> None:
        """Take note of updates of an epoch."""
        self._updates += len(batch.args)
        chosen = np.zeros(len(batch.args), bool)
        for place in self._places:
            if place.predicate == batch.predicate:
                chosen |= matching(batch.args, place.bound)
        if chosen.any():
            self._noted.append(
                Updates(batch.predicate, batch.args[chosen], batch.multiplicity[chosen])
            )

    def held(
        self, new_state: Callable[[ProgramPlan], Backend], recursion_limit: int, now: Backend
    ) -> Iterator[Updates]:
        """What to hold besides, if the epoch is large.

        Args:
            new_state: Makes an empty state.
            recursion_limit: Iterations after which a stratum counts as not converging.
            now: The state.

        Raises:
            EngineError: The schema cannot be evaluated.
        """
        noted = sum(len(each.args) for each in self._noted)
        if self._updates < LARGE or not 0 < noted * SHARE <= self._updates:
            return
        if any(each.guarded for each in self.plan.strata):
            return
        alone = new_state(self.plan)
        for batch in self._noted:
            alone.add(batch)
        fixpoints(alone, self.plan, recursion_limit, lambda _: None)
        for each in self.plan.hierarchies:
            yield changed(each, alone.facts(each.wanted), now.facts(each.held), 1)
