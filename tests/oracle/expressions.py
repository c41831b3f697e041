"""Expressions and conditions of a rule. Invariant: a part without a value never matches."""

from __future__ import annotations

from oracle.arithmetic import arithmetic
from oracle.builtins import call, compare, test
from streamreasoner.lang.ast import (
    Aggregate,
    BinaryOperation,
    Call,
    Comparison,
    Conditional,
    Constant,
    Disjunction,
    Negation,
    TripleTerm,
    UnaryMinus,
    Variable,
)
from streamreasoner.lang.traversal import variables


def term(expression, bindings):  # noqa: PLR0911
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
        case TripleTerm():
            return call("triple", [term(part, bindings) for part in expression.parts])
        case Call("coalesce", arguments):
            values = (term(argument, bindings) for argument in arguments)
            return next((each for each in values if each is not None), None)
        case Conditional(condition, then, otherwise):
            truth = conjunction(condition, bindings)
            return None if truth is None else term(then if truth else otherwise, bindings)
        case Call(function, arguments):
            return call(function, [term(argument, bindings) for argument in arguments])
        case Aggregate(_, (operand, *_)):
            return term(operand, bindings)


def conjunction(literals, bindings):
    """The truth of the conditions of an `if`: False if one is, else None if one has no value."""
    found = {truth(each, bindings) for each in literals}
    return False if False in found else None if None in found else True


def truth(literal, bindings):
    """The truth of a condition of an `if`: True, False or None."""
    match literal:
        case Comparison(left, operator, right):
            terms = term(left, bindings), term(right, bindings)
            return None if None in terms else compare(terms[0], operator, terms[1])
        case Call(function, arguments):
            return test(function, [term(each, bindings) for each in arguments])
        case Negation(inner):
            found = truth(inner, bindings)
            return None if found is None else not found
        case Disjunction(alternatives):
            found = {conjunction(each, bindings) for each in alternatives}
            return True if True in found else None if None in found else False


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
