"""What an expression can be. Invariant: its value, if it has one, is of one of these kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from streamreasoner.analysis.binding import bindings
from streamreasoner.lang.ast import (
    QUAD,
    TRIPLE,
    Aggregate,
    BinaryOperation,
    Call,
    Constant,
    UnaryMinus,
    Variable,
    Wildcard,
)
from streamreasoner.lang.builtins import AGGREGATES, FUNCTIONS
from streamreasoner.lang.constants import UNREADABLE
from streamreasoner.lang.kinds import (
    ANYTHING,
    INTEGERS,
    IRIS,
    NODES,
    NUMBERS,
    ORDERED,
    Kind,
    Kinds,
)
from streamreasoner.rdf.functions.literal import literal
from streamreasoner.rdf.functions.numbers import Type, number
from streamreasoner.rdf.valuation import Kind as ValueKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.lang.ast import Expression, Rule

PLACES: Mapping[str, Mapping[int, Kinds]] = {TRIPLE: {1: IRIS}, QUAD: {1: IRIS, 3: NODES}}
"""What triples and quads have at positions where RDF does not allow every term."""

_PROMOTION = (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE)
_NUMBERS = {Type.INTEGER: Kind.INTEGER, Type.DECIMAL: Kind.DECIMAL, Type.DOUBLE: Kind.DOUBLE}
_VALUES = {
    ValueKind.STRING: Kind.STRING,
    ValueKind.BOOLEAN: Kind.BOOLEAN,
    ValueKind.INSTANT: Kind.INSTANT,
}


def kinds_of_variables(rule: Rule) -> dict[str, Kinds]:
    """Return what is known of the variables of a rule in normal form, others being anything."""
    known: dict[str, Kinds] = {}
    for atom in rule.atoms:
        for position, kinds in PLACES.get(atom.predicate, {}).items():
            match atom.arguments[position : position + 1]:
                case (Variable(name),):
                    known[name] = known.get(name, ANYTHING) & kinds
                case _:
                    pass
    for name, expression in bindings(rule).assignments:
        known[name] = kinds_of(expression, known)
    return known


def kinds_of(expression: Expression, known: Mapping[str, Kinds]) -> Kinds:  # noqa: PLR0911
    """Return the kinds that the value of an expression can be of, given those of variables."""
    match expression:
        case Constant(term):
            return ANYTHING if term == UNREADABLE else frozenset({kind_of(term)})
        case Variable(name):
            return known.get(name, ANYTHING)
        case Wildcard():
            return ANYTHING
        case UnaryMinus(operand):
            return _numbers(operand, known)
        case BinaryOperation(operator, left, right):
            return _operation(operator, _numbers(left, known), _numbers(right, known))
        case Call("abs", (operand,)):
            return _numbers(operand, known)
        case Call("min" | "max", arguments) if arguments:
            found = frozenset(kind for each in arguments for kind in kinds_of(each, known))
            return (found & ORDERED) or ORDERED
        case Call(name, _):
            return FUNCTIONS[name].gives if name in FUNCTIONS else ANYTHING
        case Aggregate(name, _):
            return AGGREGATES[name].gives if name in AGGREGATES else ANYTHING
        case _:
            assert_never(expression)


def kind_of(term: str) -> Kind:
    """Return the kind of a canonical term."""
    if term.startswith("<"):
        return Kind.IRI
    found = literal(term)
    if found is None:
        return Kind.BLANK_NODE
    if found.language is not None:
        return Kind.TAGGED
    value = number(term)
    return _VALUES.get(found.value.kind, Kind.OTHER) if value is None else _NUMBERS[value.type]


def _numbers(operand: Expression, known: Mapping[str, Kinds]) -> Kinds:
    """Return the numbers an operand can be; one that is none is a mistake of its own."""
    return (kinds_of(operand, known) & NUMBERS) or NUMBERS


def _operation(operator: str, left: Kinds, right: Kinds) -> Kinds:
    """Return the numbers that an operation gives: its operands are promoted to the greater type."""
    promoted = frozenset(max(one, other, key=_PROMOTION.index) for one in left for other in right)
    match operator:
        case "/":
            return frozenset(Kind.DECIMAL if kind is Kind.INTEGER else kind for kind in promoted)
        case "**":
            return (promoted & INTEGERS) | {Kind.DOUBLE}
        case _:
            return promoted
