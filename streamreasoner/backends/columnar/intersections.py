"""Which steps of plans intersect groups. Invariant: no arrangement is kept for it alone.

The groups that meet in a variable are those of the probe that binds it and of the lookups that have
no other variable left. An arrangement of its own for a lookup would cost each fact eight bytes and
a link, whether or not its groups are ever large; without one its groups are sorted if it pays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.kernels.records import layout, slots
from streamreasoner.plan.algebra import Arrangement
from streamreasoner.plan.operands import Column

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.instructions import Fragment, Operands
    from streamreasoner.plan.operands import Pattern


MANY = 32
"""Number of deltas from which those of cyclic rules are applied together."""
SHARE = 16
"""If deltas are at least this share of all facts, groups are sorted when they are first needed."""

PATIENCE = 2
"""Groups that are no arrangement's are sorted after lookups of this share of all facts."""


def postpone(scalars: NDArray[np.int64], cyclic: AbstractSet[int]) -> None:
    """Let the deltas of cyclic rules be applied together, after those of the others, if many.

    Args:
        scalars: Those of the state.
        cyclic: Strata with cyclic rules.
    """
    count = scalars[layout.DELTA_COUNT]
    if count >= MANY and int(scalars[layout.STRATUM]) in cyclic:
        at_once = SHARE * count >= scalars[layout.FACT_COUNT]
        scalars[layout.APPLYING] = layout.LATER
        scalars[layout.SORTED_CREDIT] = slots.LOW if at_once else 0
        scalars[layout.SORT_PATIENCE] = scalars[layout.FACT_COUNT] // PATIENCE


@dataclass(frozen=True, slots=True)
class Sort:
    """Facts that are grouped by one argument and sorted by another."""

    arrangement: Arrangement
    position: int


@dataclass(frozen=True, slots=True)
class Crossing:
    """A lookup whose fact an earlier probe finds, by intersecting its group with that of the fact.

    Attributes:
        depth: Number of the probe, which binds the last variable of the lookup.
        probe: The facts that the probe finds, sorted by that variable.
        lookup: Those of the lookup, grouped by its other variable.
        key: The slot of that one.
    """

    depth: int
    probe: Sort
    lookup: Sort
    key: int


@dataclass(slots=True)
class Intersections:
    """The groups that steps intersect.

    Attributes:
        sorts: Number of each sort.
    """

    sorts: dict[Sort, int] = field(default_factory=dict)

    def fields(self, fragment: Fragment, operands: Operands) -> list[tuple[int, int, int]]:
        """By step, `layout.STEP_GROUPS`, `STEP_GROUP_COUNT` and `STEP_PROBE`."""
        fields = [(0, 0, 0)] * len(fragment.steps)
        for depth, crossings in crossings_of(fragment).items():
            groups: list[int] = []
            for step, crossing in crossings.items():
                sort = self._sort(crossing.lookup)
                if not groups:
                    groups += (depth, self._sort(crossing.probe), fragment.steps[depth].key[0])
                groups += (step, sort, crossing.key)
                fields[step] = (sort, 0, depth + 1)
            count = len(groups) // layout.STEP_GROUP_WIDTH
            fields[depth] = (operands.add(groups), count, 0)
        return fields

    def _sort(self, sort: Sort) -> int:
        return self.sorts.setdefault(sort, len(self.sorts))


def crossing_of(pattern: Pattern, left: Fragment) -> Crossing | None:
    """Where a looked up fact is found by intersecting, if a probe binds one of its two variables.

    The probe must look up an index, as groups of longer keys are not sorted, and must come after
    the step that binds the other variable.
    """
    depths = left.depths
    columns = [
        (depths[left.slots[argument.name]], position, left.slots[argument.name])
        for position, argument in enumerate(pattern.arguments)
        if isinstance(argument, Column)
    ]
    match sorted(columns):
        case [(before, place, key), (depth, position, slot)] if before < depth:
            step = left.steps[depth]
            probed = [at for at, bound in step.stage.binds if bound == slot]
            if probed and step.arrangement is not None and len(step.key) == 1:
                grouped = Arrangement(pattern.predicate, pattern.constants, (place,))
                return Crossing(
                    depth, Sort(step.arrangement, probed[0]), Sort(grouped, position), key
                )
    return None


def crossings_of(fragment: Fragment) -> dict[int, dict[int, Crossing]]:
    """By probe, the lookups that it answers; all of them have the same variable left."""
    found: dict[int, dict[int, Crossing]] = {}
    for depth, step in enumerate(fragment.steps):
        crossing = step.crossing
        if crossing is not None:
            others = found.setdefault(crossing.depth, {})
            if all(crossing.probe == other.probe for other in others.values()):
                others[depth] = crossing
    return found
