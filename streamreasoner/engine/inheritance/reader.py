"""Reads of a state whose hierarchies are encoded. Invariant: they give what all copies would."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.inheritance.changes import with_inherited
from streamreasoner.engine.inheritance.climb import consolidated, presence
from streamreasoner.engine.inheritance.direct import DirectFacts
from streamreasoner.engine.inheritance.edges import View
from streamreasoner.engine.inheritance.inherited import InheritedFacts
from streamreasoner.engine.inheritance.rows import among, summed
from streamreasoner.engine.ports import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from streamreasoner.analysis.hierarchies.hierarchy import Copied
    from streamreasoner.engine.inheritance.entities import Found
    from streamreasoner.engine.ports import Backend, EpochChanges
    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.plan.program_plan import ProgramPlan


class Reader:
    """Reads of a backend, with the facts that are inherited.

    Args:
        backend: The backend.
        plan: The plan of its program.
        intern: Gives the id of a term.
    """

    def __init__(self, backend: Backend, plan: ProgramPlan, intern: Callable[[str], int]) -> None:
        self._backend, self._intern = backend, intern
        self._encoded = plan.hierarchies
        self._direct: dict[Copied, DirectFacts] = {}
        self._hierarchies = [InheritedFacts(each, plan, intern) for each in plan.hierarchies]
        self._strata = _numbers(plan)

    def trace(self, predicate: str, bound: Mapping[int, int]) -> TraceRows:
        """The trace of the facts of a predicate with these ids at these positions."""
        stored = self._view(predicate, bound)
        parts = [each.trace() for _, each in self._found(predicate, bound)]
        return summed([stored, *parts]) if parts else stored

    def facts(self, predicate: str, stored: NDArray[np.int32]) -> NDArray[np.int32]:
        """The present facts of a predicate, given those that are stored."""
        found = self._found(predicate, {})
        parts = [each.entities.args(each.inherited()) for _, each in found]
        return np.concatenate([stored, *parts]) if parts else stored

    def select(
        self, predicate: str, bound: Mapping[int, int], iteration: int, stored: Selection
    ) -> Selection:
        """The facts of a predicate with these ids, as of an iteration, given what is stored."""
        parts = []
        for hierarchy, found in self._found(predicate, bound):
            copies = found.copies()
            own = found.stored.take(np.isin(found.stored.fact, copies.fact))
            facts, since, asserted, total = presence(consolidated([copies, own]))
            args = found.entities.args(facts)
            stored = stored.take(~among(stored.args, args))
            parts.append(
                Selection(
                    args,
                    np.full(len(facts), hierarchy.stratum, np.int32),
                    np.where(since <= iteration, since, -1).astype(np.int32),
                    np.full(len(facts), -1, np.int32),
                    asserted,
                    total,
                )
            )
        if not self._hierarchies:
            return stored
        selected = Selection.of([stored, *parts]) if parts else stored
        return replace(selected, stratum=self._strata[selected.stratum])

    def forget(self) -> None:
        """Read edges anew: an epoch may have changed them."""
        for each in self._hierarchies:
            each.forget()

    def changes(self, stored: EpochChanges, former: Reader) -> EpochChanges:
        """The changes of an epoch, given those of what is stored, and how it was read before."""
        if not self._hierarchies and not former._hierarchies:
            return stored
        return with_inherited(stored, self._hierarchies, former._hierarchies, self._view)

    def direct_changes(
        self,
        stored: EpochChanges,
        former: Reader,
        before: Copied,
        after: Copied,
    ) -> EpochChanges:
        """The same of direct facts, given what the programs copy before the epoch and after it."""
        return self._facts(after).changes(stored, former._facts(before), self._view)

    def direct(self, copied: Copied, predicate: str, args: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which distinct facts of a predicate are direct, given what the program copies."""
        return self._facts(copied).among(self._view, predicate, args)

    def _facts(self, copied: Copied) -> DirectFacts:
        if copied not in self._direct:
            self._direct[copied] = DirectFacts(copied, self._encoded, self._intern)
        return self._direct[copied]

    @property
    def _view(self) -> View:
        return View(self._backend.trace)

    def _found(
        self, predicate: str, bound: Mapping[int, int]
    ) -> Iterator[tuple[InheritedFacts, Found]]:
        """By hierarchy, what is stored below facts of a predicate."""
        view = self._view
        for each in self._hierarchies:
            if each.shape.place.predicate == predicate:
                found = each.find(view, bound)
                if found is not None:
                    yield each, found


def _numbers(plan: ProgramPlan) -> NDArray[np.int32]:
    """The numbers of strata if all facts were stored: of those that do not keep track of it."""
    hidden = {name for each in plan.hierarchies for name in each.hidden}
    shown = (any(head.predicate not in hidden for head in each.heads) for each in plan.strata)
    return np.cumsum([0, *shown], dtype=np.int32)
