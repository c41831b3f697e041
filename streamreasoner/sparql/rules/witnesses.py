"""Compatible solutions as atoms. Invariant: an atom holds where another solution is compatible.

Negated, they are what is left out by MINUS, OPTIONAL and NOT EXISTS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.ast import NOWHERE, Atom, Negation, Wildcard
from streamreasoner.lang.traversal import substituted, variables
from streamreasoner.sparql.algebra import mentioned
from streamreasoner.sparql.rules.bodies import names_of
from streamreasoner.sparql.rules.rulebook import atom

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from streamreasoner.lang.ast import Literal
    from streamreasoner.sparql.algebra import Expression
    from streamreasoner.sparql.rules.bodies import Body
    from streamreasoner.sparql.rules.conditions import Conditions
    from streamreasoner.sparql.rules.joins import Joins
    from streamreasoner.sparql.rules.rulebook import Rulebook


class Witnesses:
    """Writes atoms that hold where a body has a compatible solution among others.

    Args:
        book: Takes helper rules.
        joins: Joins a body with another.
        conditions: Writes the condition of OPTIONAL and of a filter.
    """

    def __init__(self, book: Rulebook, joins: Joins, conditions: Conditions) -> None:
        self._book = book
        self._joins = joins
        self._conditions = conditions

    def none(
        self, body: Body, rights: Iterable[Body], condition: Expression | None, kind: str
    ) -> tuple[Literal, ...]:
        """Literals that hold if a body's solution is compatible with none of others."""
        some = self.some(body, rights, condition, kind)
        return tuple(dict.fromkeys(Negation(literal, NOWHERE) for literal in some))

    def some(
        self,
        body: Body,
        rights: Iterable[Body],
        condition: Expression | None,
        kind: str,
        *,
        once: bool = False,
    ) -> Iterator[Atom]:
        """Atoms of which one holds if a body's solution is compatible with one of others.

        With *once*, each holds in one way only, so that it does not multiply the solutions.
        """
        needed = set(body.bound)
        if condition is not None:
            needed |= self._book.names(mentioned(condition))
        for right in rights:
            for other in right.split(needed):
                ways: list[tuple[Literal, ...]] = [()]
                if condition is not None:
                    merged = body.having(other.literals, other.bound)
                    ways = self._conditions.truth(condition, merged)
                for way in ways:
                    yield self._witness(body, other, way, kind, once=once)

    def _witness(
        self, body: Body, other: Body, way: tuple[Literal, ...], kind: str, *, once: bool
    ) -> Atom:
        """An atom of the body's variables that holds where another body and a condition do."""
        read = names_of(way)
        columns = [name for name in body.bound if name in other.bound or name in read]
        outer = set(columns) - set(other.bound)
        if not outer and not way and len(other.literals) == 1:
            (only,) = other.literals
            unique = not once or set(columns) >= {each.name for each in variables(only)}
            if isinstance(only, Atom) and unique and _is_simple(only, columns):
                names = {each.name for each in variables(only)} - set(columns)
                return substituted(only, {name: Wildcard(NOWHERE) for name in names})
        whole = other
        if outer:
            whole = self._joins.joined(self._joins.anchored(body) if body.computed else body, other)
        whole = whole.having(way, read)
        return atom(self._book.helper(kind, columns, [whole]), columns)


def _is_simple(only: Atom, columns: Collection[str]) -> bool:
    """Whether variables that are not columns occur once, so that wildcards can replace them."""
    names = [each.name for each in variables(only) if each.name not in columns]
    return len(names) == len(set(names))
