"""The copies of facts along a hierarchy, with their multiplicities by iteration.

A copy is made at the iteration after that at which both the fact and the edge are present, as a
rule makes it. So the facts of an entity, its stored ones at first, climb iteration by iteration;
entities do not meet each other. Those with one row of the same class and iteration climb alike, so
this is found out once for all of them. Facts are numbered by entity and class, in one int64.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamreasoner.engine.inheritance.kernels import climbing
from streamreasoner.engine.inheritance.sets import distinct, search, starts, union

if TYPE_CHECKING:
    from collections.abc import Iterable

Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]

MANY = 256
"""Entities from which it pays to find out what they have in common."""
_HALF = 32
_LOW = (1 << _HALF) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Multiplicities of facts of a hierarchy by iteration; columns of shape (n,).

    Attributes:
        fact: Number of the entity << 32 | id of the class, int64.
        iteration: int64.
        multiplicity: int64.
    """

    fact: Int64s
    iteration: Int64s
    multiplicity: Int64s

    @property
    def entity(self) -> Int64s:
        """The numbers of the entities."""
        return entities_of(self.fact)

    @property
    def classes(self) -> Int32s:
        """The ids of the classes."""
        return classes_of(self.fact)

    @property
    def class_set(self) -> Int32s:
        """The distinct classes, in order."""
        return distinct(self.classes)

    @property
    def asserted(self) -> Int64s:
        """The asserted facts, distinct, in order."""
        return distinct(self.fact[(self.iteration == 0) & (self.multiplicity > 0)])

    def take(self, rows: NDArray[np.bool_] | Int64s) -> Rows:
        """Some of the rows."""
        return Rows(self.fact[rows], self.iteration[rows], self.multiplicity[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """The present edges of a hierarchy, in the order of their lower class; columns of shape (n,).

    Attributes:
        below: Ids of the lower classes, int32.
        above: Ids of the higher classes, int32.
        since: The iterations of the copies' stratum since which they are present, int64.
    """

    below: Int32s
    above: Int32s
    since: Int64s

    @classmethod
    def of(cls, below: Int32s, above: Int32s, since: Int64s) -> Ladder:
        """Edges in any order."""
        order = np.argsort(below, kind="stable")  # in one pass where they are in order
        return cls(below[order], above[order], since[order])

    @classmethod
    def direct(cls, below: Int32s, above: Int32s) -> Ladder:
        """Edges that are always present."""
        return cls.of(below, above, np.zeros(len(below), np.int64))

    @classmethod
    def joined(cls, parts: Iterable[Ladder]) -> Ladder:
        """Edges of some ladders, of which there is one."""
        columns = zip(*((each.below, each.above, each.since) for each in parts), strict=True)
        return cls.of(*map(np.concatenate, columns))

    def take(self, chosen: slice | NDArray[np.bool_]) -> Ladder:
        """Some of the edges."""
        return Ladder(self.below[chosen], self.above[chosen], self.since[chosen])

    def closed(self, classes: Int32s) -> Ladder:
        """An edge from each of some distinct classes, which are in order, to each above it."""
        above, walks = self._reach(classes, np.arange(len(classes)))
        return Ladder(classes[walks], above, np.zeros(len(above), np.int64))

    def top(self, classes: Int32s) -> Int32s:
        """The classes above some classes."""
        return self._reach(classes, np.zeros(len(classes), np.int64))[0]

    def _reach(self, classes: Int32s, walks: Int64s) -> tuple[Int32s, Int64s]:
        """What is above classes, found out in some walks; and by which walk, ascending."""
        known = union([self.below, self.above, classes])
        first = np.append(self.below.searchsorted(known), len(self.below))
        above, start = search(self.above, known), search(classes, known)
        stack = np.empty(len(known) + 1, np.int64)
        room = len(self.above)
        while True:
            reached, by = np.empty((2, room), np.int64)
            visited = np.full(len(known), -1)
            count = climbing.reach(first, above, start, walks, visited, stack, reached, by)
            if count <= room:
                return known[reached[:count]], by[:count]
            room = count

    def steps(self, facts: Int64s) -> tuple[Int64s, Int64s]:
        """The facts above some facts, one for each edge, and the iterations of the edges."""
        room = 0
        while True:
            above, since = np.empty((2, room), np.int64)
            count = climbing.step(facts, self.below, self.above, self.since, above, since)
            if count == room:
                return above, since
            room = count


def facts_of(entity: Int32s | Int64s, classes: Int32s) -> Int64s:
    """The numbers of facts."""
    return (entity.astype(np.int64) << _HALF) | classes


def entities_of(facts: Int64s) -> Int64s:
    """The entities of facts by their numbers."""
    return facts >> _HALF


def classes_of(facts: Int64s) -> Int32s:
    """The classes of facts by their numbers."""
    return (facts & _LOW).astype(np.int32)


def climb(rows: Rows, ladder: Ladder) -> Rows:
    """The copies of facts with these rows, and of their copies, and so on.

    Args:
        rows: All rows of some entities, consolidated.
        ladder: All edges above their classes that copies are made along.

    Returns:
        Their rows, consolidated, in no particular order.
    """
    alone = _alone(rows)
    kinds = (rows.iteration[alone] << _HALF) | rows.classes[alone]
    if len(kinds) < MANY:
        return _climb(rows, ladder)
    known = distinct(kinds)
    numbers = np.arange(len(known))
    one = Rows(facts_of(numbers, classes_of(known)), known >> _HALF, np.ones_like(known))
    copies = _climb(one, ladder)
    first = np.searchsorted(copies.entity, numbers)
    counts = np.diff(first, append=len(copies.fact))
    kind = np.searchsorted(known, kinds)
    chosen = copies.take(_ranges(first[kind], counts[kind]))
    entity = np.repeat(rows.entity[alone], counts[kind])
    others = _climb(rows.take(~alone), ladder)
    return Rows(
        np.concatenate([facts_of(entity, chosen.classes), others.fact]),
        np.concatenate([chosen.iteration, others.iteration]),
        np.concatenate([chosen.multiplicity, others.multiplicity]),
    )


def _alone(rows: Rows) -> NDArray[np.bool_]:
    """Which rows are the only one of their entity, and make it present."""
    entity = rows.entity
    counts = np.bincount(entity) if len(entity) else entity
    found: NDArray[np.bool_] = (counts[entity] == 1) & (rows.multiplicity > 0)
    return found


def _climb(rows: Rows, ladder: Ladder) -> Rows:
    """The same, for each entity by itself; in the order of the facts."""
    closed = ladder.closed(rows.class_set)
    facts = union([rows.fact, closed.steps(rows.fact)[0]])
    sums = np.zeros(len(facts), np.int64)
    is_present = np.zeros(len(facts), bool)
    waiting: defaultdict[int, list[tuple[Int64s, Int64s]]] = defaultdict(list)
    _wait(waiting, np.searchsorted(facts, rows.fact), rows.iteration, rows.multiplicity)
    made = [np.empty(0, np.int64)]
    while waiting:
        now = min(waiting)
        touched, added = _joined(waiting.pop(now))
        np.add.at(sums, touched, added)
        touched = distinct(touched)
        risen = touched[(sums[touched] > 0) & ~is_present[touched]]
        is_present[risen] = True
        above, since = ladder.steps(facts[risen])
        copies = np.searchsorted(facts, above)
        when = np.maximum(since, now) + 1
        _wait(waiting, copies, when, np.ones(len(copies), np.int64))
        made.append((copies << _HALF) | when)
    rises = np.sort(np.concatenate(made))
    first = np.flatnonzero(starts(rises))
    counts = np.diff(first, append=len(rises))
    return Rows(facts[rises[first] >> _HALF], rises[first] & _LOW, counts)


def closure(rows: Rows, ladder: Ladder, closed: Ladder) -> tuple[Int64s, Int64s]:
    """The present facts of some entities, and those that have copies; both distinct, in order.

    Args:
        rows: All rows of the entities.
        ladder: As of `climb`.
        closed: The same for all their classes, as of `Ladder.closed`.
    """
    if (rows.multiplicity > 0).all():
        reached = distinct(closed.steps(rows.fact)[0])
        return union([rows.fact, reached]), reached
    copies = climb(rows, ladder)
    facts, since, _, _ = presence(consolidated([rows, copies]))
    return facts[since >= 0], distinct(copies.fact)


def consolidated(parts: Iterable[Rows]) -> Rows:
    """The sum of rows, by fact and iteration, without zeros."""
    each = [(rows.fact, rows.iteration, rows.multiplicity) for rows in parts]
    none = [np.empty(0, np.int64)] * 3
    fact, iteration, counts = map(np.concatenate, zip(none, *each, strict=True))
    order = np.argsort(fact)
    found = np.empty((3, len(order)), np.int64)
    kept = climbing.consolidate(order, fact, iteration, counts, *found)
    return Rows(*found[:, :kept])


def presence(rows: Rows) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """What consolidated rows say of their facts.

    Returns:
        The distinct facts, the iteration since which each is present or -1, its multiplicity at
        iteration 0, and the sum of all its multiplicities.
    """
    found = np.empty((4, len(rows.fact)), np.int64)
    count = climbing.presence(rows.fact, rows.iteration, rows.multiplicity, *found)
    return tuple(found[:, :count])


def _wait(
    waiting: defaultdict[int, list[tuple[Int64s, Int64s]]],
    facts: Int64s,
    iteration: Int64s,
    counts: Int64s,
) -> None:
    for when in distinct(iteration):
        chosen = iteration == when
        waiting[int(when)].append((facts[chosen], counts[chosen]))


def _joined(pairs: list[tuple[Int64s, Int64s]]) -> tuple[Int64s, Int64s]:
    empty = np.empty(0, np.int64)
    return (
        np.concatenate([empty, *(one for one, _ in pairs)]),
        np.concatenate([empty, *(two for _, two in pairs)]),
    )


def _ranges(first: Int64s, counts: Int64s) -> Int64s:
    """The integers from each first one on, as many as counted."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + counts, counts)
