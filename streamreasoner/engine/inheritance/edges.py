"""Where the facts and the edges of a hierarchy are. Invariant: a view reads what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.inheritance.climb import (
    Ladder,
    Rows,
    classes_of,
    consolidated,
    entities_of,
    facts_of,
    presence,
)
from streamreasoner.engine.inheritance.rows import matching
from streamreasoner.lang.ast import Constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from streamreasoner.analysis.hierarchies.copying import Edges
    from streamreasoner.engine.inheritance.climb import Int32s
    from streamreasoner.engine.ports import Bound
    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.lang.ast import Atom
    from streamreasoner.plan.operands import Pattern


class View:
    """What is stored at one time.

    Args:
        read: Reads it: `Backend.trace`, or like it.
    """

    def __init__(self, read: Callable[[str, Bound], TraceRows]) -> None:
        self._read = read
        self._ladders: dict[tuple[Steps, ...], Ladder] = {}

    def __call__(self, predicate: str, bound: Bound) -> TraceRows:
        """The trace of the facts of a predicate with these ids at these positions."""
        return self._read(predicate, bound)

    def all_edges(self, steps: tuple[Steps, ...]) -> Ladder:
        """All present edges that some rules copy along, which are read once."""
        if steps not in self._ladders:
            self._ladders[steps] = self._edges(steps)
        return self._ladders[steps]

    def _edges(self, steps: tuple[Steps, ...]) -> Ladder:
        return edges(steps, self)


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where facts are.

    Attributes:
        predicate: Their predicate.
        bound: The ids of the constants that they have, by position.
    """

    predicate: str
    bound: dict[int, int]

    @classmethod
    def of(cls, atom: Atom, intern: Callable[[str], int]) -> Place:
        """That of the facts that match an atom of constants and distinct variables."""
        found = enumerate(atom.arguments)
        constants = {at: intern(each.term) for at, each in found if isinstance(each, Constant)}
        return cls(atom.reads, constants)

    def narrowed(self, bound: Mapping[int, int]) -> dict[int, int] | None:
        """The ids of those that have others too; None if there can be none."""
        clashes = any(self.bound.get(at, each) != each for at, each in bound.items())
        return None if clashes else {**self.bound, **bound}


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The edges that a rule copies along.

    Attributes:
        place: Where they are.
        below: The position of the lower class.
        above: The position of the higher one.
        derived: The constants of those that the stratum of the copies derives, by head.
    """

    place: Place
    below: int
    above: int
    derived: tuple[dict[int, int], ...]

    @classmethod
    def of(cls, edges: Edges, heads: Sequence[Pattern], intern: Callable[[str], int]) -> Steps:
        """Those of a rule whose stratum has these heads."""
        own = (head for head in heads if head.predicate == edges.atom.reads)
        derived = tuple({at: intern(term) for at, term in head.constants} for head in own)
        return cls(Place.of(edges.atom, intern), edges.below, edges.above, derived)

    def read(self, view: View, bound: Bound) -> Ladder:
        """The present edges, since iterations of the stratum."""
        rows = view(self.place.predicate, {**bound, **self.place.bound})
        iteration = np.zeros(len(rows.args), np.int64)  # that of edges of lower strata
        for constants in self.derived:
            late = matching(rows.args, constants)
            iteration[late] = rows.iteration[late]
        ends = facts_of(rows.args[:, self.below], rows.args[:, self.above])
        ends, since, _, _ = presence(consolidated([Rows(ends, iteration, rows.multiplicity)]))
        found = Ladder(entities_of(ends).astype(np.int32), classes_of(ends), since)
        is_there = since >= 0
        return found if is_there.all() else found.take(is_there)

    def changed(self, changes: Mapping[str, TraceRows]) -> tuple[Int32s, Int32s]:
        """Lower and higher classes of the edges among differences of a trace, by predicate."""
        rows = changes.get(self.place.predicate)
        if rows is None:
            return NO_EDGES
        args = rows.args[matching(rows.args, self.place.bound)]
        return args[:, self.below], args[:, self.above]


NO_EDGES = (np.empty(0, np.int32), np.empty(0, np.int32))
"""As of `Steps.changed`."""
NO_LADDER = Ladder(*NO_EDGES, np.empty(0, np.int64))


def edges(
    steps: Iterable[Steps],
    view: View,
    below: int | Int32s | None = None,
    above: int | Int32s | None = None,
) -> Ladder:
    """The present edges that some rules copy along: from a class or some, or to some, or all."""
    read = []
    for each in steps:
        ends = {each.below: below, each.above: above}
        read.append(each.read(view, {at: end for at, end in ends.items() if end is not None}))
    return read[0] if len(read) == 1 else Ladder.joined([NO_LADDER, *read])
