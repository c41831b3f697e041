"""Results of reductions as terms. Invariant: a sum is exact, and rounded once."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from streamreasoner.backends.columnar import layout
from streamreasoner.backends.columnar.superaccumulator import (
    DIGITS_DOUBLE,
    read_integer,
)
from streamreasoner.errors import ArithmeticOverflowError
from streamreasoner.rdf.functions.numbers import exact_term, rounded
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.valuation import UNITS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DOUBLE_UNITS = 1 << 1074  # the exact sum of doubles counts in units of 2^-1074


def result(units: NDArray[np.int64], at: int, function: int) -> str:
    """The term of an aggregate.

    Args:
        units: The arena.
        at: The first unit of the group's accumulators (`layout.SUM_NEXT` and what follows).
        function: One of `layout.FUNCTION_COUNT` and the others.

    Raises:
        ArithmeticOverflowError: An exact sum does not fit 64 bits.
    """
    count = int(units[at + layout.SUM_COUNT])
    if function in (layout.FUNCTION_COUNT, layout.FUNCTION_DISTINCT):
        return to_ntriples(count)
    exact = UNITS * read_integer(units, at + layout.SUM_WHOLE, layout.SUM_DIGITS)
    exact += read_integer(units, at + layout.SUM_FRACTION, layout.SUM_DIGITS)
    average = function == layout.FUNCTION_AVERAGE
    if units[at + layout.SUM_DOUBLES] != 0:
        return to_ntriples(_double(units, at, Fraction(exact, UNITS), count if average else 1))
    integer = not average and units[at + layout.SUM_DECIMALS] == 0
    term = exact_term(rounded(exact, count) if average else exact, integer=integer)
    if term is None:
        raise ArithmeticOverflowError(
            f"The {'avg' if average else 'sum'} of {count} numbers does not fit 64 bits. "
            "The epoch was undone. Sum doubles (`1e0 * ?x`) if the result may be rounded."
        )
    return term


def _double(units: NDArray[np.int64], at: int, exact: Fraction, divisor: int) -> float:
    """The sum of everything over *divisor*, by IEEE 754 for what is not finite."""
    infinite = units[at + layout.SUM_POSITIVE] != 0, units[at + layout.SUM_NEGATIVE] != 0
    if units[at + layout.SUM_NAN] != 0 or all(infinite):
        return math.nan
    if any(infinite):
        return math.inf if infinite[0] else -math.inf
    total = exact
    finite = int(units[at + layout.SUM_FINITE])
    if finite != 0:
        total += Fraction(read_integer(units, finite, DIGITS_DOUBLE), _DOUBLE_UNITS)
    total /= divisor
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf
