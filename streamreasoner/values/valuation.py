"""Values of literals for comparisons. Invariant: equal values of one kind have equal fields.

Lexical forms are those of XSD 1.1 part 2: white space is not trimmed, and a form that is not in the
datatype has no value.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum

from streamreasoner.rdf.vocabulary import (
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DATE_TIME_STAMP,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER_RANGES,
    XSD_STRING,
)
from streamreasoner.values.calendar import days

FRACTION_DIGITS = 18
UNITS: int = 10**FRACTION_DIGITS

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[Ee][+-]?[0-9]+)?|[+-]?INF|NaN")
_TIMEZONE = r"(Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)"
_DAY = r"(-?(?:[1-9][0-9]{3,8}|0[0-9]{3}))-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = r"T(?:([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]+))?|(24):00:00(?:\.0+)?)"
_DATE = re.compile(rf"{_DAY}{_TIMEZONE}?")
_DATE_TIME = re.compile(rf"{_DAY}{_TIME}{_TIMEZONE}?")
_INT64 = range(-(1 << 63), 1 << 63)


class ValueKind(IntEnum):
    """The kind of a value: EXACT is a decimal, INTEGER any type of integer, TRIPLE a triple term.

    Numbers (EXACT, INTEGER, DOUBLE) can be compared with each other; all other kinds only with
    values of the same kind.
    """

    NONE = 0
    EXACT = 1
    DOUBLE = 2
    STRING = 3
    BOOLEAN = 4
    INSTANT = 5
    INTEGER = 6
    TRIPLE = 7


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A comparable value.

    Attributes:
        kind: The kind, which determines the other fields.
        whole: For EXACT and INTEGER the floor; for BOOLEAN 0 or 1; for INSTANT seconds since
            1970-01-01T00:00:00Z.
        fraction: For EXACT and INSTANT the part above `whole`, in units of 1e-18, less than 1e18.
        double: For EXACT, INTEGER and DOUBLE the nearest IEEE double.
    """

    kind: ValueKind
    whole: int = 0
    fraction: int = 0
    double: float = 0.0


NO_VALUE = TypedValue(ValueKind.NONE)


def value(lexical: str, datatype: str | None) -> TypedValue:  # noqa: PLR0911  (one per datatype)
    """Value of a literal; kind NONE for language tags, unknown datatypes and ill-typed forms.

    A number with more than 18 fraction digits, or outside int64, becomes the nearest double. A
    missing timezone means UTC; an xsd:date is the instant at which it starts.
    """
    match datatype:
        case d if d == XSD_STRING:
            return TypedValue(ValueKind.STRING)
        case d if d == XSD_DECIMAL:
            return _exact(lexical)
        case str() as d if (limits := XSD_INTEGER_RANGES.get(d)) is not None:
            return _integer(lexical, *limits)
        case d if d in (XSD_DOUBLE, XSD_FLOAT):
            return _double(lexical, single=d == XSD_FLOAT)
        case d if d == XSD_BOOLEAN:
            truth = {"true": 1, "1": 1, "false": 0, "0": 0}.get(lexical)
            return NO_VALUE if truth is None else TypedValue(ValueKind.BOOLEAN, whole=truth)
        case d if d in (XSD_DATE, XSD_DATE_TIME, XSD_DATE_TIME_STAMP):
            return _instant(lexical, d)
        case _:
            return NO_VALUE


def _integer(lexical: str, lowest: int | None, highest: int | None) -> TypedValue:
    if _INTEGER.fullmatch(lexical) is None:
        return NO_VALUE
    exact = _exact(lexical)
    if exact.kind is ValueKind.EXACT:
        below = lowest is not None and exact.whole < lowest
        above = highest is not None and exact.whole > highest
        return (
            NO_VALUE
            if below or above
            else TypedValue(ValueKind.INTEGER, exact.whole, 0, exact.double)
        )
    # Outside int64, only the bounds of the datatype remain to be checked.
    number = Decimal(lexical)
    if (lowest is not None and number < lowest) or (highest is not None and number > highest):
        return NO_VALUE
    return exact


def _exact(lexical: str) -> TypedValue:
    match = _DECIMAL.fullmatch(lexical)
    if match is None:
        return NO_VALUE
    sign, integer, after, bare = match.groups()
    digits = (after or bare or "").rstrip("0")
    whole_digits = (integer or "0").lstrip("0") or "0"
    if len(digits) <= FRACTION_DIGITS and len(whole_digits) <= FRACTION_DIGITS + 1:
        units = int(whole_digits) * UNITS + int(digits.ljust(FRACTION_DIGITS, "0") or "0")
        whole, fraction = divmod(-units if sign == "-" else units, UNITS)
        if whole in _INT64:
            return TypedValue(ValueKind.EXACT, whole, fraction, float(lexical))
    return TypedValue(ValueKind.DOUBLE, double=float(lexical))


def _double(lexical: str, *, single: bool) -> TypedValue:
    if _DOUBLE.fullmatch(lexical) is None:
        return NO_VALUE
    number = float(lexical)
    if single:
        number = _rounded(number)
    return TypedValue(ValueKind.DOUBLE, double=number)


def _rounded(number: float) -> float:
    """The nearest single-precision number."""
    try:
        (single,) = struct.unpack("f", struct.pack("f", number))
    except OverflowError:
        return math.copysign(math.inf, number)
    return float(single)


def _instant(lexical: str, datatype: str) -> TypedValue:
    if datatype == XSD_DATE:
        match = _DATE.fullmatch(lexical)
        if match is None:
            return NO_VALUE
        year, month, day, zone = match.groups()
        hour, minute, second, decimals = "0", "0", "0", ""
    else:
        match = _DATE_TIME.fullmatch(lexical)
        if match is None:
            return NO_VALUE
        year, month, day, hour, minute, second, decimals, midnight, zone = match.groups()
        hour, minute, second = hour or midnight, minute or "0", second or "0"
        if datatype == XSD_DATE_TIME_STAMP and zone is None:
            return NO_VALUE
    digits = (decimals or "").rstrip("0")
    since = days(int(year), int(month), int(day))
    if since is None or len(digits) > FRACTION_DIGITS:
        return NO_VALUE
    seconds = ((since * 24 + int(hour)) * 60 + int(minute)) * 60 + int(second)
    return TypedValue(
        ValueKind.INSTANT, seconds - _offset(zone), int(digits.ljust(FRACTION_DIGITS, "0") or "0")
    )


def _offset(zone: str | None) -> int:
    """Seconds by which a timezone is ahead of UTC."""
    if zone is None or zone == "Z":
        return 0
    offset = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
    return -offset if zone[0] == "-" else offset
