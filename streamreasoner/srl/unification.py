"""Unification of patterns and templates. Invariant: variables of both sides are not shared.

Repeated variables and what is inside triple terms count. A variable is never a triple term that
has it inside, as terms are finite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.rdf.term_kind import is_triple_term
from streamreasoner.rdf.triple_terms import components

if TYPE_CHECKING:
    from collections.abc import Collection

    from streamreasoner.sparql.algebra import Node
    from streamreasoner.sparql.rule_set import Triple


@dataclass(frozen=True, slots=True)
class _Free:
    """A variable of one side."""

    side: int
    name: str


_Known: TypeAlias = "str | _Free | tuple[_Known, ...]"
"""A term or the label of a new node, a variable, or the parts of a triple term."""

_PATTERN, _TEMPLATE = range(2)


def unify(pattern: Triple, template: Triple, blank_nodes: Collection[str]) -> bool:
    """Whether terms for the variables of both make them one triple.

    Args:
        pattern: A pattern, in which a blank node is a variable.
        template: A template, in which it is a new node: no other term that is known.
        blank_nodes: The names of variables that stand for blank nodes.
    """
    links: dict[_Free, _Known] = {}
    return all(
        _unified(_known(left, _PATTERN, ()), _known(right, _TEMPLATE, blank_nodes), links)
        for left, right in zip(pattern.terms, template.terms, strict=True)
    )


def _known(node: Node, side: int, new: Collection[str]) -> _Known:
    match node:
        case Variable(name):
            return name if name in new else _Free(side, name)
        case Constant(term):
            return _of_term(term)
        case _:
            parts = node.subject, node.predicate, node.object
            return tuple(_known(part, side, new) for part in parts)


def _of_term(term: str) -> _Known:
    if not is_triple_term(term):
        return term
    return tuple(map(_of_term, components(term)))


def _unified(left: _Known, right: _Known, links: dict[_Free, _Known]) -> bool:
    left, right = _resolved(left, links), _resolved(right, links)
    if left == right:
        return True
    for free, other in ((left, right), (right, left)):
        if isinstance(free, _Free):
            if _occurs(free, other, links):
                return False
            links[free] = other
            return True
    return (
        isinstance(left, tuple)
        and isinstance(right, tuple)
        and all(_unified(one, two, links) for one, two in zip(left, right, strict=True))
    )


def _resolved(known: _Known, links: dict[_Free, _Known]) -> _Known:
    while isinstance(known, _Free) and known in links:
        known = links[known]
    return known


def _occurs(free: _Free, known: _Known, links: dict[_Free, _Known]) -> bool:
    """Whether a variable is a part of a term, so that it cannot be that term."""
    if isinstance(known, tuple):
        parts = (_resolved(part, links) for part in known)
        return any(part == free or _occurs(free, part, links) for part in parts)
    return False
