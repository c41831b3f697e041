"""Run tests before computations they do not read. Invariant: a column is computed before its uses.

A row that a test rejects then costs no computation and cannot overflow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.plan.relational import Antijoin, Extend, Project, Relation, Select, spine

if TYPE_CHECKING:
    from collections.abc import Iterable

_Link: TypeAlias = "Extend | Select | Antijoin"


def defer_computations(tree: Relation) -> Relation:
    """Move computations up as far as their uses allow."""
    match tree:
        case Project(below, head):
            return Project(_ordered(below), head)
        case _:
            return tree


def _ordered(node: Relation) -> Relation:
    node, links = spine(node)
    remaining = [link for link in links if isinstance(link, Extend | Select | Antijoin)]
    while remaining:
        ready = [link for link in remaining if _needs(link) <= node.columns]
        needed = _needed_by_tests(remaining)
        chosen = min(ready, key=lambda link: _rank(link, node, needed))
        remaining.remove(chosen)
        node = replace(chosen, input=node)
    return node


def _rank(link: _Link, node: Relation, needed: frozenset[str]) -> int:
    """Tests first, then computations that tests read, otherwise textual order."""
    if not isinstance(link, Extend) or link.computation.column in node.columns:
        return 0
    return 1 if link.computation.column in needed else 2


def _needed_by_tests(remaining: Iterable[_Link]) -> frozenset[str]:
    """The columns that tests read, and the columns these are computed from."""
    needed: set[str] = set()
    # From the top down, so that uses of a column come before its computation.
    for link in reversed(list(remaining)):
        if (
            not isinstance(link, Extend)
            or link.computation.column in needed
            or link.computation.column in link.input.columns
        ):
            needed |= _needs(link)
    return frozenset(needed)


def _needs(link: _Link) -> frozenset[str]:
    match link:
        case Extend(_, computation):
            return computation.needs
        case Select(_, condition):
            return condition.needs
        case Antijoin(_, negated):
            return negated.columns
