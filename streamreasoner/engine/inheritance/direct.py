"""Facts that are there otherwise than as copies: asserted, or derived by a rule that does not copy.

A copying rule derives a fact once for each present fact of its entity with an edge to its class. A
fact is *direct* if the sum of its multiplicities is positive without these derivations. Invariant:
this follows from what is stored. Where hierarchies are encoded that has copies at held classes
only, and the edges to these are the ones to count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.inheritance.changes import Before, by_predicate
from streamreasoner.engine.inheritance.climb import classes_of, consolidated, presence
from streamreasoner.engine.inheritance.edges import NO_EDGES, Steps, edges
from streamreasoner.engine.inheritance.entities import Shape
from streamreasoner.engine.inheritance.held import held_among
from streamreasoner.engine.inheritance.rows import found_in, in_order, matching, sought
from streamreasoner.engine.inheritance.sets import distinct, union
from streamreasoner.engine.ports import EpochChanges
from streamreasoner.engine.updates import Changes, TraceRows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.analysis.hierarchies.hierarchy import Copied, Hierarchy
    from streamreasoner.engine.inheritance.climb import Int32s, Int64s
    from streamreasoner.engine.inheritance.edges import View
    from streamreasoner.engine.inheritance.entities import Entities

FEW = 16
"""Facts that are looked up one by one."""


class DirectFacts:
    """The direct facts of a program.

    Args:
        copied: The hierarchies of the program, encoded or not.
        encoded: Those that are encoded.
        intern: Gives the id of a term.
    """

    def __init__(
        self,
        copied: Copied,
        encoded: Sequence[Hierarchy],
        intern: Callable[[str], int],
    ) -> None:
        held = {rule: each.held for each in encoded for rule in each.rules}
        self._kinds: dict[str, list[_Kind]] = {}
        for each in copied:
            kind = _Kind(each, held, intern)
            self._kinds.setdefault(kind.shape.place.predicate, []).append(kind)

    def among(self, view: View, predicate: str, args: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which facts of a predicate are present, and direct."""
        facts = in_order([args], args.shape[1])
        is_one, _ = self._present(view, predicate, facts)
        return is_one[found_in(args, facts)]

    def changes(self, stored: EpochChanges, former: DirectFacts, now: View) -> EpochChanges:
        """What an epoch changes of direct facts, without the trace.

        Args:
            stored: The changes of what is stored.
            former: The direct facts of the program before the epoch.
            now: What is stored at the end of the epoch.
        """
        changed = by_predicate(stored.trace)
        before = Before(now, changed)
        predicates = self._kinds.keys() | former._kinds.keys()
        derived = [each for each in stored.derived if each.predicate not in predicates]
        closure = [each for each in stored.closure if each.predicate not in predicates]
        for predicate in sorted(predicates):
            facts = self._candidates(predicate, former, changed, now, before)
            there, asserted = self._present(now, predicate, facts)
            was, was_asserted = former._present(before, predicate, facts)
            derived.append(_changes(predicate, facts, there & ~asserted, was & ~was_asserted))
            closure.append(_changes(predicate, facts, there, was))
        return EpochChanges(derived, closure)

    def _candidates(
        self,
        predicate: str,
        former: DirectFacts,
        changed: Mapping[str, TraceRows],
        now: View,
        before: View,
    ) -> NDArray[np.int32]:
        """The facts that may have other multiplicities, or other copies; as of `in_order`."""
        kinds, earlier = self._kinds.get(predicate, []), former._kinds.get(predicate, [])
        found = [changed[predicate].args] if predicate in changed else []
        if [each.steps for each in kinds] == [each.steps for each in earlier]:
            moved = [(each.shape, each.moved(changed, now, before)) for each in kinds]
            found += (shape.at_classes(now, classes) for shape, classes in moved)
        else:
            found += (view(predicate, {}).args for view in (now, before))
        width = (kinds or earlier)[0].shape.arity
        facts = in_order(found, width)
        above = [each.above(now, facts) for each in kinds]
        above += (each.above(before, facts) for each in earlier)
        return in_order([facts, *above], width)

    def _present(
        self, view: View, predicate: str, facts: NDArray[np.int32]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which facts, as of `in_order`, are present and direct, and which are asserted."""
        total, asserted = np.zeros(len(facts), np.int64), np.zeros(len(facts), bool)
        rows = _rows(view, predicate, facts)
        at = found_in(rows.args, facts)
        rows, at = rows.take(at >= 0), at[at >= 0]
        np.add.at(total, at, rows.multiplicity)
        asserted[at[(rows.iteration == 0) & (rows.multiplicity > 0)]] = True
        own = total.copy()
        for kind in self._kinds.get(predicate, []):
            copies = found_in(kind.copies(view, facts), facts)
            own -= np.bincount(copies[copies >= 0], minlength=len(facts))
        return (total > 0) & (own > 0), asserted


class _Kind:
    """A hierarchy, and the edges along which copies are stored.

    Attributes:
        shape: The arguments of its facts.
        steps: By copying rule, the edges, and the predicate of the classes with stored copies if
            these are not all.
    """

    def __init__(
        self, hierarchy: Hierarchy, held: Mapping[int, str], intern: Callable[[str], int]
    ) -> None:
        self.shape = Shape.of(hierarchy, intern)
        rules = zip(hierarchy.rules, hierarchy.edges, strict=True)
        self.steps = [(each, held.get(rule)) for rule, each in rules]
        self._steps = [(Steps.of(each, (), intern), name) for each, name in self.steps]

    def moved(self, changed: Mapping[str, TraceRows], now: View, before: View) -> Int32s:
        """The classes whose facts may have other copies, or other derivations by copying rules.

        Edges from them have changed, or whether their copies are stored has.
        """
        found = [NO_EDGES[0]]
        for steps, held in self._steps:
            if held is not None and held in changed:
                found.append(changed[held].args[:, 0])
            below, above = steps.changed(changed)
            ends = distinct(above)
            stored = union([_stored(view, held, ends) for view in (now, before)])
            found.append(below[np.isin(above, stored)])
        return union(found)

    def above(self, view: View, facts: NDArray[np.int32]) -> NDArray[np.int32]:
        """The copies of some facts, one for each edge."""
        mine = facts[matching(facts, self.shape.place.bound)]
        entities = self.shape.entities([mine])
        return self._up(view, entities, entities.facts(mine))

    def copies(self, view: View, facts: NDArray[np.int32]) -> NDArray[np.int32]:
        """What copying rules derive of the entities of some facts, once for each derivation."""
        entities = self.shape.entities([facts[matching(facts, self.shape.place.bound)]])
        rows = self.shape.stored(view, entities)
        found, _, _, total = presence(consolidated([rows]))
        return self._up(view, entities, found[total > 0])

    def _up(self, view: View, entities: Entities, facts: Int64s) -> NDArray[np.int32]:
        """The facts one edge above some facts, as numbers of entities and classes."""
        classes = distinct(classes_of(facts))
        found = [np.empty((0, self.shape.arity), np.int32)]
        for steps, held in self._steps if len(classes) else ():
            ladder = edges([steps], view, below=sought(classes))
            stored = _stored(view, held, distinct(ladder.above))
            ladder = ladder.take(np.isin(ladder.above, stored))
            found.append(entities.args(ladder.steps(facts)[0]))
        return np.concatenate(found)


def _stored(view: View, held: str | None, classes: Int32s) -> Int32s:
    """Those of some distinct classes whose copies are stored: all, or those that are held."""
    return classes if held is None else held_among(view, held, classes)


def _rows(view: View, predicate: str, facts: NDArray[np.int32]) -> TraceRows:
    """The trace of some facts of a predicate, perhaps with others."""
    if 0 < len(facts) <= FEW:
        return TraceRows.of(view(predicate, dict(enumerate(each))) for each in facts.tolist())
    return view(predicate, {at: sought(column) for at, column in enumerate(facts.T)})


def _changes(
    predicate: str,
    facts: NDArray[np.int32],
    after: NDArray[np.bool_],
    before: NDArray[np.bool_],
) -> Changes:
    """The changes of some facts, by which of them are there after an epoch and before it."""
    chosen = after != before
    signs = np.where(after[chosen], 1, -1).astype(np.int8)
    return Changes(predicate, facts[chosen], signs)
