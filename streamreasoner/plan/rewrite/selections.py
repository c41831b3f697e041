"""Selection pushdown. Invariant: selections pushed to the same node stay in textual order.

A selection moves to the smallest subtree with its columns. Delta plans place conditions by the same
rule, in tree order: a test next to its atom comes before a computation elsewhere.
"""

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
    """Move every selection down as far as possible."""
    return mapped(tree, _pushed)


def _pushed(node: Relation) -> Relation:
    if isinstance(node, Select):
        return _inside(node.input, node.condition) or node
    return node


def _inside(node: Relation, condition: Condition) -> Relation | None:
    """Push a selection below the node; None if it has to stay above."""
    passed: list[_Link] = []
    links = 0
    target = node
    while isinstance(node, Select | Extend | Antijoin):
        if not condition.needs <= node.input.columns:
            break
        passed.append(node)
        # Moving below another selection only helps if it moves further down.
        if not isinstance(node, Select):
            links, target = len(passed), node.input
        node = node.input
    result = _in_one_input(node, condition)
    if result is not None:
        links = len(passed)
    elif links:
        result = Select(target, condition)
    else:
        return None
    for link in reversed(passed[:links]):
        result = replace(link, input=result)
    return result


def _in_one_input(node: Relation, condition: Condition) -> Relation | None:
    """Push a selection into the first of several inputs that has its columns."""
    match node:
        case Product(inputs):
            for number, item in enumerate(inputs):
                if condition.needs <= item.columns:
                    pushed = (*inputs[:number], _above(item, condition), *inputs[number + 1 :])
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
