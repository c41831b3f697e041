"""Which classes a large epoch will want, guessed by its schema. Invariant: a guess is only a guess.

An epoch that ends with a wanted class that is not held is evaluated again. What tells which classes
are wanted is a small part of a large epoch: so it is evaluated alone first, in a state of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
    """Takes note of the schema in the updates of an epoch.

    Args:
        plan: The plan of the program.
        intern: Gives the id of a term.
    """

    def __init__(self, plan: ProgramPlan, intern: Callable[[str], int]) -> None:
        self._plan = plan
        self._places = [Place.of(atom, intern) for each in plan.hierarchies for atom in each.schema]
        self._noted: list[Updates] = []
        self._updates = 0

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
        self, evaluated: Callable[[list[Updates]], Backend | None], now: Backend
    ) -> Iterator[Updates]:
        """What to hold besides, if the epoch is large.

        Args:
            evaluated: Evaluates updates in an empty state; gives None if it cannot.
            now: The state.
        """
        noted = sum(len(each.args) for each in self._noted)
        if self._updates < LARGE or not 0 < noted * SHARE <= self._updates:
            return
        alone = evaluated(self._noted)
        if alone is None:
            return
        for each in self._plan.hierarchies:
            yield changed(each, alone.facts(each.wanted), now.facts(each.held), 1)
