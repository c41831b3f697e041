"""Exact sums in digits against Python's integers, fractions and `math.fsum`."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.backends.columnar.kernels.settling.superaccumulator import (
    DIGIT_BITS,
    DIGITS_DOUBLE,
    DIGITS_INTEGER,
    add,
    add_double,
    read_integer,
    sign,
    to_double,
)

UNIT = Fraction(1, 2**1074)
GREATEST = 1.7976931348623157e308
LEAST_NORMAL = 2.2250738585072014e-308
MULTIPLICITY = 2**60 - 1
AT = 3


def column(digits):
    """A zero column of digits between guard words: three before and one after."""
    units = np.zeros(AT + digits + 1, np.int64)
    units[:AT] = units[-1] = -7
    return units


def intact(units, digits):
    """Whether the guard words are unchanged and all digits in range."""
    inner = units[AT : AT + digits - 1]
    around = [*units[:AT], units[-1]]
    return around == [-7] * (AT + 1) and ((inner >= 0) & (inner < 1 << DIGIT_BITS)).all()


def summed(terms):
    """The digits of a sum of (double, multiplicity) pairs."""
    units = column(DIGITS_DOUBLE)
    for value, multiplicity in terms:
        add_double(units, AT, value, multiplicity)
    return units


def nearest(fraction):
    """The double nearest to a fraction; an infinity if out of range."""
    try:
        return float(fraction)
    except OverflowError:
        return math.inf if fraction > 0 else -math.inf


int64 = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.integers(-3, 3),
    st.sampled_from([-(1 << 63), (1 << 63) - 1, 1 << 32, (1 << 32) - 1, -(1 << 32)]),
)
multiplicities = st.one_of(st.integers(-3, 3), st.integers(-MULTIPLICITY, MULTIPLICITY))
finite = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-2, 2),
    st.floats(-5e-308, 5e-308),
    st.sampled_from([GREATEST, -GREATEST, LEAST_NORMAL, 5e-324, -5e-324, 0.0, -0.0, 2.0**-53]),
    st.integers(-1074, 1023).map(lambda exponent: math.ldexp(1.0, exponent)),
)
products = st.lists(st.tuples(finite, multiplicities), max_size=8)


@given(
    st.integers(1, 8).flatmap(
        lambda digits: st.tuples(
            st.just(digits),
            st.lists(
                st.tuples(st.integers(0, 32 * digits + 40), int64, multiplicities), max_size=8
            ),
        )
    )
)
def test_digits_are_the_sum(case):
    """For any additions the digits hold the sum modulo their range."""
    digits, terms = case
    units = column(digits)
    total = 0
    for shift, factor, multiplicity in terms:
        add(units, AT, digits, shift, factor, multiplicity)
        total += factor * multiplicity << shift
    size = 1 << 32 * digits + 32
    expected = (total + size // 2) % size - size // 2

    assert read_integer(units, AT, digits) == expected
    assert sign(units, AT, digits) == (expected > 0) - (expected < 0)
    assert intact(units, digits)


@given(st.lists(st.tuples(int64, multiplicities), max_size=8), st.randoms())
def test_sums_of_integers_are_reversible(terms, random):
    """Sums do not depend on the order, and subtracting everything leaves zero words."""
    units, other = column(DIGITS_INTEGER), column(DIGITS_INTEGER)
    for factor, multiplicity in terms:
        add(units, AT, DIGITS_INTEGER, 0, factor, multiplicity)
    shuffled = random.sample(terms, len(terms))
    for factor, multiplicity in shuffled:
        add(other, AT, DIGITS_INTEGER, 0, factor, multiplicity)

    assert units.tolist() == other.tolist()
    for factor, multiplicity in random.sample(terms, len(terms)):
        add(units, AT, DIGITS_INTEGER, 0, factor, -multiplicity)
    assert units.tolist() == column(DIGITS_INTEGER).tolist()


@given(products)
def test_sums_of_doubles_are_exact_and_rounded_once(terms):
    """The digits are the exact sum, and the double is its nearest, with ties to even."""
    units = summed(terms)
    exact = sum((Fraction(value) * multiplicity for value, multiplicity in terms), Fraction())

    assert read_integer(units, AT, DIGITS_DOUBLE) * UNIT == exact
    assert to_double(units, AT, DIGITS_DOUBLE) == nearest(exact)
    assert intact(units, DIGITS_DOUBLE)


@given(st.lists(st.floats(-1e300, 1e300)))
def test_sums_of_doubles_equal_fsum(values):
    """With multiplicity 1 the sum is that of `math.fsum`."""
    units = summed([(value, 1) for value in values])

    assert to_double(units, AT, DIGITS_DOUBLE) == math.fsum(values)


@given(products, st.randoms())
def test_sums_of_doubles_are_reversible(terms, random):
    """Sums do not depend on the order, and subtracted terms leave no residue."""
    units = summed(terms)

    assert units.tolist() == summed(random.sample(terms, len(terms))).tolist()
    remaining = terms[: len(terms) // 2]
    for value, multiplicity in random.sample(terms[len(remaining) :], len(terms) - len(remaining)):
        add_double(units, AT, value, -multiplicity)
    assert units.tolist() == summed(remaining).tolist()


@st.composite
def near_ties(draw):
    """Sums of a few powers of two: often half-way between two doubles, or one bit off."""
    start = draw(st.integers(-1074, 900))
    gaps = draw(st.lists(st.sampled_from([0, 1, 31, 32, 51, 52, 53, 54, 64, 100]), max_size=6))
    exponents = [start]
    for gap in gaps:
        exponents.append(min(exponents[-1] + gap, 1023))
    signs = draw(st.lists(st.sampled_from([-1, 1]), min_size=7, max_size=7))
    return [(math.ldexp(1.0, e), s) for e, s in zip(exponents, signs, strict=False)]


@given(near_ties())
def test_ties_go_to_the_even_double(terms):
    """Half-way sums round to even, unless a bit further below breaks the tie."""
    exact = sum((Fraction(value) * multiplicity for value, multiplicity in terms), Fraction())

    assert to_double(summed(terms), AT, DIGITS_DOUBLE) == nearest(exact)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([], 0.0),
        ([(-0.0, 5)], 0.0),
        ([(5e-324, 1)], 5e-324),
        ([(5e-324, -1)], -5e-324),
        ([(LEAST_NORMAL, 1), (5e-324, -1)], LEAST_NORMAL - 5e-324),
        ([(GREATEST, 1)], GREATEST),
        ([(GREATEST, -1)], -GREATEST),
        ([(GREATEST, 2)], math.inf),
        ([(GREATEST, -2)], -math.inf),
        ([(GREATEST, 1), (2.0**969, 1)], GREATEST),
        ([(GREATEST, 1), (2.0**970, 1)], math.inf),
        ([(GREATEST, 1), (2.0**970, 1), (5e-324, -1)], GREATEST),
        ([(GREATEST, MULTIPLICITY)] * 4, math.inf),
        ([(GREATEST, MULTIPLICITY)] * 4 + [(GREATEST, -MULTIPLICITY)] * 4, 0.0),
        ([(1.0, 1), (2.0**-53, 1)], 1.0),
        ([(1.0, 1), (2.0**-53, 1), (5e-324, 1)], 1.0 + 2.0**-52),
        ([(1.0, 1), (2.0**-53, 3)], 1.0 + 2.0**-51),
        ([(1e308, 1), (1.0, 1), (-1e308, 1)], 1.0),
        ([(0.1, 10)], 1.0),
    ],
)
def test_edges_of_the_doubles(terms, expected):
    """Subnormals, the greatest double, ties, and cancellation of much greater terms."""
    result = to_double(summed(terms), AT, DIGITS_DOUBLE)

    assert result == expected
    assert math.copysign(1, result) == math.copysign(1, expected)


def test_the_greatest_sum_fits():
    """2^62 times the greatest double fits, and can be subtracted again."""
    units = column(DIGITS_DOUBLE)
    for _ in range(4):
        add_double(units, AT, GREATEST, 2**60)
    exact = Fraction(GREATEST) * 2**62

    assert read_integer(units, AT, DIGITS_DOUBLE) * UNIT == exact
    add_double(units, AT, GREATEST, 1 - 2**62)
    assert to_double(units, AT, DIGITS_DOUBLE) == GREATEST
