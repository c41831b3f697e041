"""Intern decimals as terms. Invariant: the id is that of the canonical xsd:decimal literal.

A decimal is `whole + fraction / UNITS`, as in `valuation.TypedValue`: its floor, and what is above.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.addresses import double_of_bits, int8_column
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.values.kernels import value_kinds
from streamreasoner.values.kernels.comparing import DECIMAL_TEXT
from streamreasoner.values.kernels.interning import intern, lock, unlock, write_digits

if TYPE_CHECKING:
    import numpy as np

FRACTION_DIGITS = 18
UNITS = 10**FRACTION_DIGITS
"""Units of a fraction."""
PREFIX_ROOM = 48
"""Bytes of the text buffer before the suffix: a quote, a sign and 38 characters fit."""
SUFFIX = b'"^^<http://www.w3.org/2001/XMLSchema#decimal>'
_QUOTE, _MINUS, _DOT, _ZERO = ord('"'), ord("-"), ord("."), ord("0")
_MANTISSA = 1 << 53  # of a double, with one bit more
_BIAS = 1023
_EXPONENT_SHIFT = 52


@kernel
def intern_decimal(values: np.ndarray, whole: int, fraction: int) -> int:
    """Id of a decimal above the least whole number, added when new; FULL as for `intern`."""
    magnitude, rest = (whole, fraction) if whole >= 0 else negated(whole, fraction)
    lock(values)
    text = int8_column(values[DECIMAL_TEXT])
    position = PREFIX_ROOM
    if rest != 0:
        digits = FRACTION_DIGITS
        shortened = rest
        while shortened % 10 == 0:
            shortened //= 10
            digits -= 1
        first = position - digits
        position = write_digits(text, position, -shortened)
        while position > first:
            position -= 1
            text[position] = _ZERO
        position -= 1
        text[position] = _DOT
    position = write_digits(text, position, -magnitude)
    if whole < 0:
        position -= 1
        text[position] = _MINUS
    position -= 1
    text[position] = _QUOTE
    double = nearest_double(magnitude, rest)
    length = PREFIX_ROOM + len(SUFFIX) - position
    address = values[DECIMAL_TEXT] + position
    signed_double = -double if whole < 0 else double
    term = intern(values, address, length, value_kinds.EXACT, whole, fraction, signed_double)
    unlock(values)
    return term


@inlined
def negated(whole: int, fraction: int) -> tuple[int, int]:
    """The negative of a decimal above the least whole number."""
    if fraction == 0:
        return -whole, 0
    return -1 - whole, UNITS - fraction


@kernel
def nearest_double(whole: int, fraction: int) -> float:
    """The double nearest to a decimal that is not negative, half-even.

    The bits of the quotient are found one by one, up to one behind the mantissa of a double.
    """
    if whole == 0 and fraction == 0:
        return 0.0
    mantissa, rest, exponent = whole, fraction, 1
    sticky = False
    while mantissa >= 2 * _MANTISSA:
        sticky |= mantissa & 1 != 0
        mantissa >>= 1
        exponent += 1
    while mantissa < _MANTISSA:
        mantissa *= 2
        rest *= 2
        if rest >= UNITS:
            mantissa += 1
            rest -= UNITS
        exponent -= 1
    half = mantissa & 1
    mantissa >>= 1
    if half != 0 and (sticky or rest != 0 or mantissa & 1 != 0):
        mantissa += 1
    return float(mantissa) * double_of_bits((_BIAS + exponent) << _EXPONENT_SHIFT)
