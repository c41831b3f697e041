"""One hierarchy of a program: what is stored of it, and the edges that its facts are copied along.

Invariant: what is stored is read through a view, so what was there before an epoch is read like
what is there now.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.inheritance.climb import Ladder
from streamreasoner.engine.inheritance.edges import NO_EDGES, NO_LADDER, Steps, edges
from streamreasoner.engine.inheritance.entities import Found, Shape
from streamreasoner.engine.inheritance.held import copied_in, held_among
from streamreasoner.engine.inheritance.rows import sought
from streamreasoner.engine.inheritance.sets import difference, distinct, intersection, union

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamreasoner.analysis.hierarchies.hierarchy import Hierarchy
    from streamreasoner.engine.inheritance.climb import Int32s
    from streamreasoner.engine.inheritance.edges import View
    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.plan.program_plan import ProgramPlan

MANY = 512
"""Classes from which all edges are read at once."""
KEPT = 1 << 14
"""Classes, or edges above a set of classes, that are kept in memory."""


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
        self._steps = tuple(Steps.of(each, heads, intern) for each in hierarchy.edges)
        self._known: dict[int, Ladder] = {}
        self._joined: dict[int, bool] = {}
        self._above: dict[bytes, tuple[Ladder, Ladder]] = {}

    def without_edges(self) -> InheritedFacts:
        """The same facts, which are not copied."""
        made = copy(self)
        made.edges, made._steps = (), ()  # noqa: SLF001 - one of this class
        made._known, made._joined, made._above = {}, {}, {}  # noqa: SLF001
        return made

    def find(self, view: View, bound: Mapping[int, int]) -> Found | None:
        """What is stored below the facts with these ids at these positions, if there is any."""
        shape = self.shape
        narrowed = shape.place.narrowed(bound)
        if narrowed is None:
            return None
        wanted = narrowed.pop(shape.position, None)
        if wanted is not None and not any(at in narrowed for at in shape.entity):
            lower = self.below(view, np.array([wanted], np.int32))
            stored = view(shape.place.predicate, {**narrowed, shape.position: sought(lower)})
        else:
            stored = view(shape.place.predicate, narrowed)
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
        found = [each.changed(changes)[0] for each in self._steps]
        if self._held in changes:
            found.append(changes[self._held].args[:, 0])
        return distinct(np.concatenate([NO_EDGES[0], *found]))

    def joined(self, view: View, classes: Int32s) -> Int32s:
        """Those of some distinct classes that have edges."""
        if not len(classes):
            return classes
        if len(classes) > MANY:
            ladder = view.all_edges(self._steps)
            ends = ladder.below, ladder.above
        else:
            wanted = sought(classes)
            lower, upper = (edges(self._steps, view, **{end: wanted}) for end in ("below", "above"))
            ends = lower.below, upper.above
        return intersection(classes, union(ends))

    def known_joined(self, view: View, classes: Int32s) -> Int32s:
        """The same where no edge has changed since it was read before."""
        if len(classes) > MANY:
            return self.joined(view, classes)
        if len(self._known) > KEPT:
            self.forget()
        ids = classes.tolist()
        fresh = [each for each in ids if each not in self._joined]
        if fresh:
            self._learn(view, {*fresh}, self._known)
            self._joined |= {each: len(self._known[each].above) > 0 for each in fresh}
            others = np.array([each for each in fresh if not self._joined[each]], np.int32)
            self._joined |= dict.fromkeys(self.joined(view, others).tolist(), True)
        return classes[[self._joined[each] for each in ids]]

    def below(self, view: View, classes: Int32s) -> Int32s:
        """Some distinct classes, in order, and those below them."""
        seen = fresh = classes
        while len(fresh):
            if len(seen) > MANY:
                up = view.all_edges(self._steps)
                down = Ladder.of(up.above, up.below, up.since)
                return union([seen, down.top(seen)])
            lower = distinct(edges(self._steps, view, above=sought(fresh)).below)
            fresh = difference(lower, seen)
            seen = union([seen, fresh])
        return seen

    def ladder(self, view: View, classes: Int32s, known: dict[int, Ladder] | None = None) -> Ladder:
        """The edges above some classes along which copies are made that are not stored.

        Args:
            view: Reads what is stored.
            classes: The classes.
            known: The edges from classes that were read before; gets those that are read now.
        """
        known = {} if known is None else known
        seen = fresh = {*classes.tolist()}
        while fresh:
            if len(seen) > MANY:
                return self._not_stored(view, view.all_edges(self._steps))
            self._learn(view, fresh, known)
            fresh = {above for each in fresh for above in known[each].above.tolist()} - seen
            seen = seen | fresh
        return Ladder.joined([NO_LADDER, *(known[each] for each in sorted(seen))])

    def known_ladders(self, view: View, classes: Int32s) -> tuple[Ladder, Ladder]:
        """The same where no edge has changed since it was read before, also closed."""
        key = classes.tobytes()
        found = self._above.get(key)
        if found is None:
            ladder = self.ladder(view, classes, self._known)
            found = ladder, ladder.closed(classes)
            if len(self._above) == MANY:
                self._above.clear()
            if sum(len(each.below) for each in found) <= KEPT:
                self._above[key] = found
        return found

    def forget(self) -> None:
        """Read edges anew from now on."""
        self._known.clear()
        self._joined.clear()
        self._above.clear()

    def _learn(self, view: View, classes: set[int], known: dict[int, Ladder]) -> None:
        """Read the edges from those of some classes that are not known."""
        unknown = classes - known.keys()
        if not unknown:
            return
        ids = np.array(sorted(unknown), np.int32)
        ladder = self._not_stored(view, edges(self._steps, view, below=sought(ids)))
        first, last = (ladder.below.searchsorted(ids, side).tolist() for side in ("left", "right"))
        for each, start, end in zip(ids.tolist(), first, last, strict=True):
            known[each] = ladder.take(slice(start, end))

    def _not_stored(self, view: View, ladder: Ladder) -> Ladder:
        """The edges to classes whose copies are not stored."""
        held = held_among(view, self._held, distinct(ladder.above))
        return ladder.take(~np.isin(ladder.above, held)) if len(held) else ladder
