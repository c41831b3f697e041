"""Arithmetic on exact numbers. Invariant: a result is that of `values.numbers`, or DELEGATED.

Numbers are (whole, fraction) as in `decimals`. What does not fit in the simple cases here is left
to Python: results outside 64 bits, which are counted there, and operands of many digits.
"""

# ruff: noqa: C901  (one case per operation)

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.addresses import int8_column, int64_column, multiply_high, signed
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.kernels.hash_table import FULL
from streamreasoner.values.kernels import value_kinds
from streamreasoner.values.kernels.comparing import FRACTION, KIND, WHOLE
from streamreasoner.values.kernels.decimals import (
    FRACTION_DIGITS,
    UNITS,
    intern_decimal,
    negated,
)
from streamreasoner.values.kernels.integers import intern_integer
from streamreasoner.values.kernels.interning import LEAST

if TYPE_CHECKING:
    import numpy as np

NO_VALUE = -1
DELEGATED = FULL
"""Python has to compute the result: there is no case for it here, or the dictionary must grow."""
ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, NEGATE, ABSOLUTE = range(1, 8)

_MOST = 2**63 - 1
_HALF_DIGITS = 10**9
_STEP = 10**3
_SMALL = 1 << 31
_DIVISOR_LIMIT = 1 << 59  # ten times a remainder fits into 64 bits


@kernel
def calculate(values: np.ndarray, code: int, left: int, right: int) -> int:
    """The term of an operation on two exact numbers, or of one on the first.

    Args:
        values: `Values.table`.
        code: The operation.
        left: Id of the first operand.
        right: Id of the second; of the first again if there is only one.

    Returns:
        The id, NO_VALUE or DELEGATED.
    """
    kinds = int8_column(values[KIND])
    wholes = int64_column(values[WHOLE])
    fractions = int64_column(values[FRACTION])
    integers = (
        signed(kinds[left]) == value_kinds.INTEGER and signed(kinds[right]) == value_kinds.INTEGER
    )
    if not integers and not (_is_exact(kinds[left]) and _is_exact(kinds[right])):
        return DELEGATED
    a, b = wholes[left], wholes[right]
    c, d = fractions[left], fractions[right]
    if code in (DIVIDE, REMAINDER) and b == 0 and d == 0:
        return NO_VALUE
    if code == DIVIDE:
        known, whole, fraction = _divide(a, c, b, d)
    elif code == REMAINDER:
        known, whole, fraction = _remainder(a, c, b, d)
    elif code == MULTIPLY:
        known, whole, fraction = _multiply(a, c, b, d)
    elif code == ADD:
        known, whole, fraction = _add(a, c, b, d)
    elif code == SUBTRACT:
        known, whole, fraction = _subtract(a, c, b, d)
    else:
        known, whole, fraction = a != LEAST, a, c
        if known and (code == NEGATE or a < 0):
            whole, fraction = negated(a, c)
    # The text of the least whole number has no positive.
    if not known or (not integers and whole == LEAST):
        return DELEGATED
    if integers and code != DIVIDE:
        return intern_integer(values, whole)
    return intern_decimal(values, whole, fraction)


@inlined
def _is_exact(kind: int) -> bool:
    return signed(kind) == value_kinds.EXACT or signed(kind) == value_kinds.INTEGER


@inlined
def _add(a: int, c: int, b: int, d: int) -> tuple[bool, int, int]:
    """Whether the whole part fits, and (a + c / UNITS) + (b + d / UNITS)."""
    whole, fraction = a + b, c + d
    fits = ((a ^ whole) & (b ^ whole)) >= 0
    if fraction >= UNITS:
        return fits and whole != _MOST, whole + 1, fraction - UNITS
    return fits, whole, fraction


@inlined
def _subtract(a: int, c: int, b: int, d: int) -> tuple[bool, int, int]:
    """The same of a difference."""
    whole, fraction = a - b, c - d
    fits = ((a ^ b) & (a ^ whole)) >= 0
    if fraction < 0:
        return fits and whole != LEAST, whole - 1, fraction + UNITS
    return fits, whole, fraction


@inlined
def _multiply(a: int, c: int, b: int, d: int) -> tuple[bool, int, int]:
    """The same of a product, of decimals with at most nine digits before and after the point.

    (a + c)(b + d) = ab + (ad + cb) + cd, where cd has 18 digits, so nothing is rounded.
    """
    if c == 0 and d == 0:
        product = a * b
        return multiply_high(a, b) == product >> 63, product, 0
    if not (-_SMALL <= a < _SMALL and -_SMALL <= b < _SMALL):
        return False, 0, 0
    if c % _HALF_DIGITS != 0 or d % _HALF_DIGITS != 0:
        return False, 0, 0
    c //= _HALF_DIGITS
    d //= _HALF_DIGITS
    crossed = a * d + c * b
    fraction = crossed % _HALF_DIGITS * _HALF_DIGITS + c * d
    return True, a * b + crossed // _HALF_DIGITS + fraction // UNITS, fraction % UNITS


@kernel
def _divide(a: int, c: int, b: int, d: int) -> tuple[bool, int, int]:
    """The same of a quotient, rounded half-even to 18 digits, as in long division."""
    known, dividend, divisor, _ = _scaled(a, c, b, d)
    negative = (dividend < 0) != (divisor < 0)
    dividend, divisor = abs(dividend), abs(divisor)
    if not known or divisor >= _DIVISOR_LIMIT:
        return False, 0, 0
    whole, rest = dividend // divisor, dividend % divisor
    fraction = 0
    if rest != 0:
        for _ in range(FRACTION_DIGITS):
            rest *= 10
            fraction = 10 * fraction + rest // divisor
            rest %= divisor
        if 2 * rest > divisor or (2 * rest == divisor and fraction & 1 != 0):
            fraction += 1
        if fraction == UNITS:
            whole, fraction = whole + 1, 0
    if negative:
        whole, fraction = negated(whole, fraction)
    return True, whole, fraction


@kernel
def _remainder(a: int, c: int, b: int, d: int) -> tuple[bool, int, int]:
    """The same of a remainder, with the sign of the first number."""
    known, dividend, divisor, scale = _scaled(a, c, b, d)
    if not known:
        return False, 0, 0
    rest = abs(dividend) % abs(divisor)
    whole, fraction = rest // scale, rest % scale * (UNITS // scale)
    if dividend < 0:
        whole, fraction = negated(whole, fraction)
    return True, whole, fraction


@inlined
def _scaled(a: int, c: int, b: int, d: int) -> tuple[bool, int, int, int]:
    """Two numbers times a power of ten that makes them whole, and this power.

    Returns:
        Whether there is one with which they fit 63 bits; the numbers, the second not 0; the power.
    """
    scale = 1
    while c % (UNITS // scale) != 0 or d % (UNITS // scale) != 0:
        scale *= _STEP
        if scale > _HALF_DIGITS:
            return False, 0, 1, 1
    limit = _MOST // scale
    if not (-limit < a < limit and -limit < b < limit):
        return False, 0, 1, 1
    step = UNITS // scale
    return True, a * scale + c // step, b * scale + d // step, scale
