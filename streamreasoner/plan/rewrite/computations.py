"""Tests come before computations that they do not read. Invariant: what reads a column comes after
it.

What a test takes away costs no computation, and cannot make one overflow.
"""  # noqa: D205

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.plan.relational import Antijoin, Extend, Project, Relation, Select, spine

if TYPE_CHECKING:
    from collections.abc import Iterable

_Link: TypeAlias = "Extend | Select | Antijoin"


def compute_late(tree: Relation) -> Relation:
    """Put computations as far up as what reads them allows."""
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
        wanted = _wanted(remaining)
        chosen = min(ready, key=lambda link: _rank(link, node, wanted))
        remaining.remove(chosen)
        node = replace(chosen, input=node)
    return node


def _rank(link: _Link, node: Relation, wanted: frozenset[str]) -> int:
    """Tests first, then what is computed for one; in the order of the text otherwise."""
    if not isinstance(link, Extend) or link.computation.column in node.columns:
        return 0
    return 1 if link.computation.column in wanted else 2


def _wanted(remaining: Iterable[_Link]) -> frozenset[str]:
    """The columns that tests read, and those from which they are computed."""
    wanted: set[str] = set()
    # From the top down, so that a column is known to be wanted before its own computation is met.
    for link in reversed(list(remaining)):
        if (
            not isinstance(link, Extend)
            or link.computation.column in wanted
            or link.computation.column in link.input.columns
        ):
            wanted |= _needs(link)
    return frozenset(wanted)


def _needs(link: _Link) -> frozenset[str]:
    match link:
        case Extend(_, computation):
            return computation.needs
        case Select(_, condition):
            return condition.needs
        case Antijoin(_, negated):
            return negated.columns
