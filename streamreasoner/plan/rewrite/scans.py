"""Constants that are selected become part of what is scanned.

Invariant: a scan asks for its constants by position, so an arrangement for it holds no other facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.plan.algebra import Value
from streamreasoner.plan.relational import Relation, Same, Select, mapped, substituted
from streamreasoner.plan.rewrite.columns import uses

if TYPE_CHECKING:
    from collections import Counter


def restrict_scans(tree: Relation) -> Relation:
    """Put selected constants into patterns: from them, partial arrangements are made."""
    counts = uses(tree)
    return mapped(tree, lambda node: _restricted(node, counts))


def _restricted(node: Relation, counts: Counter[str]) -> Relation:
    match node:
        # Twice: in the scan and in the selection; a column that more read has to stay.
        case Select(below, Same(column, Value() as value)) if counts[column] == 2:  # noqa: PLR2004
            return substituted(below, {column: value})
        case _:
            return node
