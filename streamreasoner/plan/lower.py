"""Rules in normal form to patterns and filters. Invariant: names and constants stay as written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang import ast
from streamreasoner.plan.algebra import (
    Column,
    Operand,
    Operator,
    Pattern,
    PlanError,
    ProgramPlan,
    StratumPlan,
    Value,
)
from streamreasoner.plan.delta import delta_plans

if TYPE_CHECKING:
    from streamreasoner.analysis.check import CheckedProgram


@dataclass(frozen=True, slots=True)
class Comparison:
    """A filter of a rule body, before it has a place in a plan."""

    left: Operand
    operator: Operator
    right: Operand

    @property
    def columns(self) -> frozenset[str]:
        """The columns that must be bound before it can be evaluated."""
        return frozenset(o.name for o in (self.left, self.right) if isinstance(o, Column))


@dataclass(frozen=True, slots=True)
class RuleBody:
    """One rule as relational algebra reads it: head <- patterns joined, then filtered."""

    head: Pattern
    patterns: tuple[Pattern, ...]
    comparisons: tuple[Comparison, ...]


def lower(checked: CheckedProgram) -> ProgramPlan:
    """Give every rule of *checked* its delta plans, stratum by stratum."""
    bodies = [lower_rule(rule) for rule in checked.rules]
    return ProgramPlan(
        arities=dict(checked.arities),
        strata=tuple(
            StratumPlan(
                heads=tuple(bodies[index].head for index in stratum),
                plans=tuple(
                    plan
                    for index in stratum
                    for plan in delta_plans(
                        bodies[index].head, bodies[index].patterns, bodies[index].comparisons
                    )
                ),
            )
            for stratum in checked.strata
        ),
    )


def lower_rule(rule: ast.Rule) -> RuleBody:
    """Turn a rule in normal form (one head, a conjunction) into patterns and comparisons."""
    return RuleBody(
        head=_pattern(rule.head),
        patterns=tuple(_pattern(atom) for atom in rule.atoms),
        comparisons=tuple(
            Comparison(_operand(c.left), Operator(c.operator), _operand(c.right))
            for c in rule.comparisons
        ),
    )


def _pattern(atom: ast.Atom) -> Pattern:
    return Pattern(
        atom.predicate,
        tuple(
            None if isinstance(argument, ast.Wildcard) else _operand(argument)
            for argument in atom.arguments
        ),
    )


def _operand(expression: ast.Expression) -> Operand:
    match expression:
        case ast.Variable():
            return Column(expression.name)
        case ast.Constant():
            return Value(expression.term)
        case (
            ast.Wildcard() | ast.BinaryOperation() | ast.UnaryMinus() | ast.Call() | ast.Aggregate()
        ):
            raise PlanError(f"{expression} is not an operand of a plan.")
        case _:
            assert_never(expression)
