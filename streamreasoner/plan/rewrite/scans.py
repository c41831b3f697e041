"""Selected constants become part of scans.

Invariant: a scan has its constants by position, so its arrangement holds no other facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.plan.algebra import PlanTree, Select, mapped, walk
from streamreasoner.plan.operands import Same, Value
from streamreasoner.plan.rewrite.unused_columns import uses
from streamreasoner.plan.substitution import substituted

if TYPE_CHECKING:
    from streamreasoner.plan.operands import Operand


def restrict_scans(tree: PlanTree) -> PlanTree:
    """Move selected constants into patterns, which leads to partial arrangements."""
    constants = _selected(tree)
    if not constants:
        return tree

    def change(node: PlanTree) -> PlanTree:
        match node:
            case Select(below, Same(column, Value())) if column in constants:
                return below
            case _:
                return node

    return substituted(mapped(tree, change), constants)


def _selected(tree: PlanTree) -> dict[str, Operand]:
    """The columns selected to be a constant and used nowhere else, with their constants."""
    counts = uses(tree)
    # Two uses: the scan and the selection.
    return {
        node.condition.column: node.condition.other
        for node in walk(tree)
        if isinstance(node, Select)
        and isinstance(node.condition, Same)
        and isinstance(node.condition.other, Value)
        and counts[node.condition.column] == 2  # noqa: PLR2004
    }
