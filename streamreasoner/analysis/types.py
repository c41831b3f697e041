"""Types of constants. Invariant: in a checked program no constant makes a literal meaningless."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from streamreasoner.lang.ast import (
    TRIPLE,
    Atom,
    BinaryOperation,
    Comparison,
    Constant,
    UnaryMinus,
    children,
    walk,
)
from streamreasoner.lang.constants import UNREADABLE
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.rdf import valuation
from streamreasoner.rdf.terms import Kind, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Expression, Literal, Program

_NUMBER = "number"
_KINDS = {
    valuation.Kind.EXACT: _NUMBER,
    valuation.Kind.DOUBLE: _NUMBER,
    valuation.Kind.STRING: "string",
    valuation.Kind.BOOLEAN: "boolean",
    valuation.Kind.INSTANT: "date or time",
}


def type_errors(program: Program) -> Iterator[Diagnostic]:
    """Report constants that a comparison, an operation or a triple can never use."""
    for rule in program.rules:
        for literal in (*rule.heads, *rule.body):
            for node in walk(literal):
                match node:
                    case Comparison():
                        yield from _comparison(node)
                    case BinaryOperation() | UnaryMinus():
                        yield from _arithmetic(node)
                    case Atom(predicate, (_, Constant() as verb, _)) if predicate == TRIPLE:
                        yield from _verb(verb)
                    case _:
                        pass


def value_kind(term: str) -> str | None:
    """Return what values a canonical term is ordered among, or None if it has no order."""
    parsed = parse(term)
    return _KINDS.get(valuation.value(parsed.value, parsed.datatype).kind)


def _comparison(comparison: Comparison) -> Iterator[Diagnostic]:
    operator = comparison.operator
    if operator in ("=", "!="):
        return
    constants = [side for side in children(comparison) if _readable(side)]
    kinds = [value_kind(constant.term) for constant in constants]
    for constant, kind in zip(constants, kinds, strict=True):
        if kind is None:
            yield Diagnostic(
                "SR240",
                f"`{operator}` with {_described(constant)}, which has no order",
                constant.span,
                "numbers, strings, booleans, dates and times are ordered;"
                " all terms can be compared with `=` and `!=`",
            )
    if None not in kinds and len(set(kinds)) > 1:
        message = f"`{operator}` between a {kinds[0]} and a {kinds[1]} never holds"
        hint = "compare values of one kind"
        yield Diagnostic("SR240", message, comparison.span, hint)


def _arithmetic(operation: BinaryOperation | UnaryMinus) -> Iterator[Diagnostic]:
    for operand in children(operation):
        if _readable(operand) and value_kind(operand.term) != _NUMBER:
            message = f"arithmetic with {_described(operand)}, which is not a number"
            yield Diagnostic("SR241", message, operand.span, "numbers are written 5, 0.5 or 5e-1")


def _verb(verb: Constant) -> Iterator[Diagnostic]:
    if not verb.term.startswith("<"):
        message = f"{_described(verb)} as the predicate of a triple, which is an IRI"
        yield Diagnostic("SR242", message, verb.span, "a triple is `[subject, predicate, object]`")


def _readable(node: Expression | Literal) -> TypeGuard[Constant]:
    """Whether a node is a constant that reading has not refused already."""
    return isinstance(node, Constant) and node.term != UNREADABLE


def _described(constant: Constant) -> str:
    parsed = parse(constant.term)
    if parsed.kind is not Kind.LITERAL:
        return f"the {parsed.kind.value} {constant.term}"
    return f"the literal {constant.term}"
