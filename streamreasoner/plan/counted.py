"""Joins that only count. Invariant: their number of matches is all that a plan needs of them.

A join binds nothing if its pattern has no column that is not bound before. If no fact that matches
can be derived in the stratum of the rule, all matches are present from iteration 0 on. So they
contribute their number to the multiplicity of the head, as a factor, and nothing to its iteration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.plan.algebra import Arrangement

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from streamreasoner.plan.operands import Pattern


def counted(
    pattern: Pattern, bound: AbstractSet[str], heads: Iterable[Pattern]
) -> Arrangement | None:
    """The groups whose sizes are all that a join needs; None if it needs the facts.

    A group is found by at most one argument, so that the sizes are an array.

    Args:
        pattern: What the join looks up.
        bound: The columns that are bound before it.
        heads: The patterns of the facts that its stratum derives.
    """
    if not bound >= {*pattern.columns}:
        return None
    groups = Arrangement.of(pattern, bound)
    if groups is None or len(groups.key) > 1:
        return None
    own = any(head.fits(pattern.predicate, pattern.constants) for head in heads)
    return None if own else groups
