"""Parse tree to AST. Invariant: the context of an application decides its kind.

`name(arguments)` is an atom, a test, a function or an aggregate, and a group in parentheses is an
expression, a conjunction or a disjunction: the parent node decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from streamreasoner.lang.ast import (
    Aggregate,
    Atom,
    BinaryOperation,
    Call,
    Comparison,
    Constant,
    Disjunction,
    Import,
    Input,
    Negation,
    Output,
    PredicateIndicator,
    Rule,
    Span,
    UnaryMinus,
    Variable,
    Wildcard,
    bracketed,
)
from streamreasoner.lang.constants import RDF_TYPE, UNREADABLE, negative, plain_value
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.values.builtins import TESTS, is_aggregate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.lang.ast import Base, Expression, Literal, Prefix
    from streamreasoner.lang.constants import ConstantReader


_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class _Application:
    """`name(arguments)`, an atom or a call, depending on the context."""

    name: str
    arguments: tuple[Expression, ...]
    span: Span
    distinct: bool


@dataclass(frozen=True, slots=True)
class _Group:
    """`( … | … )`, a disjunction, a conjunction or an expression, depending on the context."""

    alternatives: tuple[tuple[_Item, ...], ...]
    span: Span


_Item: TypeAlias = "Expression | Literal | _Application | _Group"


class Builder:
    """One method per grammar rule, from the span and the children's values to the node's value."""

    def __init__(self, constants: ConstantReader, diagnostics: list[Diagnostic]) -> None:
        self._constants = constants
        self._diagnostics = diagnostics

    def prefix(self, span: Span, children: list[str]) -> Prefix:
        """Read `@prefix ex: <iri> .`."""
        return self._constants.prefix(children[0], children[1], span)

    def base(self, span: Span, children: list[str]) -> Base:
        """Read `@base <iri> .`."""
        return self._constants.base(children[0], span)

    def input(self, span: Span, children: list[PredicateIndicator]) -> Input:
        """Read `@input edge/2, node .`."""
        return Input(tuple(children), span)

    def output(self, span: Span, children: list[PredicateIndicator]) -> Output:
        """Read `@output path .`."""
        return Output(tuple(children), span)

    def imported(self, span: Span, children: list[str]) -> Import | None:
        """Read `@import "file.dl" .`."""
        name = self._constants.literal(children[0], "", span)
        return None if name.term == UNREADABLE else Import(plain_value(name), span)

    def signature(self, span: Span, children: list[str]) -> PredicateIndicator:
        """Read `edge/2` or `edge`."""
        match children:
            case [name]:
                return PredicateIndicator(str(name), None, span)
            case [name, *_, arity]:
                # An arity with this many digits is too large anyway.
                return PredicateIndicator(str(name), int(arity[:_MAX_DIGITS]), span)
            case _:
                raise AssertionError("A signature has a name.")

    def rule(self, span: Span, children: list[Any]) -> Rule | None:
        """Read `heads :- body .` or `heads .`."""
        heads, items = (*children, ())[:2]
        body = self._literals(items)
        # With all literals refused, the rule would look like a fact.
        return None if items and not body else Rule(heads, body, span)

    def heads(self, _: Span, children: list[Atom | _Application]) -> tuple[Atom, ...]:
        """Read `path(?x, ?y), [?x, ex:near, ?y]`."""
        return tuple(self._atom(child) for child in children)

    def conjunction(self, _: Span, children: list[_Item]) -> tuple[_Item, ...]:
        """Read `edge(?x, ?y), ?x != ?y`."""
        return tuple(children)

    def negation(self, span: Span, children: list[Atom | _Application]) -> Negation:
        """Read `not edge(?x, _)`."""
        child = children[0]
        atom = self._test(child) if isinstance(child, _Application) else None
        return Negation(atom or self._atom(child), span)

    def comparison(self, span: Span, children: list[Any]) -> Comparison:
        """Read `?x < ?y`."""
        left, operator, right = children
        return Comparison(self._expression(left), str(operator), self._expression(right), span)

    def application(self, span: Span, children: list[Any]) -> _Application:
        """Read `name(arguments)`."""
        name, arguments = (*children, ())[:2]
        return _Application(str(name), arguments, span, distinct=False)

    def distinct(self, span: Span, children: list[Any]) -> _Application:
        """Read `name(distinct arguments)`."""
        name, arguments = children
        return _Application(str(name), arguments, span, distinct=True)

    def triple(self, span: Span, children: list[_Item | Span]) -> Atom:
        """Read `[?s, ?p, ?o]`, `[?s, a, ?o]` or `[?s, ?p, ?o, ?g]`."""
        arguments: list[Expression] = []
        for position, child in enumerate(children):
            if not isinstance(child, Span):
                arguments.append(self._expression(child))
                continue
            arguments.append(Constant(RDF_TYPE, child))
            if position != 1:
                self._report(
                    "SR107",
                    "`a` means rdf:type only as the predicate of a triple or quad",
                    child,
                    "a variable is written `?a`",
                )
        return Atom(bracketed(len(arguments)), tuple(arguments), span)

    def type(self, span: Span, _: list[str]) -> Span:
        """Read `a`, which becomes rdf:type in `triple`; until then its span represents it."""
        return span

    def arguments(self, _: Span, children: list[_Item]) -> tuple[Expression, ...]:
        """Read `?x, ?y + 1`."""
        return tuple(self._expression(child) for child in children)

    def group(self, span: Span, children: list[tuple[_Item, ...]]) -> _Group:
        """Read `(… | …)`, `(…, …)` or `(…)`."""
        return _Group(tuple(children), span)

    def operation(self, span: Span, children: list[Any]) -> BinaryOperation:
        """Read `?x + ?y`."""
        left, operator, right = children
        return BinaryOperation(str(operator), self._expression(left), self._expression(right), span)

    def negative(self, span: Span, children: list[Any]) -> Constant | UnaryMinus:
        """Read `-?x`; a negative number is a constant."""
        operand = self._expression(children[1])
        folded = negative(operand, span) if isinstance(operand, Constant) else None
        return folded or UnaryMinus(operand, span)

    def variable(self, span: Span, children: list[str]) -> Variable:
        """Read `?x`."""
        return Variable(children[0][1:], span)

    def wildcard(self, span: Span, _: list[str]) -> Wildcard:
        """Read `_`."""
        return Wildcard(span)

    def iri(self, span: Span, children: list[str]) -> Constant:
        """Read `<iri>`."""
        return self._constants.iri(children[0], span)

    def prefixed(self, span: Span, children: list[str]) -> Constant:
        """Read `ex:name`."""
        return self._constants.prefixed(children[0], span)

    def blank(self, span: Span, children: list[str]) -> Constant:
        """Read `_:b`."""
        return Constant(children[0], span)

    def literal(self, span: Span, children: list[str | Constant]) -> Constant:
        """Read `"text"`, `"text"@en` or `"text"^^ex:type`."""
        text, suffix = (*children, "")[:2]
        if isinstance(suffix, Constant):
            suffix = f"^^{suffix.term}"
        return self._constants.literal(str(text), str(suffix), span)

    def integer(self, span: Span, children: list[str]) -> Constant:
        """Read `42`."""
        return self._constants.number("integer", children[0], span)

    def decimal(self, span: Span, children: list[str]) -> Constant:
        """Read `4.2`."""
        return self._constants.number("decimal", children[0], span)

    def double(self, span: Span, children: list[str]) -> Constant:
        """Read `4.2e0`."""
        return self._constants.number("double", children[0], span)

    def boolean(self, span: Span, children: list[str]) -> Constant:
        """Read `true` or `false`."""
        return self._constants.boolean(children[0], span)

    def _atom(self, item: Atom | _Application) -> Atom:
        if isinstance(item, Atom):
            return item
        if item.distinct:
            self._report(
                "SR107",
                f"`distinct` is allowed only in aggregates, and '{item.name}' is a predicate here",
                item.span,
                "omit `distinct`: a predicate is a set",
            )
        return Atom(item.name, item.arguments, item.span)

    def _test(self, item: _Application) -> Call | None:
        if item.name not in TESTS or item.distinct:
            return None
        return Call(item.name, item.arguments, item.span)

    def _literals(self, items: Iterable[_Item]) -> tuple[Literal, ...]:
        return tuple(literal for item in items for literal in self._literal(item))

    def _literal(self, item: _Item) -> tuple[Literal, ...]:
        match item:
            case Atom() | Negation() | Comparison():
                return (item,)
            case _Application():
                return (self._test(item) or self._atom(item),)
            case _Group([only]):
                return self._literals(only)
            case _Group(alternatives, span):
                return (Disjunction(tuple(map(self._literals, alternatives)), span),)
            case _:
                self._report(
                    "SR107",
                    "found an expression, expected a literal",
                    item.span,
                    "a literal is an atom, a negated atom, a comparison, a test or a disjunction",
                )
                return ()

    def _expression(self, item: _Item) -> Expression:
        match item:
            case _Application(name, arguments, span, distinct):
                if is_aggregate(name, len(arguments), distinct=distinct):
                    return Aggregate(name, arguments, span, distinct)
                return Call(name, arguments, span)
            case _Group([[only]]):
                return self._expression(only)
            case _Group() | Atom() | Negation() | Comparison() | Disjunction():
                self._report(
                    "SR107",
                    "found a literal, expected an expression",
                    item.span,
                    "an expression is a term, arithmetic or a function of expressions",
                )
                return Constant(UNREADABLE, item.span)
            case _:
                return item

    def _report(self, code: str, message: str, span: Span, hint: str) -> None:
        self._diagnostics.append(Diagnostic(code, message, span, hint))
