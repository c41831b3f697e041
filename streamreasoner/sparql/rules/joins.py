"""Joins of solutions. Invariant: equal means the same term, and what is given is joined once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.sparql.rules.bodies import Body

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamreasoner.sparql.rules.rulebook import Rulebook


class Joins:
    """Joins bodies.

    Args:
        book: Takes helper rules.
        given: Binds variables that have their values in every part of the query.

    Attributes:
        given: The same.
    """

    def __init__(self, book: Rulebook, given: Body) -> None:
        self._book = book
        self.given = given

    def with_given(self, bodies: Iterable[Body], names: Iterable[str] | None = None) -> list[Body]:
        """Bodies that bind the given variables, if these are among some names."""
        given = self.given
        if names is not None and set(given.bound).isdisjoint(names):
            return list(bodies)
        return [
            body if set(given.literals).issubset(body.literals) else self.joined(body, given)
            for body in bodies
        ]

    def anchored(self, body: Body) -> Body:
        """The body as one atom, so that its values join as terms."""
        return self._book.materialised("value", [body], body.names)

    def all_of(self, lefts: Iterable[Body], rights: Sequence[Body]) -> list[Body]:
        """The joins of each body with each other one."""
        return [
            self.joined(one, other)
            for left in lefts
            for right in rights
            for one in left.split(right.names)
            for other in right.split(one.names)
        ]

    def joined(self, left: Body, right: Body) -> Body:
        """The join of bodies that bind what they share; equal means the same term."""
        if left.computed.intersection(right.names):
            left = self.anchored(left)
        if right.computed.intersection(left.names):
            right = self.anchored(right)
        maybe = tuple(name for name in right.maybe if name not in left.names)
        given = set(self.given.literals).intersection(left.literals)
        joined = left.having((each for each in right.literals if each not in given), right.bound)
        return Body(joined.literals, joined.bound, (*joined.maybe, *maybe))
