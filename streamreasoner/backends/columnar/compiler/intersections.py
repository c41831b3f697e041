"""Which steps of plans intersect groups. Invariant: no arrangement is kept for it alone.

The groups that meet in a variable are those of the probe that binds it and of the lookups that have
no other variable left. An arrangement of its own for a lookup would cost each fact eight bytes and
a link, whether or not its groups are ever large; without one its groups are sorted if it pays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.kernels.records import layout

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.compiler.crossings import Crossing, Sort
    from streamreasoner.backends.columnar.compiler.instructions import Fragment, Operands


SHARE = 64
"""If deltas are at least this share of all facts, groups are sorted."""
PATIENCE = 2
"""Groups that are not arrangement's are sorted after lookups of this share of all facts."""


def postpone(scalars: NDArray[np.int64], cyclic: AbstractSet[int]) -> None:
    """Let the deltas of cyclic rules be applied together, after those of the others.

    Args:
        scalars: Those of the state.
        cyclic: Strata with cyclic rules.
    """
    if cyclic and int(scalars[layout.STRATUM]) in cyclic:
        deltas, facts = int(scalars[layout.DELTA_COUNT]), int(scalars[layout.FACT_COUNT])
        if deltas:
            scalars[layout.CYCLIC_RULES] = layout.LATER
            scalars[layout.SORTING] = SHARE * deltas >= facts
            scalars[layout.SORT_PATIENCE] = facts // PATIENCE


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


def is_cyclic(plans: Sequence[Fragment]) -> bool:
    """Whether groups intersect in a plan of a rule, whose deltas may be applied together.

    Sizes of groups are read before and after each single delta, so none may be read in its plans.
    """
    reads_sizes = any(step.kind == layout.COUNT for plan in plans for step in plan.steps)
    return not reads_sizes and any(map(crossings_of, plans))


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
