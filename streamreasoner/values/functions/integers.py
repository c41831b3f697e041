"""Bit operations and the integer quotient. Invariant: integers are 64 bits in two's complement.

A result that does not fit raises `OutOfRangeError`, as in arithmetic.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from streamreasoner.values.numbers import OutOfRangeError, Type, exact, number
from streamreasoner.values.valuation import UNITS

if TYPE_CHECKING:
    from collections.abc import Callable

_BITS = 64


def quotient(left: str, right: str) -> str | None:
    """`left / right` without its fraction, an integer (XPath `op:numeric-integer-divide`).

    No value by zero, for an infinite or undefined `left`, or an undefined `right`.
    """
    a, b = number(left), number(right)
    if a is None or b is None:
        return None
    if max(a.type, b.type) is not Type.DOUBLE:
        return None if b.units == 0 else _integer(_towards_zero(Fraction(a.units, b.units)))
    if not math.isfinite(a.double) or math.isnan(b.double) or b.double == 0:
        return None
    if math.isinf(b.double):
        return _integer(0)
    return _integer(_towards_zero(Fraction(a.double) / Fraction(b.double)))


def bit_and(left: str, right: str) -> str | None:
    """The bits that both have."""
    return _combined(left, right, lambda a, b: a & b)


def bit_or(left: str, right: str) -> str | None:
    """The bits that one of them has."""
    return _combined(left, right, lambda a, b: a | b)


def bit_xor(left: str, right: str) -> str | None:
    """The bits that only one of them has."""
    return _combined(left, right, lambda a, b: a ^ b)


def bit_not(operand: str) -> str | None:
    """The other bits."""
    bits = whole(operand)
    return None if bits is None else _integer(~bits)


def shift_left(operand: str, places: str) -> str | None:
    """The bits moved to the left; no value if they do not fit, or the number is negative."""
    bits, count = whole(operand), whole(places)
    if bits is None or count is None or count < 0:
        return None
    return _integer(bits << min(count, _BITS))


def shift_right(operand: str, places: str) -> str | None:
    """The bits moved to the right, with the sign; no value if the number is negative."""
    bits, count = whole(operand), whole(places)
    if bits is None or count is None or count < 0:
        return None
    return _integer(bits >> min(count, _BITS))


def whole(text: str) -> int | None:
    """The integer of a term; None if it is not an integer of 64 bits."""
    parsed = number(text)
    return None if parsed is None or parsed.type is not Type.INTEGER else parsed.units // UNITS


def _combined(left: str, right: str, operation: Callable[[int, int], int]) -> str | None:
    a, b = whole(left), whole(right)
    return None if a is None or b is None else _integer(operation(a, b))


def _towards_zero(fraction: Fraction) -> int:
    return math.trunc(fraction)


def _integer(result: int) -> str:
    if result.bit_length() > _BITS:
        raise OutOfRangeError
    return exact(Type.INTEGER, result * UNITS)
