"""What a load logs, and what it has targets for. Invariant: both are of the same strata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar.kernels.records import layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.backends.columnar.compiler.rules import CompiledRules
    from streamreasoner.backends.columnar.compiler.tables import Columns
    from streamreasoner.plan.program_plan import ProgramPlan


def logged(plan: ProgramPlan, numbering: Numbering) -> dict[int, NDArray[np.int32]]:
    """The lattices whose groups are the facts of a predicate with one equal argument, of two.

    Strata where the schema decides negation are left out: they derive at iterations far ahead.
    """
    found: dict[int, NDArray[np.int32]] = {}
    for stratum, each in enumerate(plan.strata, start=1):
        heads = {head.predicate for head in each.heads}
        rows = [
            (
                numbering.relations[lattice.pattern.predicate],
                numbering.grouping(lattice),
                lattice.position,
                1 if lattice.function == "min" else -1,
            )
            for lattice in plan.lattices
            if lattice.pattern.predicate in heads
            and len(lattice.pattern.arguments) == layout.LOGGED_ARITY
            and not lattice.pattern.constants
        ]
        if rows and each.guarded is None:
            found[stratum] = np.array(rows[: layout.LOG_LATTICES_MOST], np.int32).reshape(-1)
    return found


def targeted(
    columns: Columns, rules: CompiledRules, stratum: int, lattices: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The plans of a stratum whose heads have targets; numbers these plans.

    They only probe a group of facts of lower strata, which have the key of the head, but not its
    value.
    """
    classes = columns[layout.CLASSES].reshape(-1, layout.CLASS_WIDTH)
    links = columns[layout.LINK_OFFSETS].reshape(len(classes), -1)
    plans = columns[layout.PLANS].reshape(-1, layout.PLAN_WIDTH)
    operands = columns[layout.OPERANDS]
    values = {
        row[layout.LOGGED_RELATION]: row[layout.LOGGED_VALUE]
        for row in lattices.reshape(-1, layout.LOGGED_WIDTH).tolist()
    }
    found: list[int] = []
    for number, each in rules.active:
        plan = plans[number]
        head, relation = plan[layout.PLAN_PROBE_HEAD], plan[layout.PLAN_HEAD_RELATION]
        if each.stratum != stratum or head < 0 or relation not in values:
            continue
        value = values[relation]
        members = links[:, plan[layout.PLAN_PROBE] - 1] >= 0
        if (classes[members, layout.CLASS_STRATUM] < stratum).all() and operands[
            head + value
        ] < layout.MAX_ARITY <= operands[head + 1 - value]:
            found.append(number)
            plan[layout.PLAN_TARGETS] = len(found)
    return np.array(found, np.int32)
