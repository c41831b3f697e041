"""Terms of reduction results. Invariant: they are computed from exact accumulators."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.settling.superaccumulator import (
    DIGITS_DOUBLE,
    read_integer,
)
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.values.sums import Sum
from streamreasoner.values.valuation import UNITS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DOUBLE_UNITS = 1 << 1074  # the exact sum of doubles is in units of 2^-1074


def result(units: NDArray[np.int64], at: int, function: int) -> str | None:
    """The term of an aggregate; None if it does not fit 64 bits.

    Args:
        units: The arena.
        at: The first unit of the group's accumulators (`layout.SUM_NEXT`).
        function: One of `layout.FUNCTION_*`.
    """
    count = int(units[at + layout.SUM_COUNT])
    if function in (layout.FUNCTION_COUNT, layout.FUNCTION_DISTINCT):
        return to_ntriples(count)
    exact = UNITS * read_integer(units, at + layout.SUM_WHOLE, layout.SUM_DIGITS)
    exact += read_integer(units, at + layout.SUM_FRACTION, layout.SUM_DIGITS)
    total = Sum(
        count=count,
        exact=exact,
        has_decimals=bool(units[at + layout.SUM_DECIMALS]),
        has_doubles=bool(units[at + layout.SUM_DOUBLES]),
        positive_infinity=bool(units[at + layout.SUM_POSITIVE]),
        negative_infinity=bool(units[at + layout.SUM_NEGATIVE]),
        nan=bool(units[at + layout.SUM_NAN]),
    )
    finite = int(units[at + layout.SUM_FINITE])
    if finite != 0:
        total.finite = Fraction(read_integer(units, finite, DIGITS_DOUBLE), _DOUBLE_UNITS)
    return total.term(average=function == layout.FUNCTION_AVERAGE)
