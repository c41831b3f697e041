"""Kinds an expression can have. Invariant: its value, if it has one, is of one of these kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang import ast, traversal
from streamreasoner.lang.binding import bindings
from streamreasoner.lang.constants import UNREADABLE
from streamreasoner.rdf.term_kind import is_iri, is_triple_term
from streamreasoner.values.builtins import AGGREGATES, FUNCTIONS
from streamreasoner.values.kinds import (
    ANYTHING,
    INTEGERS,
    IRIS,
    NODES,
    NUMBERS,
    ORDERED,
    TRIPLES,
    Kind,
    Kinds,
)
from streamreasoner.values.literal import literal
from streamreasoner.values.numbers import Type, number
from streamreasoner.values.valuation import ValueKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


PLACES: Mapping[str, Mapping[int, Kinds]] = {ast.TRIPLE: {1: IRIS}, ast.QUAD: {1: IRIS, 3: NODES}}
"""Kinds allowed at the positions of triples and quads that RDF restricts."""
TRIPLE_PLACES: Mapping[int, Kinds] = {0: NODES, 1: IRIS}
"""The same of triple terms."""

_PROMOTION = (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
_NUMBERS = {Type.INTEGER: Kind.INTEGER, Type.DECIMAL: Kind.DECIMAL, Type.DOUBLE: Kind.DOUBLE}
_VALUES = {
    ValueKind.STRING: Kind.STRING,
    ValueKind.BOOLEAN: Kind.BOOLEAN,
    ValueKind.INSTANT: Kind.INSTANT,
}


def kinds_of_variables(rule: ast.Rule) -> dict[str, Kinds]:
    """Return the kinds of the restricted variables of a rule in normal form."""
    known: dict[str, Kinds] = {}
    for atom in rule.atoms:
        places = [(PLACES.get(atom.predicate, {}), atom.arguments)]
        patterns = (node for node in traversal.walk(atom) if isinstance(node, ast.TripleTerm))
        places += ((TRIPLE_PLACES, pattern.parts) for pattern in patterns)
        for allowed, arguments in places:
            for position, kinds in allowed.items():
                match arguments[position : position + 1]:
                    case (ast.Variable(name),):
                        known[name] = known.get(name, ANYTHING) & kinds
                    case _:
                        pass
    for name, expression in bindings(rule).assignments:
        known[name] = kinds_of(expression, known)
    return known


def kinds_of(  # noqa: C901, PLR0911, PLR0912 - one case each
    expression: ast.Expression, known: Mapping[str, Kinds]
) -> Kinds:
    """Return the possible kinds of an expression, given those of its variables."""
    match expression:
        case ast.Constant(term):
            return ANYTHING if term == UNREADABLE else frozenset({kind_of(term)})
        case ast.Variable(name):
            return known.get(name, ANYTHING)
        case ast.Wildcard():
            return ANYTHING
        case ast.TripleTerm():
            return TRIPLES
        case ast.UnaryMinus(operand):
            return _numbers(operand, known)
        case ast.BinaryOperation(operator, left, right):
            return _operation(operator, _numbers(left, known), _numbers(right, known))
        case ast.Call("abs", (operand,)):
            return _numbers(operand, known)
        case ast.Call("min" | "max", arguments) if arguments:
            return (_any(arguments, known) & ORDERED) or ORDERED
        case ast.Call("coalesce", arguments) if arguments:
            return _any(arguments, known)
        case ast.Conditional(_, then, otherwise):
            return _any((then, otherwise), known)
        case ast.Call(name, _):
            return FUNCTIONS[name].returns if name in FUNCTIONS else ANYTHING
        case ast.Aggregate(name, _) | ast.BodyAggregate(name, _):
            return AGGREGATES[name].returns if name in AGGREGATES else ANYTHING
        case _:
            assert_never(expression)


def _any(expressions: Iterable[ast.Expression], known: Mapping[str, Kinds]) -> Kinds:
    """Return the kinds that one of several expressions can have."""
    return frozenset(kind for each in expressions for kind in kinds_of(each, known))


def kind_of(term: str) -> Kind:
    """Return the kind of a canonical term."""
    if is_iri(term):
        return Kind.IRI
    if is_triple_term(term):
        return Kind.TRIPLE
    parsed = literal(term)
    if parsed is None:
        return Kind.BLANK_NODE
    if parsed.language is not None:
        return Kind.TAGGED
    value = number(term)
    return _VALUES.get(parsed.value.kind, Kind.OTHER) if value is None else _NUMBERS[value.type]


def _numbers(operand: ast.Expression, known: Mapping[str, Kinds]) -> Kinds:
    """Return the numeric kinds of an operand; a non-number is reported elsewhere."""
    return (kinds_of(operand, known) & NUMBERS) or NUMBERS


def _operation(operator: str, left: Kinds, right: Kinds) -> Kinds:
    """Return the numeric kinds of a result: operands are promoted to the greater type."""
    promoted = frozenset(
        max(first, second, key=_PROMOTION.index) for first in left for second in right
    )
    match operator:
        case "/":
            return frozenset(Kind.DECIMAL if kind is Kind.INTEGER else kind for kind in promoted)
        case "**":
            return (promoted & INTEGERS) | {Kind.DOUBLE}
        case _:
            return promoted
