"""Terms of reductions against the oracle's aggregates, from accumulators written by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from oracle.aggregates import aggregate
from oracle.arithmetic import numeral
from oracle.terms import XSD, number
from thorough import THOROUGH

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.settling.superaccumulator import (
    DIGIT_BITS,
    DIGITS_DOUBLE,
)
from streamreasoner.backends.columnar.results import result

AT, FINITE = 3, 40
"""Where the accumulators are in the arena, and the digits of the sum of doubles."""
FUNCTIONS = {
    "count": layout.FUNCTION_COUNT,
    "count distinct": layout.FUNCTION_DISTINCT,
    "sum": layout.FUNCTION_SUM,
    "avg": layout.FUNCTION_AVERAGE,
}
DOUBLES = [f'"{text}"^^<{XSD}double>' for text in ("INF", "-INF", "NaN", "1.0E0", "-2.5E-300")]
TERMS = st.one_of(
    st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1)).map(numeral),
    st.integers(-(10**19), 10**19).map(lambda units: numeral(Fraction(units, 10**18))),
    st.floats(width=64).map(numeral),
    st.sampled_from(DOUBLES),
)


@pytest.mark.parametrize("function", FUNCTIONS)
@examples(max_examples=2000 if THOROUGH else 24)
@given(st.lists(TERMS, min_size=1, max_size=6))
def test_a_result_is_the_aggregate_of_the_terms(function, terms):
    """Of whatever kinds the numbers are; a result that does not fit 64 bits is none."""
    name, _, distinct = function.partition(" ")
    counted = list(dict.fromkeys(terms)) if distinct else terms

    assert result(accumulators(counted), AT, FUNCTIONS[function]) == aggregate(
        name, bool(distinct), terms
    )


def accumulators(terms):
    """An arena with the accumulators of numbers."""
    units = np.full(FINITE + DIGITS_DOUBLE, -7, np.int64)
    units[AT : AT + layout.SUM_UNITS] = 0
    values = [number(term) for term in terms]
    kinds = [type(value) for value in values]
    units[AT + layout.SUM_COUNT] = len(values)
    units[AT + layout.SUM_DECIMALS] = kinds.count(Fraction)
    units[AT + layout.SUM_DOUBLES] = kinds.count(float)
    doubles = [value for value in values if isinstance(value, float)]
    units[AT + layout.SUM_POSITIVE] = doubles.count(float("inf"))
    units[AT + layout.SUM_NEGATIVE] = doubles.count(float("-inf"))
    units[AT + layout.SUM_NAN] = sum(value != value for value in doubles)  # noqa: PLR0124 - NaN
    exact = [Fraction(value) for value in values if not isinstance(value, float)]
    wholes = [int(value) for value in exact]
    parts = [value - whole for value, whole in zip(exact, wholes, strict=True)]
    put(units, AT + layout.SUM_WHOLE, layout.SUM_DIGITS, sum(wholes))
    put(units, AT + layout.SUM_FRACTION, layout.SUM_DIGITS, int(sum(parts) * 10**18))
    finite = [Fraction(value) for value in doubles if abs(value) < float("inf")]
    if finite:
        units[AT + layout.SUM_FINITE] = FINITE
        put(units, FINITE, DIGITS_DOUBLE, int(sum(finite) * 2**1074))
    return units


def put(units, at, digits, total):
    """Write an integer, the least digit first; the last one is signed."""
    for position in range(at, at + digits - 1):
        units[position] = total & ((1 << DIGIT_BITS) - 1)
        total >>= DIGIT_BITS
    units[at + digits - 1] = total
