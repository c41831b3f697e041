"""Parse tree to AST. Invariant: the context of an application decides its kind.

`name(arguments)` is an atom, a test, a function or an aggregate, and a group in parentheses is an
expression, a conjunction or a disjunction: the parent node decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from streamreasoner import durations
from streamreasoner.lang import ast, limits, traversal
from streamreasoner.lang.constants import (
    RDF_TYPE,
    UNREADABLE,
    negative,
    plain_value,
    positive,
    triple_term,
)
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.rdf.graph_mode import GraphMode
from streamreasoner.values.builtins import TESTS, is_aggregate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.lang.constants import ConstantReader


_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class _Application:
    """`name(arguments)`, an atom or a call, depending on the context."""

    name: str
    arguments: tuple[ast.Expression, ...]
    span: ast.Span
    distinct: bool


@dataclass(frozen=True, slots=True)
class _Nested:
    """`( … | … )`, a disjunction, a conjunction or an expression, depending on the context."""

    alternatives: tuple[tuple[_Item, ...], ...]
    span: ast.Span


_Item: TypeAlias = "ast.Expression | ast.Literal | _Application | _Nested"


class Builder:
    """One method per grammar rule, from the span and the children's values to the node's value."""

    def __init__(self, constants: ConstantReader, diagnostics: list[Diagnostic]) -> None:
        self._constants = constants
        self._diagnostics = diagnostics

    def prefix(self, span: ast.Span, children: list[str]) -> ast.Prefix:
        """Read `@prefix ex: <iri> .`."""
        return self._constants.prefix(children[0], children[1], span)

    def base(self, span: ast.Span, children: list[str]) -> ast.Base:
        """Read `@base <iri> .`."""
        return self._constants.base(children[0], span)

    def input(self, span: ast.Span, children: list[ast.PredicateIndicator]) -> ast.Input:
        """Read `@input edge/2, node .`."""
        return ast.Input(tuple(children), span)

    def output(self, span: ast.Span, children: list[ast.PredicateIndicator]) -> ast.Output:
        """Read `@output path .`."""
        return ast.Output(tuple(children), span)

    def hidden(self, span: ast.Span, children: list[ast.PredicateIndicator]) -> ast.Hidden:
        """Read `@hidden part .`."""
        return ast.Hidden(tuple(children), span)

    def graphs(self, span: ast.Span, children: list[str]) -> ast.Graphs | None:
        """Read `@graphs each .`."""
        name = str(children[0])
        if name in [*GraphMode]:
            return ast.Graphs(GraphMode(name), span)
        modes = ", ".join(f"`{mode}`" for mode in GraphMode)
        message = f"`{name}` says nothing of graphs"
        self._diagnostics.append(Diagnostic("SR215", message, span, f"write one of {modes}"))
        return None

    def annotate(self, span: ast.Span, children: list[ast.Constant]) -> ast.Annotate:
        """Read `@annotate ex:provenance .`."""
        return ast.Annotate(children[0], span)

    def imported(self, span: ast.Span, children: list[str]) -> ast.Import | None:
        """Read `@import "file.dl" .`."""
        name = self._constants.literal(children[0], "", span)
        return None if name.term == UNREADABLE else ast.Import(plain_value(name), span)

    def query(self, span: ast.Span, children: list[str]) -> ast.Query | None:
        """Read `@query late "late.rq" .`."""
        file = self._constants.literal(children[1], "", span)
        if file.term == UNREADABLE:
            return None
        return ast.Query(str(children[0]), plain_value(file), span)

    def expires(self, span: ast.Span, children: list[Any]) -> ast.Expires | None:
        """Read `@expires edge(_, _) after "PT10M" every "PT1M" .`."""
        pattern, *texts = children
        after, every = (*(self._duration(text, span) for text in texts), 1)[:2]
        if not after or not every:
            return None
        return ast.Expires(self._atom(pattern), after, every, span)

    def counted(self, span: ast.Span, children: list[str]) -> ast.Atom:
        """Read `edge/2` as `edge(_, _)`."""
        name, arity = str(children[0]), int(children[-1][:_MAX_DIGITS])
        # A longer atom is beyond the limits as well, which its own diagnostic says.
        wildcards = (ast.Wildcard(span),) * min(arity, limits.ARGUMENTS + 1)
        return ast.Atom(name, wildcards, span)

    def message(self, span: ast.Span, children: list[Any]) -> ast.Message | None:
        """Read `@message late(?x) "{?x} is late" .`."""
        atom = self._atom(children[0])
        text = self._constants.literal(children[1], "", span)
        return None if text.term == UNREADABLE else ast.Message(atom, plain_value(text), span)

    def columns(self, span: ast.Span, children: list[Any]) -> ast.Columns:
        """Read `@columns path(?from, ?to) .`."""
        return ast.Columns(self._atom(children[0]), span)

    def signature(self, span: ast.Span, children: list[str]) -> ast.PredicateIndicator:
        """Read `edge/2` or `edge`."""
        match children:
            case [name]:
                return ast.PredicateIndicator(str(name), None, span)
            case [name, *_, arity]:
                # An arity with this many digits is too large anyway.
                return ast.PredicateIndicator(str(name), int(arity[:_MAX_DIGITS]), span)
            case _:
                raise AssertionError("A signature has a name.")

    def rule(self, span: ast.Span, children: list[Any]) -> ast.Rule | None:
        """Read `heads :- body .` or `heads .`, with or without a name before it."""
        name = children.pop(0) if isinstance(children[0], str) else None
        heads, items = (*children, ())[:2]
        body = self._literals(items)
        # With all literals refused, the rule would look like a fact.
        return None if items and not body else ast.Rule(heads, body, span, name)

    def name(self, span: ast.Span, children: list[str]) -> str:
        """Read `@rule "cax-sco"`."""
        return plain_value(self._constants.literal(children[0], "", span))

    def heads(self, _: ast.Span, children: list[ast.Atom | _Application]) -> tuple[ast.Atom, ...]:
        """Read `path(?x, ?y), [?x, ex:near, ?y]`."""
        return tuple(self._atom(child) for child in children)

    def violation(self, span: ast.Span, children: list[_Application]) -> ast.Atom:
        """Read `!late(?x)`."""
        return replace(self._atom(children[0]), span=span, violation=True)

    def conjunction(self, _: ast.Span, children: list[_Item]) -> tuple[_Item, ...]:
        """Read `edge(?x, ?y), ?x != ?y`."""
        return tuple(children)

    def negation(self, span: ast.Span, children: list[ast.Atom | _Application]) -> ast.Negation:
        """Read `not edge(?x, _)`."""
        child = children[0]
        atom = self._test(child) if isinstance(child, _Application) else None
        return ast.Negation(atom or self._atom(child), span)

    def negated_body(self, span: ast.Span, children: list[tuple[_Item, ...]]) -> ast.NegatedBody:
        """Read `not { edge(?x, ?y), ?y > 1 }`."""
        return ast.NegatedBody(self._literals(children[0]), span)

    def asserted(self, span: ast.Span, children: list[Any]) -> ast.Atom:
        """Read `asserted edge(?x, _)`."""
        return replace(self._atom(children[-1]), span=span, asserted=True)

    def comparison(self, span: ast.Span, children: list[Any]) -> ast.Comparison:
        """Read `?x < ?y`."""
        left, operator, right = children
        return ast.Comparison(self._expression(left), str(operator), self._expression(right), span)

    def application(self, span: ast.Span, children: list[Any]) -> _Application:
        """Read `name(arguments)`."""
        name, arguments = (*children, ())[:2]
        return _Application(str(name), arguments, span, distinct=False)

    def distinct(self, span: ast.Span, children: list[Any]) -> _Application:
        """Read `name(distinct arguments)`."""
        name, arguments = children
        return _Application(str(name), arguments, span, distinct=True)

    def aggregation(self, span: ast.Span, children: list[Any]) -> ast.BodyAggregate:
        """Read `count(?y) { edge(?x, ?y) }`."""
        item, body = children
        return ast.BodyAggregate(
            item.name, item.arguments, self._literals(body), span, item.distinct
        )

    def conditional(self, span: ast.Span, children: list[_Item]) -> ast.Conditional:
        """Read `if(?x < 1, ?x, 1)`; no fact can satisfy the condition."""
        condition, then, otherwise = children
        literals = self._literals((condition,))
        for literal in literals:
            for node in traversal.walk(literal):
                match node:
                    case ast.Atom(predicate):
                        found = f"atom '{predicate}'"
                    case ast.NegatedBody():
                        found = "a negated conjunction"
                    case _:
                        continue
                self._report(
                    "SR107",
                    f"{found} in the condition of an `if`",
                    node.span,
                    "a condition is made of comparisons and tests; write two alternatives:"
                    " `(a(?x), ?y = 1 | not a(?x), ?y = 2)`",
                )
        # What is left is read on, for other mistakes.
        plain = tuple(
            each
            for each in literals
            if not any(isinstance(node, ast.NegatedBody) for node in traversal.walk(each))
        )
        return ast.Conditional(plain, self._expression(then), self._expression(otherwise), span)

    def triple(self, span: ast.Span, children: list[_Item | ast.Span]) -> ast.Atom:
        """Read `[?s, ?p, ?o]`, `[?s, a, ?o]` or `[?s, ?p, ?o, ?g]`."""
        arguments = self._terms(children)
        return ast.Atom(ast.bracketed(len(arguments)), arguments, span)

    def _terms(self, children: list[_Item | ast.Span]) -> tuple[ast.Expression, ...]:
        """The terms of a triple, a quad or a triple term, with rdf:type for `a`."""
        terms: list[ast.Expression] = []
        for position, child in enumerate(children):
            if not isinstance(child, ast.Span):
                terms.append(self._expression(child))
                continue
            terms.append(ast.Constant(RDF_TYPE, child))
            if position != 1:
                self._report(
                    "SR107",
                    "`a` means rdf:type only as the predicate of a triple or quad",
                    child,
                    "a variable is written `?a`",
                )
        return tuple(terms)

    def type(self, span: ast.Span, _: list[str]) -> ast.Span:
        """Read `a`, which becomes rdf:type in `triple`; until then its span represents it."""
        return span

    def triple_term(
        self, span: ast.Span, children: list[_Item | ast.Span]
    ) -> ast.Constant | ast.TripleTerm:
        """Read `<<( ?s ex:p ?o )>>`."""
        return triple_term(self._terms(children), span)

    def arguments(self, _: ast.Span, children: list[_Item]) -> tuple[ast.Expression, ...]:
        """Read `?x, ?y + 1`."""
        return tuple(self._expression(child) for child in children)

    def group(self, span: ast.Span, children: list[tuple[_Item, ...]]) -> _Nested:
        """Read `(… | …)`, `(…, …)` or `(…)`."""
        return _Nested(tuple(children), span)

    def operation(self, span: ast.Span, children: list[Any]) -> ast.BinaryOperation:
        """Read `?x + ?y`."""
        left, operator, right = children
        return ast.BinaryOperation(
            str(operator), self._expression(left), self._expression(right), span
        )

    def negative(self, span: ast.Span, children: list[Any]) -> ast.Constant | ast.UnaryMinus:
        """Read `-?x`; a negative number is a constant."""
        operand = self._expression(children[1])
        folded = negative(operand, span) if isinstance(operand, ast.Constant) else None
        return folded or ast.UnaryMinus(operand, span)

    def positive(self, span: ast.Span, children: list[Any]) -> ast.Constant:
        """Read `+1.5`, another term than `1.5`."""
        return positive(children[1], span)

    def variable(self, span: ast.Span, children: list[str]) -> ast.Variable:
        """Read `?x`."""
        return ast.Variable(children[0][1:], span)

    def wildcard(self, span: ast.Span, _: list[str]) -> ast.Wildcard:
        """Read `_`."""
        return ast.Wildcard(span)

    def iri(self, span: ast.Span, children: list[str]) -> ast.Constant:
        """Read `<iri>`."""
        return self._constants.iri(children[0], span)

    def prefixed(self, span: ast.Span, children: list[str]) -> ast.Constant:
        """Read `ex:name`."""
        return self._constants.prefixed(children[0], span)

    def blank(self, span: ast.Span, children: list[str]) -> ast.Constant:
        """Read `_:b`."""
        return ast.Constant(children[0], span)

    def literal(self, span: ast.Span, children: list[str | ast.Constant]) -> ast.Constant:
        """Read `"text"`, `"text"@en` or `"text"^^ex:type`."""
        text, suffix = (*children, "")[:2]
        if isinstance(suffix, ast.Constant):
            suffix = f"^^{suffix.term}"
        return self._constants.literal(str(text), str(suffix), span)

    def integer(self, span: ast.Span, children: list[str]) -> ast.Constant:
        """Read `42`."""
        return self._constants.number("integer", children[0], span)

    def decimal(self, span: ast.Span, children: list[str]) -> ast.Constant:
        """Read `4.2`."""
        return self._constants.number("decimal", children[0], span)

    def double(self, span: ast.Span, children: list[str]) -> ast.Constant:
        """Read `4.2e0`."""
        return self._constants.number("double", children[0], span)

    def boolean(self, span: ast.Span, children: list[str]) -> ast.Constant:
        """Read `true` or `false`."""
        return self._constants.boolean(children[0], span)

    def _duration(self, quoted: str, span: ast.Span) -> int:
        """Milliseconds, 0 if the text is not a duration."""
        literal = self._constants.literal(quoted, "", span)
        if literal.term == UNREADABLE:
            return 0
        try:
            duration = durations.milliseconds(plain_value(literal))
        except ValueError:
            duration = 0
        if not duration:
            found = f"{quoted[:60]} is not a duration"
            self._report("SR104", found, span, f"write {durations.ALLOWED}")
        return duration

    def _atom(self, item: ast.Atom | _Application) -> ast.Atom:
        if isinstance(item, ast.Atom):
            return item
        if item.distinct:
            self._report(
                "SR107",
                f"`distinct` is allowed only in aggregates, and '{item.name}' is a predicate here",
                item.span,
                "omit `distinct`: a predicate is a set",
            )
        return ast.Atom(item.name, item.arguments, item.span)

    def _test(self, item: _Application) -> ast.Call | None:
        if item.name not in TESTS or item.distinct:
            return None
        return ast.Call(item.name, item.arguments, item.span)

    def _literals(self, items: Iterable[_Item]) -> tuple[ast.Literal, ...]:
        return tuple(literal for item in items for literal in self._literal(item))

    def _literal(self, item: _Item) -> tuple[ast.Literal, ...]:
        match item:
            case ast.Atom() | ast.Negation() | ast.NegatedBody() | ast.Comparison():
                return (item,)
            case _Application():
                return (self._test(item) or self._atom(item),)
            case _Nested([only]):
                return self._literals(only)
            case _Nested(alternatives, span):
                return (ast.Disjunction(tuple(map(self._literals, alternatives)), span),)
            case _:
                self._report(
                    "SR107",
                    "found an expression, expected a literal",
                    item.span,
                    "a literal is an atom, a negated atom, a comparison, a test or a disjunction",
                )
                return ()

    def _expression(self, item: _Item) -> ast.Expression:
        match item:
            case _Application(name, arguments, span, distinct):
                if is_aggregate(name, len(arguments), distinct=distinct):
                    return ast.Aggregate(name, arguments, span, distinct)
                return ast.Call(name, arguments, span)
            case _Nested([[only]]):
                return self._expression(only)
            case (
                _Nested()
                | ast.Atom()
                | ast.Negation()
                | ast.NegatedBody()
                | ast.Comparison()
                | ast.Disjunction()
            ):
                self._report(
                    "SR107",
                    "found a literal, expected an expression",
                    item.span,
                    "an expression is a term, arithmetic or a function of expressions",
                )
                return ast.Constant(UNREADABLE, item.span)
            case _:
                return item

    def _report(self, code: str, message: str, span: ast.Span, hint: str) -> None:
        self._diagnostics.append(Diagnostic(code, message, span, hint))
