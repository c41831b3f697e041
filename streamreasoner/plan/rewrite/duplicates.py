"""What a rule says twice is said once. Invariant: a match stays one match.

An atom that is there twice has the same fact both times, so leaving one out changes no count. That
is not so with wildcards: `edge(?x, _), edge(?x, _)` has a match for every pair of edges. Here these
are different, because each wildcard is a column of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from streamreasoner.plan.relational import (
    Antijoin,
    Extend,
    Incomplete,
    Join,
    Product,
    Project,
    Relation,
    Scan,
    Select,
    joined,
    product,
    spine,
)

if TYPE_CHECKING:
    from streamreasoner.plan.relational import Link


def drop_duplicates(tree: Relation) -> Relation:
    """Leave out atoms, negated atoms and conditions that are there already."""
    # The first of equal atoms stays, so something is left.
    return _kept(tree, set()) or tree


def _kept(node: Relation, seen: set[object]) -> Relation | None:
    """The node without what was seen before; None if nothing of it is left."""
    leaf, links = spine(node)
    match leaf:
        case Scan(pattern):
            # What is open in a pattern can be another fact each time.
            result: Relation | None = (
                leaf if None in pattern.arguments or _is_new(leaf, seen) else None
            )
        case Product(inputs):
            left = tuple(rest for each in inputs if (rest := _kept(each, seen)) is not None)
            result = product(left) if left else None
        case Join(one, other):
            first, second = _kept(one, seen), _kept(other, seen)
            result = joined(first, second) if first and second else first or second
        case _:
            assert_never(leaf)
    for link in links:
        below = result or link.input
        result = replace(link, input=below) if _says_more(link, seen) else below
    return result


def _says_more(link: Link, seen: set[object]) -> bool:
    """Whether nothing that was seen before is the same condition."""
    match link:
        case Select(_, condition):
            return _is_new(condition, seen)
        case Antijoin(_, negated):
            return _is_new(("not", negated), seen)
        case Extend() | Project() | Incomplete():
            return True
        case _:
            assert_never(link)


def _is_new(part: object, seen: set[object]) -> bool:
    new = part not in seen
    seen.add(part)
    return new
