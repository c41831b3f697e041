"""Exact, reversible sums. Invariant: equal sums have equal digits, whatever the order of additions.

A sum is `digits` words of an int64 column, least first, in base 2^32: every digit lies in
[0, 2^32) except the last, the top one, which is signed and may be any int64. It represents every
integer in -2^(32 * digits + 31) .. 2^(32 * digits + 31) - 1, and zero words are the sum 0.

Sums of doubles are in units of 2^-1074, the least positive double, of which every finite double is
a multiple (Kulisch, Computer Arithmetic and Validity, chapter 8).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.addresses import double_bits, double_of_bits, multiply_high
from streamreasoner.native.compile import inlined, kernel

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.kernels.records import layout

DIGIT_BITS = 32
DIGITS_INTEGER = 3
"""Enough for any sum of int64 values whose multiplicities sum to at most 2^62."""
DIGITS_DOUBLE = 67
"""Enough for any sum of finite doubles whose multiplicities sum to at most 2^62."""

_DIGIT = (1 << DIGIT_BITS) - 1
_PRODUCT_DIGITS = 5
_MANTISSA_BITS = 52
_MANTISSA = (1 << _MANTISSA_BITS) - 1
_EXPONENT = 0x7FF
_PRECISION = 53
_INFINITY = _EXPONENT << _MANTISSA_BITS
_LAST_EXPONENT = 2045  # bits dropped for the greatest doubles


@kernel
def add(
    units: layout.Int64s, at: int, digits: int, shift: int, factor: int, multiplicity: int
) -> None:
    """Add `factor * multiplicity * 2^shift`.

    Args:
        units: The column.
        at: Position of the least digit.
        digits: Number of digits; overflow is lost.
        shift: At least 0.
        factor: Any int64.
        multiplicity: Any int64.
    """
    top = digits - 1
    low = factor * multiplicity
    high = multiply_high(factor, multiplicity)
    i = shift >> 5
    offset = shift & 31
    # The product, shifted by less than a digit, is five digits, of which the last is signed.
    before = 0
    carry = 0
    for k in range(_PRODUCT_DIGITS):
        shifted = before >> (DIGIT_BITS - offset)
        if k < _PRODUCT_DIGITS - 1:
            before = _product_digit(low, high, k)
            shifted |= (before << offset) & _DIGIT
        carry += shifted
        if i < top:
            carry += units[at + i]
            units[at + i] = carry & _DIGIT
            carry >>= DIGIT_BITS
        elif i == top:
            units[at + top] += carry
            carry = 0
        elif i == top + 1:
            # The top word has room for one more digit, as int64 arithmetic is modulo 2^64.
            units[at + top] += carry << DIGIT_BITS
            carry = 0
        i += 1
    while carry != 0 and i < top:
        carry += units[at + i]
        units[at + i] = carry & _DIGIT
        carry >>= DIGIT_BITS
        i += 1
    if i <= top:
        units[at + top] += carry


@kernel
def add_double(units: layout.Int64s, at: int, value: float, multiplicity: int) -> None:
    """Add a finite double times a multiplicity to `DIGITS_DOUBLE` digits."""
    bits = double_bits(value)
    exponent = (bits >> _MANTISSA_BITS) & _EXPONENT
    mantissa = bits & _MANTISSA
    if exponent > 0:
        mantissa |= 1 << _MANTISSA_BITS
        exponent -= 1
    add(units, at, DIGITS_DOUBLE, exponent, -mantissa if bits < 0 else mantissa, multiplicity)


@kernel
def to_double(units: layout.Int64s, at: int, digits: int) -> float:
    """A sum of doubles, rounded once to nearest, ties to even.

    Returns:
        The double; an infinity if out of range; 0.0, never -0.0, if the sum is zero.
    """
    top = digits - 1
    lowest = 0
    while lowest < top and units[at + lowest] == 0:
        lowest += 1
    highest = top
    while highest > 0 and _magnitude(units, at, top, lowest, highest) == 0:
        highest -= 1
    length = DIGIT_BITS * highest
    rest = _magnitude(units, at, top, lowest, highest)
    while rest > 0:
        length += 1
        rest >>= 1
    dropped = length - _PRECISION
    if dropped <= 0:
        # Below 2^53 units the bits of a double are the number of its units.
        bits = _read(units, at, top, lowest, 0)
    elif dropped > _LAST_EXPONENT:
        bits = _INFINITY
    else:
        bits = _read(units, at, top, lowest, dropped)
        last = min((dropped - 1) >> 5, top)
        offset = dropped - 1 - DIGIT_BITS * last
        digit = _magnitude(units, at, top, lowest, last)
        half = (digit >> offset) & 1
        below = lowest < last or digit & ((1 << offset) - 1) != 0
        if half != 0 and (below or bits & 1 != 0):
            bits += 1
        # The leading bit of the mantissa adds one to the exponent.
        bits += dropped << _MANTISSA_BITS
    double = double_of_bits(bits)
    return -double if units[at + top] < 0 else double


@kernel
def sign(units: layout.Int64s, at: int, digits: int) -> int:
    """Sign of the sum: -1, 0 or 1."""
    if units[at + digits - 1] < 0:
        return -1
    for i in range(digits):
        if units[at + i] != 0:
            return 1
    return 0


def read_integer(units: layout.Int64s, at: int, digits: int) -> int:
    """The sum as a Python integer."""
    return sum(int(units[at + i]) << DIGIT_BITS * i for i in range(digits))


@inlined
def _product_digit(low: int, high: int, k: int) -> int:
    """Digit `k` of the four of a product of 128 bits; the last is signed."""
    word = low if k < _PRODUCT_DIGITS // 2 else high
    digit = word >> DIGIT_BITS * (k & 1)
    return digit if k == _PRODUCT_DIGITS - 2 else digit & _DIGIT


@inlined
def _magnitude(units: layout.Int64s, at: int, top: int, lowest: int, i: int) -> int:
    """Digit `i` of the absolute value; `lowest` is the least digit that is not 0, or `top`."""
    digit = units[at + i]
    if units[at + top] >= 0:
        return digit
    # -x is ~x + 1, and the 1 carries through the zeros below `lowest`.
    inverse = ~digit if i == top else ~digit & _DIGIT
    if i < lowest:
        return 0
    return inverse + 1 if i == lowest else inverse


@inlined
def _read(units: layout.Int64s, at: int, top: int, lowest: int, start: int) -> int:
    """The absolute value without its last `start` bits, at most 53 bits."""
    i = min(start >> 5, top)
    offset = start - DIGIT_BITS * i
    bits = _magnitude(units, at, top, lowest, i) >> offset
    if i < top:
        bits |= _magnitude(units, at, top, lowest, i + 1) << (DIGIT_BITS - offset)
    if i + 1 < top and offset > 2 * DIGIT_BITS - _PRECISION:
        bits |= _magnitude(units, at, top, lowest, i + 2) << (2 * DIGIT_BITS - offset)
    return bits
