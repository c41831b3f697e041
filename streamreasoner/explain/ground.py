"""Evaluate expressions and literals under bindings. Invariant: values equal those of the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from streamreasoner.lang import ast
from streamreasoner.values.builtins import apply, test
from streamreasoner.values.comparison import Operator, compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.query.facts import Fact

    Bindings = Mapping[str, str]

_Node = TypeVar("_Node", bound="ast.Expression | ast.Literal")

NOWHERE = ast.Span("", 1, 1, 1, 1, 0, 0)
"""Span of a node that is in no source text."""


def atom_of(fact: Fact) -> ast.Atom:
    """The fact as an atom."""
    return ast.Atom(
        fact.predicate, tuple(ast.Constant(term, NOWHERE) for term in fact.arguments), NOWHERE
    )


def operand(argument: ast.Expression) -> ast.Expression:
    """The operand of an aggregate; any other head argument unchanged."""
    return argument.arguments[0] if isinstance(argument, ast.Aggregate) else argument


def is_bound(node: ast.Expression | ast.Literal, bindings: Bindings) -> bool:
    """Whether all variables of a node are bound."""
    return all(variable.name in bindings for variable in ast.variables(node))


def value(expression: ast.Expression, bindings: Bindings) -> str | None:
    """The value of an expression as a term; None if it has none."""
    match expression:
        case ast.Constant(term):
            return term
        case ast.Variable(name):
            return bindings[name]
        case ast.BinaryOperation(operator, left, right):
            return _apply(operator, (left, right), bindings)
        case ast.UnaryMinus(inner):
            return _apply("negate", (inner,), bindings)
        case ast.Call(function, arguments):
            return _apply(function, arguments, bindings)
        case ast.Wildcard() | ast.Aggregate():
            raise AssertionError(f"{expression} cannot have a value.")


def holds(literal: ast.Literal, bindings: Bindings) -> bool | None:
    """Whether a comparison or test holds; None if a part of it has no value."""
    match literal:
        case ast.Comparison(left, operator, right):
            left_term, right_term = value(left, bindings), value(right, bindings)
            if left_term is None or right_term is None:
                return None
            return Operator(operator).accepts(compare(left_term, right_term))
        case ast.Call(function, arguments):
            terms = [value(argument, bindings) for argument in arguments]
            known = [term for term in terms if term is not None]
            return test(function, known) if len(known) == len(terms) else None
        case ast.Negation(ast.Call() as call):
            truth = holds(call, bindings)
            return None if truth is None else not truth
        case _:
            raise AssertionError(f"{literal} is not a condition.")


def ground(node: _Node, bindings: Bindings) -> _Node:
    """The node with bound variables replaced by constants."""
    return cast("_Node", _ground(node, bindings))


def computed(expression: ast.Expression, bindings: Bindings) -> Iterator[ast.Comparison]:
    """`3 + 4 = 7` for a bound expression that has a value; nothing for a plain term."""
    is_term = isinstance(expression, ast.Constant | ast.Variable | ast.Wildcard)
    if not is_term and is_bound(expression, bindings):
        term = value(expression, bindings)
        if term is not None:
            result = ast.Constant(term, NOWHERE)
            yield ast.Comparison(ground(expression, bindings), "=", result, NOWHERE)


def conditions(literal: ast.Literal, bindings: Bindings) -> Iterator[ast.Literal]:
    """The values of the expressions in a literal, then the literal itself; no positive atoms.

    `?a + ?b > 5` yields `3 + 4 = 7` and `7 > 5`. An equation between a value and a term is yielded
    once.
    """
    match literal:
        case ast.Comparison(left, operator, right):
            sides = [side for side in (left, right) if list(computed(side, bindings))]
            for side in sides:
                yield from computed(side, bindings)
            left_term, right_term = value(left, bindings), value(right, bindings)
            if not (operator == "=" and len(sides) == 1 and left_term == right_term):
                yield ast.Comparison(
                    _term(left, left_term), operator, _term(right, right_term), NOWHERE
                )
        case ast.Call(function, arguments):
            for argument in arguments:
                yield from computed(argument, bindings)
            terms = [_term(argument, value(argument, bindings)) for argument in arguments]
            yield ast.Call(function, tuple(terms), NOWHERE)
        case ast.Negation(ast.Call() as call):
            *before, truth = conditions(call, bindings)
            yield from before
            yield ast.Negation(cast("ast.Call", truth), NOWHERE)
        case ast.Negation(ast.Atom() as atom):
            for argument in atom.arguments:
                yield from computed(argument, bindings)
            yield ast.Negation(pattern(atom, bindings), NOWHERE)
        case _:
            raise AssertionError(f"{literal} is not a condition.")


def pattern(atom: ast.Atom, bindings: Bindings) -> ast.Atom:
    """An atom with bound variables and expressions replaced by their values."""
    return ast.Atom(
        atom.predicate,
        tuple(
            argument
            if isinstance(argument, ast.Wildcard) or not is_bound(argument, bindings)
            else _term(argument, value(argument, bindings))
            for argument in atom.arguments
        ),
        NOWHERE,
    )


def _term(expression: ast.Expression, term: str | None) -> ast.Expression:
    return expression if term is None else ast.Constant(term, NOWHERE)


def _apply(function: str, arguments: tuple[ast.Expression, ...], bindings: Bindings) -> str | None:
    terms = []
    for argument in arguments:
        term = value(argument, bindings)
        if term is None:
            return None
        terms.append(term)
    return apply(function, terms)


def _ground(node: ast.Expression | ast.Literal, bindings: Bindings) -> ast.Expression | ast.Literal:
    match node:
        case ast.Variable(name):
            return ast.Constant(bindings[name], NOWHERE) if name in bindings else node
        case ast.BinaryOperation(_, left, right) | ast.Comparison(left, _, right):
            return replace(node, left=ground(left, bindings), right=ground(right, bindings))
        case ast.UnaryMinus(inner):
            return replace(node, operand=ground(inner, bindings))
        case ast.Call(_, arguments) | ast.Atom(_, arguments) | ast.Aggregate(_, arguments):
            return replace(node, arguments=tuple(ground(each, bindings) for each in arguments))
        case ast.Negation(atom):
            return replace(node, atom=ground(atom, bindings))
        case _:
            return node
