"""One hierarchy of a program: what is stored of it, and the edges that its facts are copied along.

Invariant: what is stored is read through a view, so what was there before an epoch is read like
what is there now.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.inheritance.climb import Ladder, classes_of, climbed, facts_of
from streamreasoner.engine.inheritance.edges import NO_EDGES, Steps, edges
from streamreasoner.engine.inheritance.entities import Found, Shape
from streamreasoner.engine.inheritance.held import MANY, copied_in, held_among
from streamreasoner.engine.inheritance.sets import difference, distinct, intersection, union
from streamreasoner.engine.updates import TraceRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from streamreasoner.analysis.hierarchies.hierarchy import Hierarchy
    from streamreasoner.engine.inheritance.climb import Int32s
    from streamreasoner.engine.inheritance.edges import View
    from streamreasoner.plan.program_plan import ProgramPlan

_NO_LADDER = Ladder(*NO_EDGES)


class InheritedFacts:
    """A hierarchy of a program, and what it says of stored facts.

    Attributes:
        edges: What copies are made along.
        shape: The arguments of the facts and their copies.
        stratum: The number of the stratum that the copies belong to.
        hidden: The predicates that keep track of what is stored.

    Args:
        hierarchy: The hierarchy.
        plan: The plan of its program.
        intern: Gives the id of a term.
    """

    def __init__(
        self, hierarchy: Hierarchy, plan: ProgramPlan, intern: Callable[[str], int]
    ) -> None:
        self.edges, self.shape = hierarchy.edges, Shape.of(hierarchy, intern)
        self.stratum = copied_in(hierarchy, plan)
        heads = plan.strata[self.stratum - 1].heads
        self.hidden, self._held = hierarchy.hidden, hierarchy.held
        self._steps = [Steps.of(each, heads, intern) for each in hierarchy.edges]
        self._known: dict[int, Ladder] = {}
        self._joined: dict[int, bool] = {}

    def without_edges(self) -> InheritedFacts:
        """The same facts, which are not copied."""
        made = copy(self)
        made.edges, made._steps = (), []  # noqa: SLF001 - one of this class
        made._known, made._joined = {}, {}  # noqa: SLF001
        return made

    def find(self, view: View, bound: Mapping[int, int]) -> Found | None:
        """What is stored below the facts with these ids at these positions, if there is any."""
        shape = self.shape
        narrowed = shape.place.narrowed(bound)
        if narrowed is None:
            return None
        wanted = narrowed.pop(shape.position, None)
        if wanted is None or any(at in narrowed for at in shape.entity):
            stored = view(shape.place.predicate, narrowed)
        else:
            stored = TraceRows.of(
                view(shape.place.predicate, {**narrowed, shape.position: each})
                for each in self.below(view, [wanted]).tolist()
            )
        ladder = self.ladder(view, distinct(stored.args[:, shape.position]))
        if not len(ladder.below):
            return None
        entities = shape.entities([stored.args])
        return Found(entities, entities.rows(stored), ladder, wanted)

    def changed(self, changes: Mapping[str, TraceRows]) -> Int32s:
        """The classes whose copies may have changed with no change of an entity.

        They are at the lower ends of changed edges, or are held from now on, or no longer.

        Args:
            changes: The differences of a trace, by predicate.
        """
        found = [NO_EDGES[0], *(each.changed(changes) for each in self._steps)]
        held = changes.get(self._held)
        return union(found if held is None else [*found, held.args[:, 0]])

    def joined(self, view: View, classes: Int32s, known: dict[int, bool] | None = None) -> Int32s:
        """Those of some classes that have edges.

        Args:
            view: Reads what is stored.
            classes: The classes.
            known: What was found out before; gets what is found out now.
        """
        if len(classes) > MANY:
            ladder = self._all_edges(view)
            return intersection(classes, union([ladder.below, ladder.above]))
        known = {} if known is None else known
        for each in classes.tolist():
            if each not in known:
                known[each] = self._joins(view, each)
        return np.fromiter((each for each in classes.tolist() if known[each]), np.int32)

    def known_joined(self, view: View, classes: Int32s) -> Int32s:
        """The same where no edge has changed since it was read before."""
        return self.joined(view, classes, self._joined)

    def _joins(self, view: View, each: int) -> bool:
        return any(
            len(edges([steps], view, **end).below)
            for steps in self._steps
            for end in ({"below": each}, {"above": each})
        )

    def below(self, view: View, classes: Iterable[int]) -> Int32s:
        """Some classes and those below them."""
        seen = fresh = distinct(np.fromiter(classes, np.int32))
        while len(fresh):
            if len(seen) > MANY:
                return self._all_below(view, seen)
            read = [edges(self._steps, view, above=each).below for each in fresh.tolist()]
            fresh = difference(union([NO_EDGES[0], *read]), seen)
            seen = union([seen, fresh])
        return seen

    def _all_below(self, view: View, classes: Int32s) -> Int32s:
        """The same, by all edges: what is below is what climbs the edges turned around."""
        up, start = self._all_edges(view), facts_of(np.zeros(len(classes), np.int64), classes)
        found = climbed(start, Ladder.of(up.above, up.below, up.since))
        return union([classes, classes_of(found)])

    def ladder(self, view: View, classes: Int32s, known: dict[int, Ladder] | None = None) -> Ladder:
        """The edges above some classes along which copies are made that are not stored.

        Args:
            view: Reads what is stored.
            classes: The classes.
            known: The edges from classes that were read before; gets those that are read now.
        """
        known = {} if known is None else known
        found: dict[int, Ladder] = {}
        waiting = {*classes.tolist()}
        while waiting and len(found) + len(waiting) <= MANY:
            each = waiting.pop()
            if each not in known:
                known[each] = self._not_stored(view, edges(self._steps, view, below=each))
            found[each] = known[each]
            waiting.update(found[each].above.tolist())
            waiting -= found.keys()
        if waiting:
            return self._not_stored(view, self._all_edges(view))
        return Ladder.joined([_NO_LADDER, *(found[each] for each in sorted(found))])

    def known_ladder(self, view: View, classes: Int32s) -> Ladder:
        """The same where no edge has changed since it was read before."""
        return self.ladder(view, classes, self._known)

    def forget(self) -> None:
        """Read edges anew from now on."""
        self._known.clear()
        self._joined.clear()

    def _all_edges(self, view: View) -> Ladder:
        """All edges."""
        if self not in view.ladders:
            view.ladders[self] = edges(self._steps, view)
        return view.ladders[self]

    def _not_stored(self, view: View, ladder: Ladder) -> Ladder:
        """The edges to classes whose copies are not stored."""
        held = held_among(view, self._held, distinct(ladder.above))
        return ladder.take(~np.isin(ladder.above, held))
