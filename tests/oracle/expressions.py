"""Expressions and conditions of a rule. Invariant: a part without a value never matches."""

from __future__ import annotations

from oracle.arithmetic import arithmetic
from oracle.builtins import call, compare, test
from streamreasoner.lang.ast import (
    Aggregate,
    BinaryOperation,
    Call,
    Comparison,
    Constant,
    Negation,
    UnaryMinus,
    Variable,
    variables,
)


def term(expression, bindings):
    """The canonical term of an expression, or of what is aggregated; None if it has no value."""
    match expression:
        case Constant(text):
            return text
        case Variable(name):
            return bindings[name]
        case UnaryMinus(operand):
            return arithmetic("-", [term(operand, bindings)])
        case BinaryOperation(operator, left, right):
            return arithmetic(operator, [term(left, bindings), term(right, bindings)])
        case Call(function, arguments):
            return call(function, [term(argument, bindings) for argument in arguments])
        case Aggregate(_, (operand,)):
            return term(operand, bindings)


def assigned(rule, bindings):
    """The bindings extended by equations; None if one of them has no value.

    Variables of positive atoms are bound already, so equations do not bind them.
    """
    for target, source in equations(rule):
        unbound = isinstance(target, Variable) and target.name not in bindings
        if unbound and all(variable.name in bindings for variable in variables(source)):
            value = term(source, bindings)
            return None if value is None else assigned(rule, {**bindings, target.name: value})
    return bindings


def equations(rule):
    """Both directions of each `=`, in the order of the text."""
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.operator == "=":
            yield literal.left, literal.right
            yield literal.right, literal.left


def condition(literal, bindings):
    """Whether a comparison or a test, perhaps negated, holds."""
    match literal:
        case Comparison(left, operator, right):
            terms = term(left, bindings), term(right, bindings)
            return None not in terms and compare(terms[0], operator, terms[1])
        case Call(function, arguments):
            return test(function, [term(each, bindings) for each in arguments]) is True
        case Negation(Call(function, arguments)):
            return test(function, [term(each, bindings) for each in arguments]) is False
