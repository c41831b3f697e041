"""Selections go to the smallest part of a tree that has their columns. Invariant: selections that
end at one place stay in the order of the text.

Delta plans place conditions by the same rule, in the order in which they find them: a test that is
next to its atom comes before a computation that is not.
"""  # noqa: D205

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from streamreasoner.plan.relational import (
    Antijoin,
    Condition,
    Extend,
    Incomplete,
    Join,
    Product,
    Project,
    Relation,
    Scan,
    Select,
    mapped,
)


def push_selections(tree: Relation) -> Relation:
    """Move every selection as far down as it can be evaluated."""
    return mapped(tree, _pushed)


def _pushed(node: Relation) -> Relation:
    if isinstance(node, Select):
        return _inside(node.input, node.condition) or node
    return node


def _inside(  # noqa: C901, PLR0911 - one case each
    node: Relation, condition: Condition
) -> Relation | None:
    """The node with the selection somewhere below it; None if it has to stay above."""
    match node:
        case Product(inputs):
            for number, each in enumerate(inputs):
                if condition.needs <= each.columns:
                    pushed = (*inputs[:number], _above(each, condition), *inputs[number + 1 :])
                    return Product(pushed)
            return None
        case Join(left, right):
            if condition.needs <= left.columns:
                return Join(_above(left, condition), right)
            if condition.needs <= right.columns:
                return Join(left, _above(right, condition))
            return None
        case Extend() | Antijoin():
            if condition.needs <= node.input.columns:
                return replace(node, input=_above(node.input, condition))
            return None
        case Select():
            pushed_below = _inside(node.input, condition)
            return pushed_below and replace(node, input=pushed_below)
        case Scan() | Project() | Incomplete():
            return None
        case _:
            assert_never(node)


def _above(node: Relation, condition: Condition) -> Relation:
    return _inside(node, condition) or Select(node, condition)
