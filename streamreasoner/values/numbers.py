"""Arithmetic on terms. Invariant: exact results are rounded once, half-even, to 18 digits.

Integers and decimals are Python integers in units of 1e-18, so results do not depend on a decimal
context. Where Python would raise, doubles follow IEEE 754 and C. An integer or decimal result whose
whole part does not fit into 64 bits raises `OutOfRangeError`.
"""

from __future__ import annotations

import math
import re
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.vocabulary import (
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_INTEGER_RANGES,
)
from streamreasoner.values.literal import literal
from streamreasoner.values.valuation import FRACTION_DIGITS, UNITS, ValueKind

NUMERIC = frozenset({*XSD_INTEGER_RANGES, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT})
"""Datatypes of numbers."""

_CACHED = 4096
_INTEGER_END = f'"^^<{XSD_INTEGER}>'
_SHORT_INTEGER = re.compile(rf'"(-?[0-9]{{1,18}}){re.escape(_INTEGER_END)}')
_INT64 = range(-(1 << 63), 1 << 63)
_INT64_BITS = 63


class OutOfRangeError(Exception):
    """The whole part of an integer or decimal does not fit into 64 bits."""


class Type(IntEnum):
    """The type of a number in arithmetic; operands are promoted to the greater of their types.

    The names are those of the datatypes of results: xsd:integer, xsd:decimal, xsd:double.
    """

    INTEGER = 0
    DECIMAL = 1
    DOUBLE = 2


class Number(NamedTuple):
    """A number.

    Attributes:
        type: Its type in arithmetic.
        units: Its exact value in units of 1e-18; 0 for doubles.
        double: The nearest IEEE double.
    """

    type: Type
    units: int
    double: float


@lru_cache(maxsize=_CACHED)
def number(text: str) -> Number | None:
    """The number of a canonical term; None if it is not a number."""
    if (short := _SHORT_INTEGER.fullmatch(text)) is not None:
        whole = int(short[1])
        return Number(Type.INTEGER, whole * UNITS, float(whole))
    parsed = literal(text)
    if parsed is None or parsed.datatype not in NUMERIC or parsed.value.kind is ValueKind.NONE:
        return None
    if parsed.value.kind is ValueKind.DOUBLE:
        return Number(Type.DOUBLE, 0, parsed.value.double)
    kind = Type.DECIMAL if parsed.datatype == XSD_DECIMAL else Type.INTEGER
    units = parsed.value.whole * UNITS + parsed.value.fraction
    # The double of an exact -0 is 0.0, not the -0.0 that its lexical form would convert to.
    return Number(kind, units, parsed.value.double + 0.0)


def exact_term(units: int, *, integer: bool) -> str | None:
    """Canonical xsd:integer or xsd:decimal of a number of units of 1e-18.

    Args:
        units: The value; a multiple of 1e18 if `integer`.
        integer: Whether it is an xsd:integer.

    Returns:
        The term; None if its whole part (the floor) is outside 64 bits.
    """
    if units // UNITS not in _INT64:
        return None
    whole, fraction = divmod(abs(units), UNITS)
    sign = "-" if units < 0 else ""
    if integer:
        return f'"{sign}{whole}{_INTEGER_END}'
    digits = f".{fraction:0{FRACTION_DIGITS}}".rstrip("0").rstrip(".")
    return f'"{sign}{whole}{digits}"^^<{XSD_DECIMAL}>'


def exact(kind: Type, units: int) -> str:
    """Canonical xsd:integer or xsd:decimal of a number of units of 1e-18.

    Raises:
        OutOfRangeError: Its whole part does not fit into 64 bits.
    """
    term = exact_term(units, integer=kind is Type.INTEGER)
    if term is None:
        raise OutOfRangeError
    return term


def rounded(numerator: int, denominator: int) -> int:
    """A fraction rounded half-even to an integer; `denominator` is not 0."""
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    floor, rest = divmod(numerator, denominator)
    above_half = 2 * rest - denominator
    return floor + (above_half > 0 or (above_half == 0 and floor & 1))


def add(left: str, right: str) -> str | None:
    """`left + right`."""
    a, b = number(left), number(right)
    if a is None or b is None:
        return None
    if (kind := max(a.type, b.type)) is Type.DOUBLE:
        return to_ntriples(a.double + b.double)
    return exact(kind, a.units + b.units)


def subtract(left: str, right: str) -> str | None:
    """`left - right`."""
    a, b = number(left), number(right)
    if a is None or b is None:
        return None
    if (kind := max(a.type, b.type)) is Type.DOUBLE:
        return to_ntriples(a.double - b.double)
    return exact(kind, a.units - b.units)


def multiply(left: str, right: str) -> str | None:
    """`left * right`."""
    a, b = number(left), number(right)
    if a is None or b is None:
        return None
    if (kind := max(a.type, b.type)) is Type.DOUBLE:
        return to_ntriples(a.double * b.double)
    return exact(kind, rounded(a.units * b.units, UNITS))


def divide(left: str, right: str) -> str | None:
    """`left / right`: a decimal for exact numbers, with no value if `right` is zero."""
    a, b = number(left), number(right)
    if a is None or b is None:
        return None
    if max(a.type, b.type) is Type.DOUBLE:
        return to_ntriples(_divide(a.double, b.double))
    if b.units == 0:
        return None
    return exact(Type.DECIMAL, rounded(a.units * UNITS, b.units))


def remainder(left: str, right: str) -> str | None:
    """`left % right`, with the sign of `left` (XPath `op:numeric-mod`)."""
    a, b = number(left), number(right)
    if a is None or b is None:
        return None
    if (kind := max(a.type, b.type)) is Type.DOUBLE:
        if math.isinf(a.double) or b.double == 0:
            return to_ntriples(math.nan)
        return to_ntriples(math.fmod(a.double, b.double))
    if b.units == 0:
        return None
    rest = abs(a.units) % abs(b.units)
    return exact_term(-rest if a.units < 0 else rest, integer=kind is Type.INTEGER)


def power(left: str, right: str) -> str | None:
    """`left ** right`: an integer if both are and `right` is not negative, else a double."""
    a, b = number(left), number(right)
    if a is None or b is None:
        return None
    if max(a.type, b.type) is not Type.INTEGER or b.units < 0:
        return to_ntriples(_power(a.double, b.double))
    base, exponent = a.units // UNITS, b.units // UNITS
    if abs(base) <= 1:
        exponent = 2 - exponent % 2 if exponent > 0 else 0
    elif exponent > _INT64_BITS:
        raise OutOfRangeError
    return exact(Type.INTEGER, base**exponent * UNITS)


def negate(operand: str) -> str | None:
    """`-operand`."""
    a = number(operand)
    if a is None:
        return None
    if a.type is Type.DOUBLE:
        return to_ntriples(-a.double)
    return exact(a.type, -a.units)


def absolute(operand: str) -> str | None:
    """`abs(operand)`."""
    a = number(operand)
    if a is None:
        return None
    if a.type is Type.DOUBLE:
        return to_ntriples(abs(a.double))
    return exact(a.type, abs(a.units))


def _divide(left: float, right: float) -> float:
    """IEEE division; in Python, division by zero raises."""
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _power(base: float, exponent: float) -> float:
    """C's `pow`; Python raises where C returns an infinity or NaN (C17, F.10.4.4)."""
    try:
        return math.pow(base, exponent)
    except ValueError:
        if base != 0:
            return math.nan
    except OverflowError:
        pass
    return -math.inf if math.copysign(1.0, base) < 0 and exponent % 2 == 1 else math.inf
