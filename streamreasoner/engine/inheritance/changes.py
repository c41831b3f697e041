"""What an epoch changes, with the facts that are inherited before and after it.

Only entities are looked at that have changed themselves, or are below an edge that has: for these,
what all copies would be is computed of what was stored and of what is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.blocks import Blocks
from streamreasoner.engine.inheritance.climb import (
    Ladder,
    Rows,
    classes_of,
    closure,
    consolidated,
    entities_of,
    facts_of,
)
from streamreasoner.engine.inheritance.edges import NO_EDGES, View, edges
from streamreasoner.engine.inheritance.entities import Found
from streamreasoner.engine.inheritance.rows import less, matching, negative, sought, summed
from streamreasoner.engine.inheritance.sets import (
    difference,
    distinct,
    places,
    union,
)
from streamreasoner.engine.ports import EpochChanges
from streamreasoner.engine.updates import Changes, TraceRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.engine.inheritance.climb import Int32s, Int64s
    from streamreasoner.engine.inheritance.edges import Steps
    from streamreasoner.engine.inheritance.entities import Entities
    from streamreasoner.engine.inheritance.inherited import InheritedFacts
    from streamreasoner.engine.ports import Bound


class Before(View):
    """What was stored before an epoch: what is stored now, less what it has changed.

    Attributes:
        changes: The differences of the trace, by predicate.

    Args:
        now: What is stored now.
        changes: The same.
    """

    def __init__(self, now: View, changes: Mapping[str, TraceRows]) -> None:
        super().__init__(now)
        self._now = now
        self.changes = changes

    def __call__(self, predicate: str, bound: Bound) -> TraceRows:
        """The trace of the facts of a predicate with these ids at these positions."""
        rows = super().__call__(predicate, bound)
        changed = self.changes.get(predicate)
        if changed is None:
            return rows
        chosen = matching(changed.args, bound)
        return less(rows, changed.take(chosen)) if chosen.any() else rows

    def _edges(self, steps: tuple[Steps, ...]) -> Ladder:
        """All edges: those of now, but between the ends of changed ones those of before."""
        now = self._now.all_edges(steps)
        changed = (each.changed(self.changes) for each in steps)
        below, above = map(np.concatenate, zip(NO_EDGES, *changed, strict=True))
        if 2 * len(below) > len(now.below):
            return super()._edges(steps)
        between = np.isin(now.below, below) & np.isin(now.above, above)
        return Ladder.joined(
            [now.take(~between), edges(steps, self, below=sought(below), above=sought(above))]
        )


def with_inherited(
    stored: EpochChanges,
    hierarchies: Sequence[InheritedFacts],
    former: Sequence[InheritedFacts],
    now: View,
) -> EpochChanges:
    """The changes of an epoch as all copies would have them.

    Args:
        stored: The changes of what is stored.
        hierarchies: The encoded hierarchies.
        former: Those before the epoch; the same ones, unless it changes the program.
        now: What is stored at the end of the epoch.
    """
    blocks = [*stored.trace]
    hidden = {name for each in (*hierarchies, *former) for name in each.hidden}
    shown = tuple(rows for rows in blocks if rows.predicate not in hidden)
    changed = by_predicate(blocks)
    before = Before(now, changed)
    found = []
    for after, earlier in _pairs(hierarchies, former):
        moved = after.changed(changed)
        if len(moved):
            after.forget()
        args = _candidates(after, earlier, now, before, moved)
        if len(args):
            entities = after.shape.entities([args])
            is_same = after is earlier and not len(moved)
            found.append(_Changed.of(after, earlier, entities, now, before, is_same=is_same))
    if not found:
        return replace(stored, trace=shown)
    # Few read all of these, and the trace takes longer than the changes of facts.
    return EpochChanges(
        derived=_merged(stored.derived, found, _Changed.derived),
        closure=_merged(stored.closure, found, _Changed.closure),
        trace=Blocks(lambda: chain(shown, (each.trace() for each in found))),
    )


def by_predicate(trace: Iterable[TraceRows]) -> dict[str, TraceRows]:
    """The rows of a trace, or its differences, of each predicate."""
    name = attrgetter("predicate")
    return {each: TraceRows.of(rows) for each, rows in groupby(sorted(trace, key=name), name)}


@dataclass(frozen=True, slots=True, eq=False)
class _Changed:
    """What an epoch changes of the facts of some entities that have copies, before it or after it.

    Attributes:
        entities: The entities.
        sides: What is stored of them after the epoch, and what was before it.
        facts: The facts of those whose own facts differ in number or have changed; distinct, in
            order.
        present: Which of them are present after it, and before it.
        moved: What the others have gained, and lost.
    """

    entities: Entities
    sides: tuple[Found, Found]
    facts: Int64s
    present: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    moved: tuple[Int64s, Int64s]

    @classmethod
    def of(
        cls,
        hierarchy: InheritedFacts,
        former: InheritedFacts,
        entities: Entities,
        now: View,
        before: Before,
        *,
        is_same: bool,
    ) -> _Changed:
        """That of some entities, whose hierarchy may be the same as before, edge by edge."""
        after = earlier = hierarchy.shape.stored(now, entities)
        own = before.changes.get(hierarchy.shape.place.predicate)
        if own is not None and len((gone := entities.rows(negative(own))).fact):
            earlier = consolidated([after, gone])
        classes = union([after.classes, earlier.classes])
        rows, moved = (after, earlier), (after.fact[:0], after.fact[:0])
        if is_same:
            ladder, above = was, was_above = hierarchy.known_ladders(now, classes)
        else:
            ladder, was = hierarchy.ladder(now, classes), former.ladder(before, classes)
            above, was_above = ladder.closed(classes), was.closed(classes)
            alone = _alone(after, earlier)
            moved = _moved(after.take(alone[after.entity]), above, was_above)
            rows = after.take(~alone[after.entity]), earlier.take(~alone[earlier.entity])
        there, copied = closure(rows[0], ladder, above)
        was_there, was_copied = closure(rows[1], was, was_above)
        sides = Found(entities, after, ladder), Found(entities, earlier, was)
        facts = union([copied, was_copied])
        present = places(facts, there) >= 0, places(facts, was_there) >= 0
        return cls(entities, sides, facts, present, moved)

    @property
    def predicate(self) -> str:
        """The predicate of the facts."""
        return self.entities.shape.place.predicate

    def has(self, args: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which facts of the predicate are among these."""
        return places(self.entities.find(args), self.facts) >= 0

    def closure(self) -> Changes:
        """Changes of all present facts."""
        return self._changes(*self.present)

    def derived(self) -> Changes:
        """Changes of the derived facts."""
        after, before = (
            present & (places(self.facts, side.stored.asserted) < 0)
            for present, side in zip(self.present, self.sides, strict=True)
        )
        return self._changes(after, before)

    def trace(self) -> TraceRows:
        """How the copies change the differences of the trace of what is stored."""
        after, before = (side.trace() for side in self.sides)
        return summed([after, negative(before)]) if len(before.args) else after

    def _changes(self, after: NDArray[np.bool_], before: NDArray[np.bool_]) -> Changes:
        gained, lost = (
            np.concatenate([self.facts[each], moved])
            for each, moved in zip((after & ~before, before & ~after), self.moved, strict=True)
        )
        signs = np.ones(len(gained) + len(lost), np.int8)
        signs[len(gained) :] = -1
        return Changes(self.predicate, self.entities.args(np.concatenate([gained, lost])), signs)


