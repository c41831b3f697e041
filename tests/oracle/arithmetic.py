"""Arithmetic on terms. Invariant: exact numbers are fractions, rounded once; doubles are C's."""

from __future__ import annotations

import ctypes
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from oracle.terms import XSD, number

EXACT = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: Fraction(a) / b if b else None,
    "%": lambda a, b: a - b * math.trunc(Fraction(a) / b) if b else None,
    "**": lambda a, b: a ** min(b, 64 + b % 2),  # greater exponents: |a| <= 1 or out of range
}
POW = ctypes.CDLL(None).pow  # numpy's may differ from C's in the last bit
POW.argtypes, POW.restype = (ctypes.c_double, ctypes.c_double), ctypes.c_double
DOUBLE = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.fmod, "**": POW
}  # fmt: skip


def arithmetic(operator, terms):
    """The result of an operation on one or two terms; None if it has no value."""
    if None in terms or None in (numbers := [number(each) for each in terms]):
        return None
    a, b = numbers if len(numbers) > 1 else (-0.0 if isinstance(numbers[0], float) else 0, *numbers)
    whole = isinstance(a, int) and isinstance(b, int) and b >= 0
    if float in (type(a), type(b)) or (operator == "**" and not whole):
        with np.errstate(all="ignore"):
            return numeral(float(DOUBLE[operator](float(a), float(b))))
    result = EXACT[operator](a, b)
    return None if result is None else numeral(result)


def numeral(content):
    """The canonical term of an int, Fraction or float; None if its whole part exceeds 64 bits."""
    if isinstance(content, float):
        return f'"{double(content)}"^^<{XSD}double>'
    if isinstance(content, Fraction):
        content = Fraction(round(content * 10**18), 10**18)  # half to even
    if not -(2**63) <= content < 2**63:
        return None
    if isinstance(content, int):
        return f'"{content}"^^<{XSD}integer>'
    digits = f"{abs(content) * 10**18}".rjust(19, "0")
    text = f"{digits[:-18]}.{digits[-18:]}".rstrip("0").rstrip(".")
    return f'"{"-" if content < 0 else ""}{text}"^^<{XSD}decimal>'


def double(content):
    """The canonical form of XSD 1.1: `1.5E2`, `INF`, `NaN`."""
    if math.isnan(content):
        return "NaN"
    if math.isinf(content):
        return "INF" if content > 0 else "-INF"
    if content == 0:
        return f"{content}E0"
    mantissa, exponent = f"{Decimal(repr(content)).normalize():E}".split("E")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}E{int(exponent)}"
