"""The tables of plans, steps and sorts. Invariant: a plan's steps lie in a row, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar.compiler.tables import int32, work_row
from streamreasoner.backends.columnar.kernels.records import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from streamreasoner.backends.columnar.compiler.classes import Constants
    from streamreasoner.backends.columnar.compiler.instructions import Operands
    from streamreasoner.backends.columnar.compiler.intersections import Intersections
    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.backends.columnar.compiler.rules import CompiledPlan
    from streamreasoner.backends.columnar.compiler.tables import Columns
    from streamreasoner.plan.algebra import Arrangement


def plans_and_steps(
    plans: Sequence[CompiledPlan], intersections: Intersections, operands: Operands
) -> Columns:
    """The columns PLANS and STEPS."""
    plan_rows = np.zeros((max(len(plans), 1), layout.PLAN_WIDTH), np.int32)
    step_rows: list[list[int]] = []
    for number, plan in enumerate(plans):
        fragment = plan.fragment
        plan_rows[number] = _plan(plan, len(step_rows), operands)
        step_rows.extend(
            [
                *operands.stage(step.stage),
                operands.add(step.key),
                len(step.key),
                step.kind,
                step.target,
                int(step.old),
                *groups,
            ]
            for step, groups in zip(
                fragment.steps, intersections.fields(fragment, operands), strict=True
            )
        )
    return {
        layout.PLANS: plan_rows.reshape(-1),
        layout.STEPS: int32(x for row in step_rows for x in row),
    }


def _plan(plan: CompiledPlan, steps: int, operands: Operands) -> list[int]:
    """The row of a plan that has *steps* steps of others before its own."""
    fragment = plan.fragment
    assert fragment.head is not None  # noqa: S101 - `project` is the last leaf of every walk
    relation, cells = fragment.head
    shortcut = fragment.shortcut
    return [
        *operands.stage(fragment.start),
        steps,
        len(fragment.steps),
        relation,
        operands.add(cells),
        len(cells),
        fragment.sign,
        *fragment.probe,
        -1 if shortcut is None else operands.add(shortcut),
        work_row(plan.source),
        plan.shared,
        operands.add(fragment.shared_head),
        operands.add(x for pair in fragment.kept for x in pair),
        len(fragment.kept),
        int(plan.cyclic),
        0,
    ]


def sorts(
    intersections: Intersections,
    used: AbstractSet[Arrangement],
    numbering: Numbering,
    operands: Operands,
    encode: Callable[[Arrangement], Constants],
) -> Columns:
    """The columns SORTS and SORT_LOOKUPS; the first names arrangements that are kept anyway."""
    return {
        layout.SORTS: int32(
            x
            for sort in intersections.sorts
            for x in (
                numbering.grouping(sort.arrangement) if sort.arrangement in used else -1,
                *sort.arrangement.key,
                sort.position,
                numbering.relations[sort.arrangement.predicate],
                operands.add(x for each in encode(sort.arrangement) for x in each),
                len(sort.arrangement.constants),
            )
        ),
        layout.SORT_LOOKUPS: np.zeros(max(len(intersections.sorts), 1), np.int64),
    }
