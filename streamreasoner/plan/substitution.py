"""Substitution of columns in a tree. Invariant: a column is replaced wherever a node reads it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from streamreasoner.plan import algebra
from streamreasoner.plan.operands import (
    Column,
    Comparison,
    Computation,
    Condition,
    Operand,
    Pattern,
    Same,
    Test,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def substituted(tree: algebra.PlanTree, values: Mapping[str, Operand]) -> algebra.PlanTree:
    """Replace columns by other columns or constants, except in equations.

    The computation of a column that becomes a constant is dropped: the constant is its value.
    """
    return algebra.folded(tree, _Substitution(values).node) if values else tree


@dataclass(frozen=True, slots=True)
class _Substitution:
    values: Mapping[str, Operand]

    def node(  # noqa: PLR0911 - one case each
        self, node: algebra.PlanTree, below: list[algebra.PlanTree]
    ) -> algebra.PlanTree:
        match node:
            case algebra.Scan(pattern) | algebra.Delta(pattern):
                changed = self._pattern(pattern)
                return node if changed == pattern else replace(node, pattern=changed)
            case algebra.Join():
                return algebra.joined(*below)
            case algebra.Select(_, condition):
                return algebra.Select(below[0], self._condition(condition))
            case algebra.Extend(_, Computation(column)) if isinstance(
                self.values.get(column), Value
            ):
                return below[0]
            case algebra.Extend(_, Computation(column, function, arguments)):
                operands = tuple(map(self._operand, arguments))
                return algebra.Extend(below[0], Computation(self._name(column), function, operands))
            case algebra.Project(_, head):
                return algebra.Project(below[0], self._pattern(head))
            case algebra.Product() | algebra.Antijoin() | algebra.Incomplete():
                return algebra.with_inputs(node, below)
            case _:
                assert_never(node)

    def _operand(self, operand: Operand) -> Operand:
        return self.values.get(operand.name, operand) if isinstance(operand, Column) else operand

    def _name(self, column: str) -> str:
        operand = self._operand(Column(column))
        if isinstance(operand, Value):
            raise algebra.PlanError(f"{column} cannot be replaced by a constant here.")
        return operand.name

    def _pattern(self, pattern: Pattern) -> Pattern:
        arguments = tuple(
            None if argument is None else self._operand(argument) for argument in pattern.arguments
        )
        return Pattern(pattern.predicate, arguments)

    def _condition(self, condition: Condition) -> Condition:
        match condition:
            case Same(column, other):
                return Same(self._name(column), self._operand(other))
            case Comparison(left, operator, right):
                return Comparison(self._operand(left), operator, self._operand(right))
            case Test(function, arguments, negated):
                return Test(function, tuple(map(self._operand, arguments)), negated)
            case _:
                assert_never(condition)
