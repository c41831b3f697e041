"""What a rule says twice is said once. Invariant: a match stays one match.

An atom that is there twice has the same fact both times, so leaving one out changes no count. That
is not so with wildcards: `edge(?x, _), edge(?x, _)` has a match for every pair of edges. Here these
are different, because each wildcard is a column of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

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
)


def drop_duplicates(tree: Relation) -> Relation:
    """Leave out atoms, negated atoms and conditions that are there already."""
    # The first of equal atoms stays, so something is left.
    return _kept(tree, set()) or tree


def _kept(node: Relation, seen: set[object]) -> Relation | None:
    """The node without what was seen before; None if nothing of it is left."""
    match node:
        case Scan(pattern):
            # What is open in a pattern can be another fact each time.
            return node if None in pattern.arguments or _is_new(node, seen) else None
        case Product(inputs):
            left = tuple(kept for each in inputs if (kept := _kept(each, seen)) is not None)
            return product(left) if left else None
        case Join(one, other):
            first, second = _kept(one, seen), _kept(other, seen)
            return joined(first, second) if first and second else first or second
        case Select(below, condition):
            kept = _kept(below, seen) or below
            return Select(kept, condition) if _is_new(condition, seen) else kept
        case Antijoin(below, negated):
            kept = _kept(below, seen) or below
            return Antijoin(kept, negated) if _is_new(("not", negated), seen) else kept
        case Extend() | Project() | Incomplete():
            return replace(node, input=_kept(node.input, seen) or node.input)
        case _:
            assert_never(node)


def _is_new(part: object, seen: set[object]) -> bool:
    new = part not in seen
    seen.add(part)
    return new
