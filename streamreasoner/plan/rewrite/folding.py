"""Constant folding. Invariant: a computation without a value is left for run time.

A constant replaces its column everywhere except in a head: strata are computed from heads as
written, where the argument is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.plan.algebra import Extend, PlanTree, Project, Select, mapped, walk
from streamreasoner.plan.operands import COPY, Comparison, Computation, Test, Value
from streamreasoner.plan.substitution import substituted
from streamreasoner.plan.term_evaluation import holds, value

if TYPE_CHECKING:
    from streamreasoner.plan.operands import Operand


def fold_constants(tree: PlanTree) -> PlanTree:
    """Replace constant computations by their values, and drop conditions that always hold."""
    match tree:
        case Project(below, head):
            values: dict[str, Operand] = {}
            while constants := _constants(below):
                below = substituted(below, constants)
                values |= constants
            for column in head.columns:
                if column in values:
                    below = Extend(below, Computation(column, COPY, (values[column],)))
            rows = mapped(below, _without_truths)
            return tree if rows is tree.input else Project(rows, head)
        case _:
            return tree


def _constants(tree: PlanTree) -> dict[str, Operand]:
    """The columns with constant values."""
    computations = (node.computation for node in walk(tree) if isinstance(node, Extend))
    return {
        each.column: Value(term)
        for each in computations
        if not each.needs and (term := value(each, {})) is not None
    }


def _without_truths(node: PlanTree) -> PlanTree:
    """The input of a condition on constants that holds; any other node unchanged."""
    match node:
        case Select(below, Comparison() | Test() as condition) if not condition.needs:
            return below if holds(condition, {}) else node
        case _:
            return node
