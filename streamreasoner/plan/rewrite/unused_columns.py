"""Do not bind unused columns. Invariant: the scan still has a row per fact, as each is a match."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from streamreasoner.plan import algebra
from streamreasoner.plan.operands import Column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.plan.operands import Operand


def drop_unused_columns(tree: algebra.PlanTree) -> algebra.PlanTree:
    """Replace columns of scans that occur nowhere else by `_`."""
    counts = uses(tree)

    def change(node: algebra.PlanTree) -> algebra.PlanTree:
        if not isinstance(node, algebra.Scan):
            return node
        arguments = tuple(
            None if isinstance(argument, Column) and counts[argument.name] == 1 else argument
            for argument in node.pattern.arguments
        )
        if arguments == node.pattern.arguments:
            return node
        return replace(node, pattern=replace(node.pattern, arguments=arguments))

    return algebra.mapped(tree, change)


def uses(tree: algebra.PlanTree) -> Counter[str]:
    """The number of uses of each column of a tree."""
    return Counter(name for node in algebra.walk(tree) for name in _mentioned(node))


def _mentioned(node: algebra.PlanTree) -> Iterable[str]:
    match node:
        case algebra.Scan(pattern) | algebra.Delta(pattern):
            return _names(pattern.arguments)
        case algebra.Select(_, condition):
            return condition.needs
        case algebra.Extend(_, computation):
            return (computation.column, *_names(computation.arguments))
        case algebra.Project(_, head):
            return _names(head.arguments)
        case algebra.Incomplete():
            return algebra.columns_of(node) - algebra.columns_of(node.input)
        case algebra.Product() | algebra.Join() | algebra.Antijoin():
            return ()
        case _:
            assert_never(node)


def _names(operands: Iterable[Operand | None]) -> list[str]:
    return [operand.name for operand in operands if isinstance(operand, Column)]
