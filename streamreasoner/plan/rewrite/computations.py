"""Run tests before computations they do not read. Invariant: a column is computed before its uses.

A row that a test rejects then costs no computation and cannot overflow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.plan import algebra

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_Link: TypeAlias = "algebra.Extend | algebra.Select | algebra.Antijoin"


def defer_computations(tree: algebra.PlanTree) -> algebra.PlanTree:
    """Move computations up as far as their uses allow."""
    match tree:
        case algebra.Project(below, head):
            return algebra.Project(_ordered(below), head)
        case _:
            return tree


def _ordered(node: algebra.PlanTree) -> algebra.PlanTree:
    node, links = algebra.spine(node)
    bound = algebra.columns_of(node)
    remaining = _marked(
        [x for x in links if isinstance(x, algebra.Extend | algebra.Select | algebra.Antijoin)],
        bound,
    )
    while remaining:
        needed = _needed_by_tests(remaining)
        ready = [i for i, (link, _) in enumerate(remaining) if _needs(link) <= bound]
        chosen, _ = remaining.pop(min(ready, key=lambda i: _rank(remaining[i][0], bound, needed)))
        node = replace(chosen, input=node)
        bound.update(_defines(chosen))
    return node


def _marked(links: Iterable[_Link], bound: set[str]) -> list[tuple[_Link, bool]]:
    """The links, and whether each is a test: it defines no column, or checks an existing one."""
    marked = []
    columns = set(bound)
    for link in links:
        marked.append((link, columns.issuperset(_defines(link))))
        columns.update(_defines(link))
    return marked


def _rank(link: _Link, bound: set[str], needed: frozenset[str]) -> int:
    """Tests first, then computations that tests read, otherwise textual order."""
    if bound.issuperset(_defines(link)):
        return 0
    return 1 if needed.issuperset(_defines(link)) else 2


def _needed_by_tests(remaining: Sequence[tuple[_Link, bool]]) -> frozenset[str]:
    """The columns that tests read, and the columns these are computed from."""
    needed: set[str] = set()
    # From the top down, so that uses of a column come before its computation.
    for link, is_test in reversed(remaining):
        if is_test or needed.issuperset(_defines(link)):
            needed |= _needs(link)
    return frozenset(needed)


def _defines(link: _Link) -> tuple[str, ...]:
    return (link.computation.column,) if isinstance(link, algebra.Extend) else ()


def _needs(link: _Link) -> frozenset[str]:
    match link:
        case algebra.Extend(_, computation):
            return computation.needs
        case algebra.Select(_, condition):
            return condition.needs
        case algebra.Antijoin():
            return frozenset(link.scan.pattern.columns)
