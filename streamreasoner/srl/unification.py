"""Unification of patterns and templates. Invariant: variables of both sides are not shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.unification import Free, Known, of_term, unified
from streamreasoner.lang.ast import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Collection

    from streamreasoner.sparql.algebra import Node
    from streamreasoner.sparql.rule_set import Triple


_PATTERN, _TEMPLATE = range(2)


def unify(pattern: Triple, template: Triple, blank_nodes: Collection[str]) -> bool:
    """Whether terms for the variables of both make them one triple.

    Args:
        pattern: A pattern, in which a blank node is a variable.
        template: A template, in which it is a new node: no other term that is known.
        blank_nodes: The names of variables that stand for blank nodes.
    """
    links: dict[Free, Known] = {}
    return all(
        unified(_known(left, _PATTERN, ()), _known(right, _TEMPLATE, blank_nodes), links)
        for left, right in zip(pattern.terms, template.terms, strict=True)
    )


def _known(node: Node, side: int, new: Collection[str]) -> Known:
    match node:
        case Variable(name):
            return name if name in new else Free(side, name)
        case Constant(term):
            return of_term(term)
        case _:
            return tuple(_known(part, side, new) for part in node.parts)
