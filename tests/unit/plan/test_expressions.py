"""Expressions: each column has the value of its equation, and a value is computed once."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from oracle.arithmetic import numeral
from unit.plan.bags import rows
from unit.plan.small_rules import PRESENTS, SOME

from streamreasoner.lang.ast import (
    NOWHERE,
    BinaryOperation,
    Call,
    Constant,
    UnaryMinus,
    Variable,
)
from streamreasoner.plan.algebra import Equation, Extend, Incomplete, Project, Scan, walk
from streamreasoner.plan.expressions import Names, extended
from streamreasoner.plan.operands import COPY, Column, Pattern, Value

SCAN = Scan(Pattern("a", (Column("x"), Column("y"))))


def expressions(*names):
    """Nested expressions over variables."""
    leaves = st.one_of(
        st.sampled_from([Variable(name, NOWHERE) for name in names]),
        st.sampled_from([Constant(numeral(number), NOWHERE) for number in (1, 2)]),
    )
    return st.recursive(leaves, _applied, max_leaves=4)


def _applied(inner):
    return st.one_of(
        st.builds(BinaryOperation, st.sampled_from("+-*/"), inner, inner, st.just(NOWHERE)),
        st.builds(UnaryMinus, inner, st.just(NOWHERE)),
        st.builds(Call, st.just("abs"), st.tuples(inner), st.just(NOWHERE)),
    )


EXPRESSIONS = expressions("x", "y")
EQUATIONS = st.tuples(
    EXPRESSIONS.map(lambda each: Equation("v", each)),
    expressions("x", "v").map(lambda each: Equation("#0", each)),
    expressions("x", "y", "v").map(lambda each: Equation("#1", each)),
    EXPRESSIONS.map(lambda each: Equation("w", each)),
).flatmap(st.permutations)
"""Equations in any order, some of which read the column of another."""


@SOME
@given(EQUATIONS, PRESENTS)
def test_a_column_has_the_value_of_its_equation(equations, present):
    """The rows are those that solve the equations, however they are nested and ordered."""
    solved = Incomplete(SCAN, tuple(equations), (), None)

    assert _facts(extended(SCAN, equations), present) == _facts(solved, present)


@SOME
@given(EXPRESSIONS, PRESENTS)
def test_a_column_that_exists_is_compared(expression, present):
    """An equation of a column of the input keeps the rows that solve it."""
    equations = (Equation("y", expression),)
    found = extended(SCAN, equations)

    assert found.checks
    assert rows(Project(found, SCAN.pattern), present) == rows(
        Project(Incomplete(SCAN, equations, (), None), SCAN.pattern), present
    )


@SOME
@given(EQUATIONS)
@example(
    (
        Equation("v", UnaryMinus(Variable("y", NOWHERE), NOWHERE)),
        Equation("#0", UnaryMinus(Variable("v", NOWHERE), NOWHERE)),
        Equation("w", UnaryMinus(UnaryMinus(Variable("y", NOWHERE), NOWHERE), NOWHERE)),
    )
)
def test_nothing_is_computed_twice(equations):
    """No two columns apply a function to the same operands: the second is a copy."""
    computations = [
        node.computation for node in walk(extended(SCAN, equations)) if isinstance(node, Extend)
    ]
    applied = [(each.function, each.arguments) for each in computations if each.function != COPY]

    assert len(applied) == len(set(applied))
    assert len({each.column for each in computations}) == len(computations)


@SOME
@given(st.lists(EXPRESSIONS, max_size=6))
def test_equal_expressions_have_one_operand_and_others_another(expressions):
    """New columns are fresh, and each has an equation that says which expression it is."""
    names = Names([Equation("v", Variable("y", NOWHERE)), Equation("#0", _sum("x", "y"))])
    operands = [names.operand(each) for each in expressions]
    columns = [names.column(each) for each in expressions]
    equations = {each.column: each.expression for each in names.equations}

    assert names.operand(_sum("x", "y")) == Column("#0")
    assert len(equations) == len(names.equations)
    for operand, column, expression in zip(operands, columns, expressions, strict=True):
        match expression:
            case Variable(name):
                assert operand == column == Column(name)
            case Constant(term):
                assert operand == Value(term)
                assert equations[column.name] == expression
            case _:
                assert operand == column
                assert equations[column.name] == expression


def _sum(left, right):
    return BinaryOperation("+", Variable(left, NOWHERE), Variable(right, NOWHERE), NOWHERE)


def _facts(relation, present):
    columns = ("x", "y", "v", "w", "#0", "#1")
    return rows(Project(relation, Pattern("h", tuple(map(Column, columns)))), present)
