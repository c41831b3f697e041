"""Entities of a hierarchy and their facts, stored and inherited."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.inheritance.climb import (
    Rows,
    classes_of,
    climb,
    closure,
    consolidated,
    entities_of,
    facts_of,
    presence,
)
from streamreasoner.engine.inheritance.edges import Place
from streamreasoner.engine.inheritance.rows import distinct, keys_of, matching, sought
from streamreasoner.engine.inheritance.sets import difference, intersection, places
from streamreasoner.engine.updates import TraceRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from streamreasoner.analysis.hierarchies.hierarchy import Hierarchy
    from streamreasoner.engine.inheritance.climb import Int32s, Int64s, Ladder
    from streamreasoner.engine.inheritance.edges import View
    from streamreasoner.engine.inheritance.sets import Keys


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What the arguments of the facts of a hierarchy are.

    Attributes:
        place: Where the facts are.
        arity: Their number of arguments.
        position: The position of the class.
        entity: The positions of the other arguments that are not constants.
    """

    place: Place
    arity: int
    position: int
    entity: list[int]

    @classmethod
    def of(cls, hierarchy: Hierarchy, intern: Callable[[str], int]) -> Shape:
        """That of a hierarchy."""
        place, arity = Place.of(hierarchy.atom, intern), hierarchy.atom.arity
        position = hierarchy.position
        entity = [at for at in range(arity) if at != position and at not in place.bound]
        return cls(place, arity, position, entity)

    @property
    def key(self) -> tuple[object, ...]:
        """What tells its hierarchy from others of a program."""
        return self.place.predicate, self.position, *self.place.bound.items()

    def stored(self, view: View, entities: Entities) -> Rows:
        """What is stored of entities."""
        columns = zip(self.entity, entities.ids.T, strict=True)
        ids = {at: sought(column) for at, column in columns}
        return entities.rows(view(self.place.predicate, {**ids, **self.place.bound}))

    def at_classes(self, view: View, classes: Int32s) -> NDArray[np.int32]:
        """The arguments of the stored facts at some classes, int32 of shape (n, arity)."""
        if not len(classes):
            return np.empty((0, self.arity), np.int32)
        bound = {**self.place.bound, self.position: sought(classes)}
        return view(self.place.predicate, bound).args

    def entities(self, parts: Iterable[NDArray[np.int32]]) -> Entities:
        """The entities of facts."""
        width = len(self.entity)
        return Entities(self, distinct((args[:, self.entity] for args in parts), width))


@dataclass(frozen=True, eq=False)
class Entities:
    """Entities, whose facts are numbered.

    Attributes:
        shape: The arguments of the facts.
        ids: The ids of the entities, int32 of shape (n, k), distinct, in the order of their keys.
    """

    shape: Shape
    ids: NDArray[np.int32]

    def find(self, args: NDArray[np.int32]) -> Int64s:
        """The numbers of facts of the predicate, below 0 for those that are not theirs."""
        found = self.facts(args)
        found[~matching(args, self.shape.place.bound)] = -1
        return found

    def facts(self, args: NDArray[np.int32]) -> Int64s:
        """The numbers of facts at the place of the hierarchy, below 0 for other entities."""
        entity = places(keys_of(args[:, self._columns]), self._keys)
        return facts_of(entity, args[:, self.shape.position])

    def rows(self, found: TraceRows) -> Rows:
        """Rows of their facts, among rows of the predicate."""
        rows = Rows(self.find(found.args), found.iteration.astype(np.int64), found.multiplicity)
        mine = rows.fact >= 0
        return rows if mine.all() else rows.take(mine)

    def args(self, facts: Int64s) -> NDArray[np.int32]:
        """The ids of the arguments of facts, int32 of shape (n, arity)."""
        args = np.empty((len(facts), self.shape.arity), np.int32)
        for at, each in self.shape.place.bound.items():
            args[:, at] = each
        args[:, self._columns] = self.ids[entities_of(facts)]
        args[:, self.shape.position] = classes_of(facts)
        return args

    @cached_property
    def _keys(self) -> Keys:
        return keys_of(self.ids)

    @property
    def _columns(self) -> list[int] | slice:
        """The columns of their ids; one alone is read faster as a part."""
        columns = self.shape.entity
        return columns if len(columns) != 1 else slice(columns[0], columns[0] + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What is stored of entities, and the edges above it.

    Attributes:
        entities: The entities.
        stored: All that is stored of them.
        ladder: The edges.
        wanted: The class that is asked for; None: all.
    """

    entities: Entities
    stored: Rows
    ladder: Ladder
    wanted: int | None = None

    def copies(self) -> Rows:
        """The copies, which are not stored."""
        copies = climb(self.stored, self.ladder)
        return copies if self.wanted is None else copies.take(copies.classes == self.wanted)

    def closure(self) -> tuple[Int64s, Int64s]:
        """The present facts, and those that have copies; both distinct, in order."""
        closed = self.ladder.closed(self.stored.class_set)
        return closure(self.stored, self.ladder, closed)

    def inherited(self) -> Int64s:
        """The facts that are present, and would not be by what is stored of them."""
        present, copied = self.closure()
        facts, since, _, _ = presence(consolidated([self.stored]))
        found = difference(intersection(copied, present), facts[since >= 0])
        return found if self.wanted is None else found[classes_of(found) == self.wanted]

    def trace(self) -> TraceRows:
        """The copies as rows of their predicate."""
        rows = self.copies()
        predicate, args = self.entities.shape.place.predicate, self.entities.args(rows.fact)
        return TraceRows(predicate, args, rows.iteration.astype(np.int32), rows.multiplicity)
