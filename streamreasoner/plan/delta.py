"""Delta plans. Invariant: the plans of a rule, summed, are what the rule derives new minus old.

For a body A1..An and a delta in some of its atoms,

    Δ(A1 ⋈ … ⋈ An) = Σj  new A1 ⋈ … ⋈ new A(j-1) ⋈ ΔAj ⋈ old A(j+1) ⋈ … ⋈ old An

so every atom drives one plan, in which the atoms before it are read new and those after it old.
The order in which a plan joins the other atoms is free, as the sum is bilinear in each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from streamreasoner.plan.algebra import (
    Age,
    Delta,
    DeltaPlan,
    Filter,
    Join,
    Node,
    Operand,
    Operator,
    Pattern,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


class BodyFilter(Protocol):
    """A comparison that waits for its columns."""

    @property
    def left(self) -> Operand:
        """The left operand."""
        ...

    @property
    def operator(self) -> Operator:
        """How the operands are compared."""
        ...

    @property
    def right(self) -> Operand:
        """The right operand."""
        ...

    @property
    def columns(self) -> frozenset[str]:
        """The columns that must be bound first."""
        ...


def delta_plans(
    head: Pattern, patterns: Sequence[Pattern], filters: Sequence[BodyFilter]
) -> tuple[DeltaPlan, ...]:
    """One delta plan per body atom of the rule `head <- patterns, filters`."""
    return tuple(_driven_by(j, head, patterns, filters) for j in range(len(patterns)))


def _driven_by(
    j: int, head: Pattern, patterns: Sequence[Pattern], filters: Sequence[BodyFilter]
) -> DeltaPlan:
    waiting = list(filters)
    remaining = [i for i in range(len(patterns)) if i != j]
    node = _filtered(Delta(patterns[j]), waiting)
    while remaining:
        bound = node.columns
        i = min(remaining, key=lambda i: (*_selectivity(patterns[i], bound), i))
        remaining.remove(i)
        node = _filtered(Join(node, patterns[i], Age.NEW if i < j else Age.OLD), waiting)
    return DeltaPlan(node, head)


def _selectivity(pattern: Pattern, bound: frozenset[str]) -> tuple[bool, int, int]:
    """Sort key, best first: joined at all, then positions left open, then fewest constants.

    A pattern with constants is the smaller one, so a tie goes to the one with more of them.
    """
    fixed = len(pattern.bound_positions(bound))
    constants = len(pattern.constants)
    return (fixed == 0, len(pattern.arguments) - fixed - constants, -constants)


def _filtered(node: Node, waiting: list[BodyFilter]) -> Node:
    """Apply, and take off the list, every filter whose columns the node binds."""
    for comparison in tuple(waiting):
        if comparison.columns <= node.columns:
            waiting.remove(comparison)
            node = Filter(node, comparison.left, comparison.operator, comparison.right)
    return node
