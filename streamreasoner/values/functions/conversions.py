"""Rounding and conversion to a type. Invariant: a function of numbers keeps what it can exactly.

Rounding is that of SPARQL 1.1, section 17.4.4, with the type of the operand; conversion is casting
of XPath 3.1 functions, section 19, of numbers, booleans and the text of strings. White space is not
trimmed. What does not fit 64 bits raises `OutOfRangeError`, as in arithmetic.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.vocabulary import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from streamreasoner.values.literal import literal, string
from streamreasoner.values.numbers import Type, exact, number, rounded
from streamreasoner.values.valuation import UNITS, ValueKind, value

if TYPE_CHECKING:
    from collections.abc import Callable

_EXACT = 1 << 52
"""Doubles that are at least this large are integers."""


def floor(operand: str) -> str | None:
    """The greatest integer that is not greater."""
    return _rounded(operand, math.floor)


def ceil(operand: str) -> str | None:
    """The least integer that is not less."""
    return _rounded(operand, math.ceil)


def nearest(operand: str) -> str | None:
    """The nearest integer; of two the greater (XPath `fn:round`)."""
    return _rounded(operand, lambda fraction: math.floor(fraction + Fraction(1, 2)))


def to_integer(operand: str) -> str | None:
    """An xsd:integer: a number without its fraction, 1 or 0 for a boolean, or a text of digits."""
    found = _number(operand, XSD_INTEGER)
    if found is None or not math.isfinite(found):
        return None
    return exact(Type.INTEGER, math.trunc(found) * UNITS)


def to_decimal(operand: str) -> str | None:
    """An xsd:decimal, rounded half-even to 18 fraction digits."""
    found = _number(operand, XSD_DECIMAL)
    if found is None or not math.isfinite(found):
        return None
    fraction = Fraction(found)
    return exact(Type.DECIMAL, rounded(fraction.numerator * UNITS, fraction.denominator))


def to_double(operand: str) -> str | None:
    """An xsd:double, the nearest one."""
    found = _number(operand, XSD_DOUBLE)
    return None if found is None else to_ntriples(float(found))


def to_boolean(operand: str) -> str | None:
    """An xsd:boolean: whether a number is neither zero nor undefined, or the text of one."""
    found = _number(operand, XSD_BOOLEAN)
    return None if found is None else to_ntriples(found != 0 and not math.isnan(found))


def _rounded(operand: str, whole: Callable[[Fraction], int]) -> str | None:
    parsed = number(operand)
    if parsed is None:
        return None
    if parsed.type is not Type.DOUBLE:
        return exact(parsed.type, whole(Fraction(parsed.units, UNITS)) * UNITS)
    if not abs(parsed.double) < _EXACT:
        return to_ntriples(parsed.double)
    # A zero keeps the sign of what is rounded to it.
    return to_ntriples(math.copysign(float(whole(Fraction(parsed.double))), parsed.double))


def _number(operand: str, datatype: str) -> Fraction | float | None:
    """The value of a number, of a boolean, or of a text in the lexical space of a datatype."""
    parsed = literal(operand)
    if parsed is None:
        return None
    found = parsed.value if string(operand) is None else value(parsed.lexical, datatype)
    match found.kind:
        case ValueKind.DOUBLE:
            return found.double
        case ValueKind.EXACT | ValueKind.INTEGER | ValueKind.BOOLEAN:
            return Fraction(found.whole * UNITS + found.fraction, UNITS)
        case _:
            return None
