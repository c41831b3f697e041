"""Selections go to the smallest part of a tree that has their columns. Invariant: selections that
end at one place stay in the order of the text.

Delta plans place conditions by the same rule, in the order in which they find them: a test that is
next to its atom comes before a computation that is not.
"""  # noqa: D205

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from streamreasoner.plan.relational import (
    Antijoin,
    Condition,
    Extend,
    Join,
    Product,
    Relation,
    Select,
    mapped,
)

_Link: TypeAlias = Select | Extend | Antijoin


def push_selections(tree: Relation) -> Relation:
    """Move every selection as far down as it can be evaluated."""
    return mapped(tree, _pushed)


def _pushed(node: Relation) -> Relation:
    if isinstance(node, Select):
        return _inside(node.input, node.condition) or node
    return node


def _inside(node: Relation, condition: Condition) -> Relation | None:
    """The node with the selection somewhere below it; None if it has to stay above."""
    passed: list[_Link] = []
    links = 0
    place = node
    while isinstance(node, Select | Extend | Antijoin):
        if not condition.needs <= node.input.columns:
            break
        passed.append(node)
        # Below a selection is no better than above it, unless it goes on from there.
        if not isinstance(node, Select):
            links, place = len(passed), node.input
        node = node.input
    result = _in_one_input(node, condition)
    if result is not None:
        links = len(passed)
    elif links:
        result = Select(place, condition)
    else:
        return None
    for link in reversed(passed[:links]):
        result = replace(link, input=result)
    return result


def _in_one_input(node: Relation, condition: Condition) -> Relation | None:
    """A node of several inputs with the selection in the first that has its columns."""
    match node:
        case Product(inputs):
            for number, each in enumerate(inputs):
                if condition.needs <= each.columns:
                    pushed = (*inputs[:number], _above(each, condition), *inputs[number + 1 :])
                    return Product(pushed)
        case Join(left, right) if condition.needs <= left.columns:
            return Join(_above(left, condition), right)
        case Join(left, right) if condition.needs <= right.columns:
            return Join(left, _above(right, condition))
        case _:
            pass
    return None


def _above(node: Relation, condition: Condition) -> Relation:
    return _inside(node, condition) or Select(node, condition)
