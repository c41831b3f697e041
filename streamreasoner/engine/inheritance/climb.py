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

from streamreasoner.engine.inheritance.sets import difference, distinct, starts, union

if TYPE_CHECKING:
    from collections.abc import Iterable

Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]

MANY = 256
"""Entities, or facts, from which it pays to find out what they have in common."""
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

    @classmethod
    def of(
        cls,
        entity: Int32s | Int64s,
        classes: Int32s,
        iteration: Int32s | Int64s,
        multiplicity: Int64s,
    ) -> Rows:
        """Rows of entities and classes."""
        return cls(facts_of(entity, classes), iteration.astype(np.int64), multiplicity)

    @property
    def entity(self) -> Int64s:
        """The numbers of the entities."""
        return entities_of(self.fact)

    @property
    def classes(self) -> Int32s:
        """The ids of the classes."""
        return classes_of(self.fact)

    @property
    def asserted(self) -> Int64s:
        """The asserted facts."""
        rows = self.take((self.iteration == 0) & (self.multiplicity > 0))
        return rows.fact

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
        order = np.argsort(below)
        return cls(below[order], above[order], since[order])

    @classmethod
    def direct(cls, below: Int32s, above: Int32s) -> Ladder:
        """Edges that are always present."""
        return cls.of(below, above, np.zeros(len(below), np.int64))

    @classmethod
    def joined(cls, parts: Iterable[Ladder]) -> Ladder:
        """Edges of some ladders, of which there is one, in the order of their lower classes."""
        columns = zip(*((each.below, each.above, each.since) for each in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def take(self, chosen: NDArray[np.bool_]) -> Ladder:
        """Some of the edges."""
        return Ladder(self.below[chosen], self.above[chosen], self.since[chosen])

    def steps(self, facts: Int64s) -> tuple[Int64s, Int64s]:
        """The facts above some facts, one for each edge, and the iterations of the edges."""
        classes = classes_of(facts)
        first = np.searchsorted(self.below, classes, "left")
        counts = np.searchsorted(self.below, classes, "right") - first
        edges = _ranges(first, counts)
        above = facts_of(np.repeat(entities_of(facts), counts), self.above[edges])
        return above, self.since[edges]


def facts_of(entity: Int32s | Int64s, classes: Int32s) -> Int64s:
    """The numbers of facts."""
    return (entity.astype(np.int64) << _HALF) | classes.astype(np.int64)


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
    facts = distinct(rows.fact)
    facts = union([facts, climbed(facts, ladder)])
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


def closure(rows: Rows, ladder: Ladder) -> tuple[Int64s, Int64s]:
    """The present facts of some entities, and those that have copies; both distinct, in order.

    Args:
        rows: All rows of the entities.
        ladder: As of `climb`.
    """
    if (rows.multiplicity > 0).all():
        stored = distinct(rows.fact)
        reached = climbed(stored, ladder)
        return union([stored, reached]), reached
    copies = climb(rows, ladder)
    facts, since, _, _ = presence(consolidated([rows, copies]))
    return facts[since >= 0], distinct(copies.fact)


def climbed(facts: Int64s, ladder: Ladder) -> Int64s:
    """The facts above some facts, distinct, in order."""
    classes = distinct(classes_of(facts))
    if len(facts) < MANY or len(facts) < 2 * len(classes):
        return _climbed(facts, ladder)
    reached = _climbed(facts_of(np.arange(len(classes)), classes), ladder)
    return distinct(
        Ladder.direct(classes[entities_of(reached)], classes_of(reached)).steps(facts)[0]
    )


def _climbed(facts: Int64s, ladder: Ladder) -> Int64s:
    """The same, for each entity by itself."""
    fresh, found = facts, np.empty(0, np.int64)
    while len(fresh):
        fresh = difference(distinct(ladder.steps(fresh)[0]), found)
        found = union([found, fresh])
    return found


def consolidated(parts: Iterable[Rows]) -> Rows:
    """The sum of rows, by fact and iteration, without zeros."""
    each = [(rows.fact, rows.iteration, rows.multiplicity) for rows in parts]
    none = [np.empty(0, np.int64)] * 3
    fact, iteration, counts = map(np.concatenate, zip(none, *each, strict=True))
    order = _in_order(fact, iteration)
    fact, iteration, counts = fact[order], iteration[order], counts[order]
    first = starts(fact) | starts(iteration)
    sums = np.add.reduceat(counts, np.flatnonzero(first)) if len(counts) else counts
    kept = sums != 0
    return Rows(fact[first][kept], iteration[first][kept], sums[kept])


def _in_order(fact: Int64s, iteration: Int64s) -> Int64s:
    """The order by fact and iteration; most facts have one row."""
    order = np.argsort(fact)
    first = starts(fact[order])
    several = np.flatnonzero(~first | ~np.append(first[1:], True))
    some = order[several]
    order[several] = some[np.lexsort((iteration[some], fact[some]))]
    return order


def presence(rows: Rows) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """What consolidated rows say of their facts.

    Returns:
        The distinct facts, the iteration since which each is present or -1, its multiplicity at
        iteration 0, and the sum of all its multiplicities.
    """
    first = np.flatnonzero(starts(rows.fact))
    sizes = np.diff(first, append=len(rows.fact))
    running = np.cumsum(rows.multiplicity)
    before = np.repeat((running - rows.multiplicity)[first], sizes)
    is_up = running - before > 0
    since = np.full(len(first), -1, np.int64)
    owner = np.repeat(np.arange(len(first)), sizes)
    ups = np.flatnonzero(is_up)[::-1]
    since[owner[ups]] = rows.iteration[ups]  # the earliest is written last
    asserted = np.zeros(len(first), np.int64)
    at_first = rows.iteration[first] == 0
    asserted[at_first] = rows.multiplicity[first[at_first]]
    total = running[first + sizes - 1] - before[first] if len(first) else asserted
    return rows.fact[first], since, asserted, total


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
