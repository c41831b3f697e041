"""The order in which large input gets its records. Invariant: it changes no fact and no count.

A recursive rule walks the same groups of an input predicate over and over. If the members of a
group lie next to each other in memory, a walk reads cache lines in a row instead of missing one for
each of them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamreasoner.plan.program_plan import ProgramPlan

LARGE = 1 << 12
"""Rows from which their order matters: records of fewer stay in the nearest caches."""
_ROW_BITS = 32


def walked_arguments(plan: ProgramPlan) -> dict[str, int]:
    """By predicate that no rule derives: the argument whose groups recursive rules walk most often.

    These are the arrangements of a single argument that delta plans look up for deltas which their
    own stratum derives. Of equally frequent arguments it is the first.
    """
    derived = {head.predicate for stratum in plan.strata for head in stratum.heads}
    walks: Counter[tuple[str, int]] = Counter(
        (arrangement.predicate, arrangement.key[0])
        for stratum in plan.strata
        for own in [{head.predicate for head in stratum.heads}]
        for delta in stratum.plans
        if delta.delta.pattern.predicate in own
        for arrangement in delta.arrangements
        if arrangement.predicate not in derived and len(arrangement.key) == 1
    )
    arguments: dict[str, int] = {}
    for predicate, position in sorted(walks, key=lambda walk: (-walks[walk], walk)):
        arguments.setdefault(predicate, position)
    return arguments


def place_together(
    argument: int | None, args: NDArray[np.int32], *columns: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    """Put rows with the same id in an argument next to each other, if they are many.

    Args:
        argument: Its position, or None to leave all as it is.
        args: Ids, int32 of shape (n, arity).
        columns: Further arrays of n rows.

    Returns:
        The arguments and the further arrays; equal rows stay in their order.
    """
    if argument is None or len(args) < LARGE:
        return args, *columns
    places = (args[:, argument].astype(np.int64) << _ROW_BITS) | np.arange(len(args))
    places.sort()
    places &= (1 << _ROW_BITS) - 1
    return tuple(np.take(column, places, axis=0) for column in (args, *columns))
