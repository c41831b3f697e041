"""Constants that are selected become part of what is scanned.

Invariant: a scan asks for its constants by position, so an arrangement for it holds no other facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.plan.algebra import Value
from streamreasoner.plan.relational import (
    Relation,
    Same,
    Select,
    mapped,
    substituted,
    walk,
)
from streamreasoner.plan.rewrite.columns import uses

if TYPE_CHECKING:
    from streamreasoner.plan.algebra import Operand


def restrict_scans(tree: Relation) -> Relation:
    """Put selected constants into patterns: from them, partial arrangements are made."""
    constants = _selected(tree)

    def change(node: Relation) -> Relation:
        match node:
            case Select(below, Same(column, Value())) if column in constants:
                return below
            case _:
                return node

    return substituted(mapped(tree, change), constants)


def _selected(tree: Relation) -> dict[str, Operand]:
    """Columns that are a constant and that nothing else reads, with their constants."""
    counts = uses(tree)
    # Twice: in the scan and in the selection.
    return {
        node.condition.column: node.condition.other
        for node in walk(tree)
        if isinstance(node, Select)
        and isinstance(node.condition, Same)
        and isinstance(node.condition.other, Value)
        and counts[node.condition.column] == 2  # noqa: PLR2004
    }