def _alone(after: Rows, before: Rows) -> NDArray[np.bool_]:
    """By entity, whether it has one row, before the epoch as after it, which makes it present."""
    count = max(int(rows.entity.max(initial=-1)) for rows in (after, before)) + 1
    sizes = [np.bincount(rows.entity, minlength=count) for rows in (after, before)]
    single = np.flatnonzero((sizes[0] == 1) & (sizes[1] == 1))
    one, was = (_of_each(rows, single, count) for rows in (after, before))
    same = (one.fact == was.fact) & (one.iteration == was.iteration)
    same &= (one.multiplicity == was.multiplicity) & (one.multiplicity > 0)
    found = np.zeros(count, bool)
    found[single[same]] = True
    return found


def _of_each(rows: Rows, single: Int64s, count: int) -> Rows:
    """The rows of some entities that have one, in their order."""
    place = np.zeros(count, np.int64)
    place[rows.entity] = np.arange(len(rows.entity))
    at = place[single]
    return Rows(rows.fact[at], rows.iteration[at], rows.multiplicity[at])


def _moved(rows: Rows, closed: Ladder, former: Ladder) -> tuple[Int64s, Int64s]:
    """What entities with a row each gain and lose by other edges, found out once for a class."""
    others = (each.take(each.below != each.above) for each in (closed, former))
    there, was_there = (np.sort(facts_of(each.below, each.above)) for each in others)
    gained, lost = (
        Ladder.direct(entities_of(each).astype(np.int32), classes_of(each))
        for each in (difference(there, was_there), difference(was_there, there))
    )
    return gained.steps(rows.fact)[0], lost.steps(rows.fact)[0]


def _pairs(
    hierarchies: Sequence[InheritedFacts], former: Sequence[InheritedFacts]
) -> Iterator[tuple[InheritedFacts, InheritedFacts]]:
    """The hierarchies with what each was; one that is new, or gone, has had or has no edges."""
    if hierarchies is former:
        yield from zip(hierarchies, former, strict=True)
        return
    earlier = {each.shape.key: each for each in former}
    for each in hierarchies:
        key = each.shape.key
        yield each, earlier.pop(key) if key in earlier else each.without_edges()
    for each in earlier.values():
        yield each.without_edges(), each


def _candidates(
    hierarchy: InheritedFacts,
    former: InheritedFacts,
    now: View,
    before: Before,
    moved: Int32s,
) -> NDArray[np.int32]:
    """Facts of all entities whose facts may have changed otherwise than what is stored of them."""
    shape = hierarchy.shape
    place, position = shape.place, shape.position
    if hierarchy.edges != former.edges:
        return np.concatenate([view(place.predicate, place.bound).args for view in (now, before)])
    own = before.changes.get(place.predicate)
    mine = np.empty((0, shape.arity), np.int32)
    if own is not None:
        mine = own.args[matching(own.args, place.bound)]
    at = mine[:, position]
    if not len(moved):
        return mine[places(at, hierarchy.known_joined(now, distinct(at))) >= 0]
    # What was below them and is not any more is below the first changed edge on its way up.
    moved = hierarchy.below(now, moved)
    joined = union([hierarchy.joined(now, distinct(at)), moved])
    return np.concatenate([shape.at_classes(now, moved), mine[places(at, joined) >= 0]])


def _merged(
    blocks: Iterable[Changes], found: Sequence[_Changed], own: Callable[[_Changed], Changes]
) -> Blocks[Changes]:
    """Changes of what is stored, and of facts that have copies; made once, when they are read."""
    return Blocks(cache(lambda: [*_others(blocks, found), *map(own, found)]))


def _others(blocks: Iterable[Changes], found: Sequence[_Changed]) -> Iterator[Changes]:
    """What is not of facts that have copies."""
    for block in blocks:
        kept = np.ones(len(block.args), bool)
        for each in found:
            if each.predicate == block.predicate:
                kept &= ~each.has(block.args)
        yield block if kept.all() else block.take(kept)
