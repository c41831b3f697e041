"""`if` and `coalesce` to formulas. Invariant: the arguments are the variables of the expression.

Each variable is one argument, in the order of its first occurrence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang import ast, traversal
from streamreasoner.plan.algebra import PlanError
from streamreasoner.plan.operands import NEGATE, TRIPLE_TERM
from streamreasoner.values import formula as formulas
from streamreasoner.values.comparison import Operator

if TYPE_CHECKING:
    from collections.abc import Iterable

COALESCE = "coalesce"
"""The function whose value is that of its first argument that has one."""


def formula(
    expression: ast.Call | ast.Conditional,
) -> tuple[formulas.FirstValue | formulas.Choice, tuple[ast.Variable, ...]]:
    """An expression as a function, and the variables it is applied to."""
    places: dict[str, int] = {}
    variables = []
    for variable in traversal.variables(expression):
        if variable.name not in places:
            places[variable.name] = len(places)
            variables.append(variable)
    found = _Formulas(places).of(expression)
    assert isinstance(found, formulas.FirstValue | formulas.Choice)  # noqa: S101 - of such an one
    return found, tuple(variables)


class _Formulas:
    """Expressions and conditions as formulas, given the places of variables."""

    def __init__(self, places: dict[str, int]) -> None:
        self._places = places

    def of(self, expression: ast.Expression) -> formulas.Formula:  # noqa: PLR0911 - one case each
        match expression:
            case ast.Constant(term):
                return formulas.Fixed(term)
            case ast.Variable(name):
                return formulas.Argument(self._places[name])
            case ast.TripleTerm():
                return formulas.Applied(TRIPLE_TERM, self._all(expression.parts))
            case ast.BinaryOperation(operator, left, right):
                return formulas.Applied(operator, self._all((left, right)))
            case ast.UnaryMinus(operand):
                return formulas.Applied(NEGATE, self._all((operand,)))
            case ast.Call(function, arguments):
                if function == COALESCE:
                    return formulas.FirstValue(self._all(arguments))
                return formulas.Applied(function, self._all(arguments))
            case ast.Conditional(condition, then, otherwise):
                return formulas.Choice(self._every(condition), self.of(then), self.of(otherwise))
            case ast.Wildcard() | ast.Aggregate() | ast.BodyAggregate():
                raise PlanError(f"{expression} has no value.")
            case _:
                assert_never(expression)

    def _all(self, expressions: Iterable[ast.Expression]) -> tuple[formulas.Formula, ...]:
        return tuple(self.of(each) for each in expressions)

    def _every(self, literals: tuple[ast.Literal, ...]) -> formulas.Condition:
        conditions = tuple(self._condition(each) for each in literals)
        return conditions[0] if len(conditions) == 1 else formulas.Every(conditions)

    def _condition(self, literal: ast.Literal) -> formulas.Condition:
        match literal:
            case ast.Comparison(left, operator, right):
                return formulas.Compared(self.of(left), Operator(operator), self.of(right))
            case ast.Call(function, arguments):
                return formulas.Tested(function, self._all(arguments), negated=False)
            case ast.Negation(ast.Call(function, arguments)):
                return formulas.Tested(function, self._all(arguments), negated=True)
            case ast.Disjunction(alternatives):
                return formulas.Some(tuple(map(self._every, alternatives)))
            case ast.Atom() | ast.Negation() | ast.NegatedBody():
                raise PlanError(f"{literal} is not a condition on values.")
            case _:
                assert_never(literal)
