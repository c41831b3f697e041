"""Deltas of trees. Invariant: the deltas of a tree sum to its new rows minus its old ones.

    Δ(A ⋈ B) = ΔA ⋈ old B + new A ⋈ ΔB
    Δ(σA)    = σΔA
    Δ(A ▷ B) = ΔA ▷ old B - new A ⋈ ΔB

so each atom drives one tree, which reads the new state of the atoms before it and the old state of
those after it. A negated atom stands for the complement of its facts, whose delta has the opposite
sign.
"""

from __future__ import annotations

from typing import assert_never

from streamreasoner.plan import algebra


def differentiate(tree: algebra.Project) -> list[algebra.Project]:
    """One tree for each atom, in textual order."""
    return [algebra.Project(rows, tree.head) for rows in _deltas(tree.input)]


def _deltas(node: algebra.PlanTree) -> list[algebra.PlanTree]:
    leaf, links = algebra.spine(node)
    deltas = _of_leaf(leaf)
    below: algebra.PlanTree = leaf
    for link in links:
        match link:
            case algebra.Select() | algebra.Extend():
                deltas = [algebra.with_inputs(link, (rows,)) for rows in deltas]
            case algebra.Antijoin():
                delta = algebra.Delta(link.scan.pattern, negated=True)
                absent = algebra.Scan(link.scan.pattern, algebra.Age.OLD)
                deltas = [algebra.Antijoin(rows, absent) for rows in deltas]
                deltas.append(algebra.Join(_aged(below, algebra.Age.NEW), delta))
            case algebra.Project() | algebra.Incomplete():
                raise algebra.PlanError(f"{type(link).__name__} has no delta.")
            case _:
                assert_never(link)
        below = link
    return deltas


def _of_leaf(leaf: algebra.Leaf) -> list[algebra.PlanTree]:
    match leaf:
        case algebra.Scan(pattern):
            return [algebra.Delta(pattern)]
        case algebra.Product(inputs):
            new = [_aged(each, algebra.Age.NEW) for each in inputs]
            old = [_aged(each, algebra.Age.OLD) for each in inputs]
            return [
                algebra.Product((*new[:i], rows, *old[i + 1 :]))
                for i, each in enumerate(inputs)
                for rows in _deltas(each)
            ]
        case algebra.Join(left, right):
            new_left, old_right = _aged(left, algebra.Age.NEW), _aged(right, algebra.Age.OLD)
            return [
                *(algebra.Join(rows, old_right) for rows in _deltas(left)),
                *(algebra.Join(new_left, rows) for rows in _deltas(right)),
            ]
        case algebra.Delta():
            raise algebra.PlanError("A delta has no delta.")
        case _:
            assert_never(leaf)


def _aged(tree: algebra.PlanTree, age: algebra.Age) -> algebra.PlanTree:
    """The tree over the facts of an age."""

    def change(node: algebra.PlanTree) -> algebra.PlanTree:
        match node:
            case algebra.Scan(pattern):
                return algebra.Scan(pattern, age)
            case algebra.Antijoin(below):
                return algebra.Antijoin(below, algebra.Scan(node.scan.pattern, age))
            case _:
                return node

    return algebra.mapped(tree, change)
