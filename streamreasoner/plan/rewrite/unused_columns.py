"""Do not bind unused columns. Invariant: the scan still has a row per fact, as each is a match."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from streamreasoner.plan.algebra import (
    Antijoin,
    Delta,
    Extend,
    Incomplete,
    Join,
    Product,
    Project,
    Relation,
    Scan,
    Select,
    columns_of,
    mapped,
    walk,
)
from streamreasoner.plan.operands import Column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.plan.operands import Operand


def drop_unused_columns(tree: Relation) -> Relation:
    """Replace columns of scans that occur nowhere else by `_`."""
    counts = uses(tree)

    def change(node: Relation) -> Relation:
        if not isinstance(node, Scan):
            return node
        arguments = tuple(
            None if isinstance(argument, Column) and counts[argument.name] == 1 else argument
            for argument in node.pattern.arguments
        )
        return replace(node, pattern=replace(node.pattern, arguments=arguments))

    return mapped(tree, change)


def uses(tree: Relation) -> Counter[str]:
    """The number of uses of each column of a tree."""
    return Counter(name for node in walk(tree) for name in _mentioned(node))


def _mentioned(node: Relation) -> Iterable[str]:
    match node:
        case Scan(pattern) | Delta(pattern):
            return _names(pattern.arguments)
        case Select(_, condition):
            return condition.needs
        case Extend(_, computation):
            return (computation.column, *_names(computation.arguments))
        case Project(_, head):
            return _names(head.arguments)
        case Incomplete():
            return columns_of(node) - columns_of(node.input)
        case Product() | Join() | Antijoin():
            return ()
        case _:
            assert_never(node)


def _names(operands: Iterable[Operand | None]) -> list[str]:
    return [operand.name for operand in operands if isinstance(operand, Column)]
