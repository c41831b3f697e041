"""Expressions and conditions of a rule. Invariant: where a part has no value, nothing matches."""

from __future__ import annotations

from oracle.arithmetic import arithmetic
from oracle.builtins import call, compare, test
from streamreasoner.lang.ast import (
    Atom,
    BinaryOperation,
    Call,
    Comparison,
    Constant,
    Negation,
    UnaryMinus,
    Variable,
    Wildcard,
    variables,
)

ANYTHING = "_"
"""What a wildcard asks for; no term is spelt so."""


def term(expression, bindings):
    """The canonical term that an expression is; None if it has no value."""
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


def assigned(rule, bindings):
    """The bindings with the variables that equations bind; None if one of them has no value.

    A variable of a positive atom is bound before, so no equation binds it.
    """
    for one, other in equations(rule):
        unbound = isinstance(one, Variable) and one.name not in bindings
        if unbound and all(variable.name in bindings for variable in variables(other)):
            value = term(other, bindings)
            return None if value is None else assigned(rule, {**bindings, one.name: value})
    return bindings


def equations(rule):
    """Both readings of each `=`, in the order of the text."""
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.operator == "=":
            yield literal.left, literal.right
            yield literal.right, literal.left


def expected(atom, bindings):
    """The terms that an atom asks for; None if an expression among them has no value."""
    terms = [
        ANYTHING if isinstance(argument, Wildcard) else term(argument, bindings)
        for argument in atom.arguments
    ]
    return None if None in terms else terms


def fits(arguments, wanted):
    """Whether the arguments of a fact are the terms that are wanted, or anything is."""
    return all(
        want is ANYTHING or want == given for want, given in zip(wanted, arguments, strict=True)
    )


def holds(literal, bindings, facts=()):
    """Whether a literal of a body that is no positive atom is true; `facts` by predicate."""
    match literal:
        case Comparison(left, operator, right):
            one, other = term(left, bindings), term(right, bindings)
            return None not in (one, other) and compare(one, operator, other)
        case Call(function, arguments):
            return test(function, [term(each, bindings) for each in arguments]) is True
        case Negation(Call(function, arguments)):
            return test(function, [term(each, bindings) for each in arguments]) is False
        case Negation(Atom() as atom):
            wanted = expected(atom, bindings)
            return wanted is not None and not any(
                fits(fact, wanted) for fact in facts[atom.predicate]
            )
