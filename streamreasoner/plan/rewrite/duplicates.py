"""Removal of duplicate atoms and conditions. Invariant: the number of matches does not change.

A repeated atom matches the same fact both times, so it can be dropped. This does not hold with
wildcards: `edge(?x, _), edge(?x, _)` has a match for every pair of edges. Such atoms differ here,
because each wildcard is a distinct column.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from streamreasoner.plan import algebra


def drop_duplicates(tree: algebra.PlanTree) -> algebra.PlanTree:
    """Drop repeated atoms, negated atoms and conditions."""
    # The first of equal atoms stays, so the result is never empty.
    return _without_repeats(tree, set()) or tree


def _without_repeats(node: algebra.PlanTree, seen: set[object]) -> algebra.PlanTree | None:
    """The node without parts seen before; None if nothing remains."""
    leaf, links = algebra.spine(node)
    match leaf:
        case algebra.Scan(pattern) | algebra.Delta(pattern):
            # A pattern with open positions can match another fact each time.
            result: algebra.PlanTree | None = (
                leaf if None in pattern.arguments or _is_new(leaf, seen) else None
            )
        case algebra.Product(inputs):
            remaining = tuple(
                rest for item in inputs if (rest := _without_repeats(item, seen)) is not None
            )
            result = algebra.product(remaining) if remaining else None
        case algebra.Join(left, right):
            first, second = _without_repeats(left, seen), _without_repeats(right, seen)
            result = algebra.joined(first, second) if first and second else first or second
        case _:
            assert_never(leaf)
    for link in links:
        below = result or link.input
        result = replace(link, input=below) if _adds_condition(link, seen) else below
    return result


def _adds_condition(link: algebra.Link, seen: set[object]) -> bool:
    """Whether the same condition was not seen before."""
    match link:
        case algebra.Select(_, condition):
            return _is_new(condition, seen)
        case algebra.Antijoin(_, negated):
            return _is_new(("not", negated), seen)
        case algebra.Extend() | algebra.Project() | algebra.Incomplete():
            return True
        case _:
            assert_never(link)


def _is_new(part: object, seen: set[object]) -> bool:
    new = part not in seen
    seen.add(part)
    return new
