"""Evaluate expressions and literals under bindings. Invariant: values equal those of the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from streamreasoner.lang.ast import (
    Aggregate,
    Atom,
    BinaryOperation,
    Call,
    Comparison,
    Constant,
    Negation,
    Span,
    UnaryMinus,
    Variable,
    Wildcard,
    variables,
)
from streamreasoner.values.builtins import apply, test
from streamreasoner.values.comparison import Operator, compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.lang.ast import Expression, Literal
    from streamreasoner.query.facts import Fact

    Bindings = Mapping[str, str]

_Node = TypeVar("_Node", bound="Expression | Literal")

NOWHERE = Span("", 1, 1, 1, 1, 0, 0)
"""Span of a node that is in no source text."""


def atom_of(fact: Fact) -> Atom:
    """The fact as an atom."""
    return Atom(fact.predicate, tuple(Constant(term, NOWHERE) for term in fact.arguments), NOWHERE)


def operand(argument: Expression) -> Expression:
    """The operand of an aggregate; any other head argument unchanged."""
    return argument.arguments[0] if isinstance(argument, Aggregate) else argument


def is_bound(node: Expression | Literal, bindings: Bindings) -> bool:
    """Whether all variables of a node are bound."""
    return all(variable.name in bindings for variable in variables(node))


def value(expression: Expression, bindings: Bindings) -> str | None:
    """The value of an expression as a term; None if it has none."""
    match expression:
        case Constant(term):
            return term
        case Variable(name):
            return bindings[name]
        case BinaryOperation(operator, left, right):
            return _apply(operator, (left, right), bindings)
        case UnaryMinus(inner):
            return _apply("negate", (inner,), bindings)
        case Call(function, arguments):
            return _apply(function, arguments, bindings)
        case Wildcard() | Aggregate():
            raise AssertionError(f"{expression} cannot have a value.")


def holds(literal: Literal, bindings: Bindings) -> bool | None:
    """Whether a comparison or test holds; None if a part of it has no value."""
    match literal:
        case Comparison(left, operator, right):
            left_term, right_term = value(left, bindings), value(right, bindings)
            if left_term is None or right_term is None:
                return None
            return Operator(operator).accepts(compare(left_term, right_term))
        case Call(function, arguments):
            terms = [value(argument, bindings) for argument in arguments]
            known = [term for term in terms if term is not None]
            return test(function, known) if len(known) == len(terms) else None
        case Negation(Call() as call):
            truth = holds(call, bindings)
            return None if truth is None else not truth
        case _:
            raise AssertionError(f"{literal} is not a condition.")


def ground(node: _Node, bindings: Bindings) -> _Node:
    """The node with bound variables replaced by constants."""
    return cast("_Node", _ground(node, bindings))


def computed(expression: Expression, bindings: Bindings) -> Iterator[Comparison]:
    """`3 + 4 = 7` for a bound expression that has a value; nothing for a plain term."""
    is_term = isinstance(expression, Constant | Variable | Wildcard)
    if not is_term and is_bound(expression, bindings):
        term = value(expression, bindings)
        if term is not None:
            result = Constant(term, NOWHERE)
            yield Comparison(ground(expression, bindings), "=", result, NOWHERE)


def conditions(literal: Literal, bindings: Bindings) -> Iterator[Literal]:
    """The values of the expressions in a literal, then the literal itself; no positive atoms.

    `?a + ?b > 5` yields `3 + 4 = 7` and `7 > 5`. An equation between a value and a term is yielded
    once.
    """
    match literal:
        case Comparison(left, operator, right):
            sides = [side for side in (left, right) if list(computed(side, bindings))]
            for side in sides:
                yield from computed(side, bindings)
            left_term, right_term = value(left, bindings), value(right, bindings)
            if not (operator == "=" and len(sides) == 1 and left_term == right_term):
                yield Comparison(
                    _term(left, left_term), operator, _term(right, right_term), NOWHERE
                )
        case Call(function, arguments):
            for argument in arguments:
                yield from computed(argument, bindings)
            terms = [_term(argument, value(argument, bindings)) for argument in arguments]
            yield Call(function, tuple(terms), NOWHERE)
        case Negation(Call() as call):
            *before, truth = conditions(call, bindings)
            yield from before
            yield Negation(cast("Call", truth), NOWHERE)
        case Negation(Atom() as atom):
            for argument in atom.arguments:
                yield from computed(argument, bindings)
            yield Negation(pattern(atom, bindings), NOWHERE)
        case _:
            raise AssertionError(f"{literal} is not a condition.")


def pattern(atom: Atom, bindings: Bindings) -> Atom:
    """An atom with bound variables and expressions replaced by their values."""
    return Atom(
        atom.predicate,
        tuple(
            argument
            if isinstance(argument, Wildcard) or not is_bound(argument, bindings)
            else _term(argument, value(argument, bindings))
            for argument in atom.arguments
        ),
        NOWHERE,
    )


def _term(expression: Expression, term: str | None) -> Expression:
    return expression if term is None else Constant(term, NOWHERE)


def _apply(function: str, arguments: tuple[Expression, ...], bindings: Bindings) -> str | None:
    terms = []
    for argument in arguments:
        term = value(argument, bindings)
        if term is None:
            return None
        terms.append(term)
    return apply(function, terms)


def _ground(node: Expression | Literal, bindings: Bindings) -> Expression | Literal:
    match node:
        case Variable(name):
            return Constant(bindings[name], NOWHERE) if name in bindings else node
        case BinaryOperation(_, left, right) | Comparison(left, _, right):
            return replace(node, left=ground(left, bindings), right=ground(right, bindings))
        case UnaryMinus(inner):
            return replace(node, operand=ground(inner, bindings))
        case Call(_, arguments) | Atom(_, arguments) | Aggregate(_, arguments):
            return replace(node, arguments=tuple(ground(each, bindings) for each in arguments))
        case Negation(atom):
            return replace(node, atom=ground(atom, bindings))
        case _:
            return node
