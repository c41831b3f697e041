"""Deltas of trees. Invariant: the deltas of a tree sum to its new rows minus its old ones.

    Δ(A ⋈ B) = ΔA ⋈ old B + new A ⋈ ΔB
    Δ(σA)    = σΔA
    Δ(A ▷ B) = ΔA ▷ old B - new A ⋈ ΔB

so each atom drives one tree, which reads the new state of the atoms before it and the old state of
those after it. A negated atom stands for the complement of its facts, whose delta has the opposite
sign.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from streamreasoner.plan.algebra import (
    Age,
    Antijoin,
    Delta,
    Extend,
    Incomplete,
    Join,
    PlanError,
    Product,
    Project,
    Relation,
    Scan,
    Select,
    mapped,
    spine,
)

if TYPE_CHECKING:
    from streamreasoner.plan.algebra import Leaf


def differentiate(tree: Project) -> list[Project]:
    """One tree for each atom, in textual order."""
    return [replace(tree, input=rows) for rows in _deltas(tree.input)]


def _deltas(node: Relation) -> list[Relation]:
    leaf, links = spine(node)
    deltas = _of_leaf(leaf)
    below: Relation = leaf
    for link in links:
        match link:
            case Select() | Extend():
                deltas = [replace(link, input=rows) for rows in deltas]
            case Antijoin():
                delta = Delta(link.scan.pattern, negated=True)
                absent = replace(link.scan, age=Age.OLD)
                deltas = [Antijoin(rows, absent) for rows in deltas]
                deltas.append(Join(_aged(below, Age.NEW), delta))
            case Project() | Incomplete():
                raise PlanError(f"{type(link).__name__} has no delta.")
            case _:
                assert_never(link)
        below = link
    return deltas


def _of_leaf(leaf: Leaf) -> list[Relation]:
    match leaf:
        case Scan(pattern):
            return [Delta(pattern)]
        case Product(inputs):
            new = [_aged(each, Age.NEW) for each in inputs]
            old = [_aged(each, Age.OLD) for each in inputs]
            return [
                Product((*new[:i], rows, *old[i + 1 :]))
                for i, each in enumerate(inputs)
                for rows in _deltas(each)
            ]
        case Join(left, right):
            new_left, old_right = _aged(left, Age.NEW), _aged(right, Age.OLD)
            return [
                *(Join(rows, old_right) for rows in _deltas(left)),
                *(Join(new_left, rows) for rows in _deltas(right)),
            ]
        case Delta():
            raise PlanError("A delta has no delta.")
        case _:
            assert_never(leaf)


def _aged(tree: Relation, age: Age) -> Relation:
    """The tree over the facts of an age."""

    def change(node: Relation) -> Relation:
        match node:
            case Scan():
                return replace(node, age=age)
            case Antijoin(below):
                return Antijoin(below, replace(node.scan, age=age))
            case _:
                return node

    return mapped(tree, change)
