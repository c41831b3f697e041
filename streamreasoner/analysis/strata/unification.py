"""Whether terms with variables may be one term. Invariant: what is not known is one term, any one.

Repeated variables and what is inside triple terms count. A variable is never a triple term that
has it inside, as terms are finite (Robinson 1965).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.lang import ast
from streamreasoner.rdf.term_kind import is_triple_term
from streamreasoner.rdf.triple_terms import components

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Free:
    """A variable of one side; those of the two sides are not shared."""

    side: int
    name: str


_UNKNOWN = -1
"""The side of what is not known."""

Known: TypeAlias = "str | Free | tuple[Known, ...]"
"""A term, a variable, or the parts of a triple term."""


def of_term(term: str) -> Known:
    """A canonical term, a triple term by its parts."""
    return tuple(map(of_term, components(term))) if is_triple_term(term) else term


def unified(left: Known, right: Known, links: dict[Free, Known]) -> bool:
    """Whether two terms may be one, given what variables are; adds what they then are."""
    left, right = _resolved(left, links), _resolved(right, links)
    if left == right:
        return True
    for free, other in ((left, right), (right, left)):
        if isinstance(free, Free):
            if _occurs(free, other, links):
                return False
            links[free] = other
            return True
    return (
        isinstance(left, tuple)
        and isinstance(right, tuple)
        and all(unified(one, two, links) for one, two in zip(left, right, strict=True))
    )


def _resolved(known: Known, links: dict[Free, Known]) -> Known:
    while isinstance(known, Free) and known in links:
        known = links[known]
    return known


def _occurs(free: Free, known: Known, links: dict[Free, Known]) -> bool:
    """Whether a variable is a part of a term, so that it cannot be that term."""
    if isinstance(known, tuple):
        parts = (_resolved(part, links) for part in known)
        return any(part == free or _occurs(free, part, links) for part in parts)
    return False


def agree(first: ast.Expression, second: ast.Expression) -> bool:
    """Whether two expressions may be one term, where repeated variables are ignored."""
    names = map(str, count())
    return unified(_known(first, None, names), _known(second, None, names), {})


def have_an_instance(first: ast.Atom, second: ast.Atom) -> bool:
    """Whether a fact may match both atoms, whose variables are not shared, repeated ones included.

    What is computed may be any term.
    """
    if first.predicate != second.predicate or first.arity != second.arity:
        return False
    names = map(str, count())
    links: dict[Free, Known] = {}
    return all(
        unified(_known(left, 0, names), _known(right, 1, names), links)
        for left, right in zip(first.arguments, second.arguments, strict=True)
    )


def _known(expression: ast.Expression, side: int | None, names: Iterator[str]) -> Known:
    """An expression of a side; without one, each occurrence of a variable is another variable."""
    match expression:
        case ast.Constant(term):
            return of_term(term)
        case ast.Variable(name) if side is not None:
            return Free(side, name)
        case ast.TripleTerm():
            return tuple(_known(part, side, names) for part in expression.parts)
        case ast.Call("skolem", (ast.Constant(label), *_)) if side is not None:
            # A new node differs from those of other labels, and from what a text names.
            return f"skolem {label}"
        case _:
            return Free(_UNKNOWN, next(names))
