"""Types. Invariant: in a checked program no expression is statically known to have no value.

At run time a value of a wrong type is not an error: the literal does not match. A literal whose
constants and built-ins show that it never matches is refused, and so is an order of terms that have
none, though equal ones satisfy `<=`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.analysis.expression_kinds import (
    PLACES,
    TRIPLE_PLACES,
    kinds_of,
    kinds_of_variables,
)
from streamreasoner.lang import ast, traversal
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.normal_form import normal_form
from streamreasoner.lang.printer import print_expression
from streamreasoner.values.builtins import AGGREGATES, FUNCTIONS, TESTS
from streamreasoner.values.kinds import (
    INTEGERS,
    IRIS,
    NUMBERS,
    ORDERED,
    STRINGS,
    TEXTS,
    TRIPLES,
    Kind,
    described,
)
from streamreasoner.values.numbers import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.values.builtins import Signature
    from streamreasoner.values.kinds import Kinds

_ORDER_OPERATORS = frozenset({"<", "<=", ">", ">="})
_EXTREMES = frozenset({"min", "max"})


def type_errors(program: ast.Program) -> Iterator[Diagnostic]:
    """Report expressions that cannot have a value, and terms at positions RDF does not allow."""
    prefixes = program.prefixes
    for rule in program.rules:
        for part in normal_form(rule):
            types = _Types(part, prefixes)
            for literal in (part.head, *part.body):
                for node in traversal.walk(literal):
                    yield from types.check(node)


def families(kinds: Kinds) -> Kinds:
    """Merge the numeric kinds: values of different families are never equal."""
    return frozenset(Kind.DECIMAL if kind in NUMBERS else kind for kind in kinds)


class _Types:
    """Checks of the nodes of one rule, whose variables have kinds once a check needs them."""

    def __init__(self, rule: ast.Rule, prefixes: Mapping[str, str]) -> None:
        self._rule = rule
        self._known: Mapping[str, Kinds] | None = None
        self._prefixes = prefixes

    def check(self, node: ast.Expression | ast.Literal) -> Iterator[Diagnostic]:
        """Report the errors of this node, not of those below it."""
        match node:
            case ast.Comparison(left, operator, right) if operator in _ORDER_OPERATORS:
                yield from self._ordered(node, operator, (left, right))
            case ast.BinaryOperation() | ast.UnaryMinus():
                yield from self._arithmetic(node)
            case ast.Call(name, arguments) if name in _EXTREMES and len(arguments) > 1:
                yield from self._ordered(node, name, arguments)
            case ast.Call(name, arguments) if signature := FUNCTIONS.get(name) or TESTS.get(name):
                yield from self._arguments(name, signature, arguments)
            case ast.Aggregate(name, arguments) if name in AGGREGATES:
                yield from self._arguments(name, AGGREGATES[name], arguments)
            case ast.Atom(predicate) if predicate in PLACES:
                yield from self._places(node, PLACES[predicate])
            case ast.TripleTerm():
                yield from self._parts(node)
            case _:
                pass

    def _ordered(
        self, node: ast.Comparison | ast.Call, operator: str, sides: Sequence[ast.Expression]
    ) -> Iterator[Diagnostic]:
        kinds = [self._kinds(side) for side in sides]
        wrong = [side for side, found in zip(sides, kinds, strict=True) if not found & ORDERED]
        for side in wrong:
            yield Diagnostic(
                "SR240",
                f"`{operator}` with {self._describe(side)}, which has no order",
                side.span,
                "numbers, strings, booleans, dates and times are ordered;"
                " all terms can be compared with `=` and `!=`",
            )
        ordered = [operand & ORDERED for operand in kinds]
        if not wrong and not frozenset.intersection(*(families(operand) for operand in ordered)):
            known = dict.fromkeys(
                described(_with_all_numbers(operand)) for operand in ordered if operand != ORDERED
            )
            never = "never holds" if isinstance(node, ast.Comparison) else "has no value"
            message = f"`{operator}` between {' and '.join(known)} {never}"
            hint = "compare values of one kind"
            if any(operand <= NUMBERS for operand in ordered) and STRINGS in ordered:
                hint += "; to_number(…) reads a number from a string"
            yield Diagnostic("SR240", message, node.span, hint)

    def _arithmetic(self, node: ast.BinaryOperation | ast.UnaryMinus) -> Iterator[Diagnostic]:
        for operand in (
            (node.operand,) if isinstance(node, ast.UnaryMinus) else (node.left, node.right)
        ):
            kinds = self._kinds(operand)
            if not kinds & NUMBERS:
                hint = "numbers are written 5, 0.5 or 5e-1"
                if kinds <= TEXTS:
                    hint += "; to_number(…) reads one from a string, concat(…, …) joins strings"
                message = f"arithmetic with {self._describe(operand)}, which is not a number"
                yield Diagnostic("SR241", message, operand.span, hint)
        match node:
            case ast.BinaryOperation("/" | "%" as operator, left, ast.Constant(term) as divisor):
                value = number(term)
                exact = all(self._kinds(side) != {Kind.DOUBLE} for side in (left, divisor))
                if value is not None and exact and not value.units:
                    message = f"`{operator}` by zero has no value"
                    hint = "exact numbers cannot be divided by zero; doubles can: 0e0"
                    yield Diagnostic("SR245", message, divisor.span, hint)
            case _:
                pass

    def _arguments(
        self, name: str, builtin: Signature, arguments: Sequence[ast.Expression]
    ) -> Iterator[Diagnostic]:
        last = len(builtin.parameters) - 1
        for position, argument in enumerate(arguments):
            expected = builtin.parameters[min(position, last)]
            kinds = self._kinds(argument)
            if not kinds & expected:
                message = f"'{name}' takes {described(expected)}, not {self._describe(argument)}"
                yield Diagnostic("SR244", message, argument.span, _conversion(kinds, expected))

    def _places(self, atom: ast.Atom, places: Mapping[int, Kinds]) -> Iterator[Diagnostic]:
        for position, allowed in places.items():
            for argument in atom.arguments[position : position + 1]:
                if not self._kinds(argument) & allowed:
                    place = "predicate" if allowed == IRIS else "graph"
                    yield Diagnostic(
                        "SR242",
                        f"{self._describe(argument)} as the {place} of a {atom.predicate},"
                        f" which is {described(allowed)}",
                        argument.span,
                        "a triple is `[subject, predicate, object]`,"
                        " a quad `[subject, predicate, object, graph]`",
                    )

    def _parts(self, term: ast.TripleTerm) -> Iterator[Diagnostic]:
        """Report parts that no triple of RDF has there, so that no such term exists."""
        for position, allowed in TRIPLE_PLACES.items():
            part = term.parts[position]
            if not self._kinds(part) & allowed:
                place = "predicate" if allowed == IRIS else "subject"
                yield Diagnostic(
                    "SR242",
                    f"{self._describe(part)} as the {place} of a triple term,"
                    f" which is {described(allowed)}",
                    part.span,
                    "a triple term is `<<( subject predicate object )>>`; its object may be any"
                    " term",
                )

    def _kinds(self, expression: ast.Expression) -> Kinds:
        if isinstance(expression, ast.Constant):
            return kinds_of(expression, {})
        if self._known is None:
            self._known = kinds_of_variables(self._rule)
        return kinds_of(expression, self._known)

    def _describe(self, expression: ast.Expression) -> str:
        """Describe an expression and its kinds, for use within a sentence."""
        kinds = self._kinds(expression)
        text = print_expression(expression, self._prefixes)
        if not isinstance(expression, ast.Constant):
            return f"{described(kinds)} (`{text}`)"
        if kinds <= NUMBERS:
            return f"the number {text}"
        if kinds == IRIS:
            return f"the IRI {text}"
        if kinds == TRIPLES:
            return f"the triple term {text}"
        return f"the {'blank node' if kinds == {Kind.BLANK_NODE} else 'literal'} {text}"


def _with_all_numbers(kinds: Kinds) -> Kinds:
    """Return `kinds`, with all numeric kinds if it has one: they compare with each other."""
    return kinds | NUMBERS if kinds & NUMBERS else kinds


def _conversion(kinds: Kinds, expected: Kinds) -> str | None:
    if expected == INTEGERS and kinds <= NUMBERS:
        return "positions and lengths are integers, and `/` gives a decimal or a double"
    if expected == TEXTS and kinds == IRIS:
        return "str(…) gives the text of an IRI"
    if expected == TEXTS:
        return "to_string(…) gives the text of a literal"
    if expected == NUMBERS and kinds <= TEXTS:
        return "to_number(…) reads a number from a string"
    return None
