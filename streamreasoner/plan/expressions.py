"""Expressions of a rule to columns. Invariant: equal expressions are one column, computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang import ast
from streamreasoner.plan.algebra import Equation, Extend, PlanError, PlanTree
from streamreasoner.plan.formulas import COALESCE, formula
from streamreasoner.plan.operands import (
    COPY,
    NEGATE,
    TRIPLE_TERM,
    Column,
    Computation,
    Operand,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamreasoner.values.formula import Function


class Names:
    """Assigns columns to the expressions of a rule, defined by equations."""

    def __init__(self, equations: Iterable[Equation]) -> None:
        self._equations = list(equations)
        self._columns: dict[ast.Expression, Column] = {}
        for equation in self._equations:
            self._columns.setdefault(equation.expression, Column(equation.column))

    @property
    def equations(self) -> tuple[Equation, ...]:
        """The given equations, then those of new columns."""
        return tuple(self._equations)

    def operand(self, expression: ast.Expression) -> Operand:
        """The constant, the variable's column, or the column of a computed value."""
        match expression:
            case ast.Variable(name):
                return Column(name)
            case ast.Constant(term):
                return Value(term)
            case (
                ast.TripleTerm()
                | ast.BinaryOperation()
                | ast.UnaryMinus()
                | ast.Call()
                | ast.Conditional()
            ):
                return self._column(expression)
            case ast.Wildcard() | ast.Aggregate() | ast.BodyAggregate():
                raise PlanError(f"{expression} has no value.")
            case _:
                assert_never(expression)

    def column(self, expression: ast.Expression) -> Column:
        """The column of an expression, even of a constant, so that a head stays open there."""
        operand = self.operand(expression)
        return operand if isinstance(operand, Column) else self._column(expression)

    def _column(self, expression: ast.Expression) -> Column:
        if expression not in self._columns:
            name = fresh(self._equations)
            self._equations.append(Equation(name, expression))
            self._columns[expression] = Column(name)
        return self._columns[expression]


def fresh(equations: Iterable[Equation]) -> str:
    """The next unused name for a value: `#0`, `#1`, ..."""
    return f"#{sum(equation.column.startswith('#') for equation in equations)}"


def extended(tree: PlanTree, equations: Sequence[Equation]) -> PlanTree:
    """Extend a tree by a column for every equation and every nested expression."""
    extension = Extension(tree, equations)
    while pending := extension.pending:
        extension.define(pending[0])
    return extension.tree


class Extension:
    """A tree that is extended by the operands of an equation before the equation itself.

    Attributes:
        tree: The tree with the columns defined so far.
    """

    def __init__(self, tree: PlanTree, equations: Sequence[Equation] = ()) -> None:
        self.tree = tree
        self._names = Names(equations)
        self._done: set[str] = set()
        self._computed: dict[tuple[Function, tuple[Operand, ...]], Column] = {}

    @property
    def pending(self) -> list[Equation]:
        """The equations without a column."""
        return [each for each in self._names.equations if each.column not in self._done]

    def define(self, equation: Equation) -> None:
        """Add the column of an equation, or compare the one that exists."""
        self._done.add(equation.column)
        expression = equation.expression
        # If another column already has the value, copy it.
        first = self._names.operand(expression) == Column(equation.column)
        function, parts = application(expression) if first else (COPY, (expression,))
        arguments = tuple(self.operand(part) for part in parts)
        # Different expressions may apply a function to the same columns.
        known = self._computed.setdefault((function, arguments), Column(equation.column))
        if known != Column(equation.column) and function != COPY:
            function, arguments = COPY, (known,)
        computation = Computation(equation.column, function, arguments)
        self.tree = Extend(self.tree, computation)

    def operand(self, expression: ast.Expression) -> Operand:
        """The operand with the value of an expression, whose column is added if it is new."""
        operand = self._names.operand(expression)
        for equation in self.pending:
            if operand == Column(equation.column):
                self.define(equation)
        return operand


def application(  # noqa: PLR0911 - one case each
    expression: ast.Expression,
) -> tuple[Function, tuple[ast.Expression, ...]]:
    """The function of an expression, and what it is applied to."""
    match expression:
        case ast.Call(function) if function == COALESCE:
            return formula(expression)
        case ast.Conditional():
            return formula(expression)
        case ast.TripleTerm():
            return TRIPLE_TERM, expression.parts
        case ast.BinaryOperation(operator, left, right):
            return operator, (left, right)
        case ast.UnaryMinus(operand):
            return NEGATE, (operand,)
        case ast.Call(function, arguments):
            return function, arguments
        case ast.Constant() | ast.Variable():
            return COPY, (expression,)
        case ast.Wildcard() | ast.Aggregate() | ast.BodyAggregate():
            raise PlanError(f"{expression} has no value.")
        case _:
            assert_never(expression)
