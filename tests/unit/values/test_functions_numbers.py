"""Arithmetic on terms, compared with fractions, Python's floats and tables of edge cases."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamreasoner.api.nodes import from_ntriples, to_ntriples
from streamreasoner.rdf.terms import canonical
from streamreasoner.values.builtins import apply
from streamreasoner.values.numbers import exact_term, rounded

XSD = "http://www.w3.org/2001/XMLSchema#"
LEAST, MOST = -(1 << 63), (1 << 63) - 1
UNITS = 10**18


def typed(lexical, datatype):
    """A literal of an XSD datatype."""
    return f'"{lexical}"^^<{XSD}{datatype}>'


def integer(lexical):
    """An xsd:integer."""
    return typed(lexical, "integer")


def decimal(lexical):
    """An xsd:decimal."""
    return typed(lexical, "decimal")


def double(lexical):
    """An xsd:double."""
    return typed(lexical, "double")


ABSENT = None
BINARY = [
    # Types: integer < decimal < double, derived types count as integer, float as double.
    ("+", integer("1"), integer("2"), integer("3")),
    ("+", typed("1", "byte"), typed("+02", "unsignedLong"), integer("3")),
    ("+", integer("1"), decimal("2.50"), decimal("3.5")),
    ("+", decimal("1.5"), decimal("1.5"), decimal("3")),
    ("+", decimal("-0.0"), integer("-0"), decimal("0")),
    ("+", integer("1"), double("2"), double("3.0E0")),
    ("+", decimal("0.1"), typed("0.5", "float"), double("6.0E-1")),
    ("+", typed("0.1", "float"), integer("0"), double("1.0000000149011612E-1")),
    ("-", integer("1"), integer("2"), integer("-1")),
    ("-", decimal("0.1"), decimal("0.3"), decimal("-0.2")),
    ("-", decimal(".5"), integer("1"), decimal("-0.5")),
    ("*", integer("-3"), integer("4"), integer("-12")),
    ("*", decimal("1.1"), decimal("1.1"), decimal("1.21")),
    ("*", double("1e200"), double("1e200"), double("INF")),
    # Rounding is half-even, at 18 fraction digits.
    ("*", decimal("0.000000000000000001"), decimal("0.5"), decimal("0")),
    ("*", decimal("0.000000000000000003"), decimal("0.5"), decimal("0.000000000000000002")),
    ("*", decimal("-0.000000000000000003"), decimal("0.5"), decimal("-0.000000000000000002")),
    ("/", integer("1"), integer("3"), decimal("0." + "3" * 18)),
    ("/", integer("-2"), integer("3"), decimal("-0." + "6" * 17 + "7")),
    ("/", integer("6"), integer("-3"), decimal("-2")),
    ("/", integer("0"), decimal("-3"), decimal("0")),
    # Only doubles can be divided by zero.
    ("/", integer("1"), integer("0"), ABSENT),
    ("/", decimal("1"), decimal("-0.0"), ABSENT),
    ("/", integer("1"), double("0"), double("INF")),
    ("/", integer("1"), double("-0.0"), double("-INF")),
    ("/", double("-1"), integer("0"), double("-INF")),
    ("/", double("1"), integer("-0"), double("INF")),
    ("/", double("0"), integer("0"), double("NaN")),
    ("/", double("NaN"), double("0"), double("NaN")),
    ("/", double("-INF"), double("0"), double("-INF")),
    ("/", double("INF"), double("INF"), double("NaN")),
    ("/", double("-0.0"), double("5"), double("-0.0E0")),
    ("-", double("INF"), double("INF"), double("NaN")),
    ("+", double("-0.0"), double("-0.0"), double("-0.0E0")),
    ("%", integer("7"), integer("3"), integer("1")),
    ("%", integer("-7"), integer("3"), integer("-1")),
    ("%", integer("7"), integer("-3"), integer("1")),
    ("%", integer("7"), integer("0"), ABSENT),
    ("%", integer(LEAST), integer("-1"), integer("0")),
    ("%", decimal("-5.5"), integer("2"), decimal("-1.5")),
    ("%", decimal("5.5"), decimal("0"), ABSENT),
    ("%", double("-5.5"), integer("2"), double("-1.5E0")),
    ("%", double("5"), integer("0"), double("NaN")),
    ("%", double("INF"), integer("2"), double("NaN")),
    ("%", double("NaN"), integer("2"), double("NaN")),
    ("%", double("5"), double("-INF"), double("5.0E0")),
    ("%", double("-0.0"), integer("2"), double("-0.0E0")),
    ("**", integer("2"), integer("10"), integer("1024")),
    ("**", integer("-2"), integer("63"), integer(LEAST)),
    ("**", integer("0"), integer("0"), integer("1")),
    ("**", integer("0"), integer(MOST), integer("0")),
    ("**", integer("-1"), integer(MOST), integer("-1")),
    ("**", integer("-1"), integer(MOST - 1), integer("1")),
    ("**", integer("1"), integer(MOST), integer("1")),
    ("**", integer("2"), integer("-1"), double("5.0E-1")),
    ("**", integer("0"), integer("-1"), double("INF")),
    ("**", double("-0.0"), integer("-1"), double("-INF")),
    ("**", double("-0.0"), integer("-2"), double("INF")),
    ("**", decimal("1.5"), integer("2"), double("2.25E0")),
    ("**", integer("4"), decimal("0.5"), double("2.0E0")),
    ("**", integer("-4"), decimal("0.5"), double("NaN")),
    ("**", double("10"), integer("400"), double("INF")),
    ("**", double("-10"), integer("401"), double("-INF")),
    ("**", double("-10"), integer("400"), double("INF")),
    ("**", double("-INF"), integer("3"), double("-INF")),
    ("**", double("NaN"), integer("0"), double("1.0E0")),
    # What does not fit in 64 bits and 18 fraction digits counts as a double.
    ("+", integer(MOST + 1), integer("0"), double("9.223372036854776E18")),
    ("+", decimal("0." + "1" * 19), integer("0"), double("1.111111111111111E-1")),
    ("+", decimal("0.1" + "0" * 30), integer("0"), decimal("0.1")),
    ("+", typed(MOST + 1, "unsignedLong"), integer("0"), double("9.223372036854776E18")),
    ("/", integer(MOST + 1), integer("0"), double("INF")),
    ("+", integer(MOST), integer("0"), integer(MOST)),
    ("-", integer(LEAST), integer("0"), integer(LEAST)),
    ("+", integer(MOST), decimal("0.5"), decimal(f"{MOST}.5")),
    ("-", decimal(LEAST + 1), decimal("0.5"), decimal(f"{LEAST + 1}.5")),
    # Not numbers.
    ("+", integer("abc"), integer("1"), ABSENT),
    ("+", integer("1"), '"1"', ABSENT),
    ("+", integer("1.0"), integer("1"), ABSENT),
    ("+", typed("128", "byte"), integer("1"), ABSENT),
    ("+", double("inf"), integer("1"), ABSENT),
    ("+", integer(" 1"), integer("1"), ABSENT),
    ("-", "<http://a/b>", integer("1"), ABSENT),
    ("*", integer("1"), "_:b", ABSENT),
    ("/", integer("1"), '"1"@en', ABSENT),
    ("%", integer("1"), typed("true", "boolean"), ABSENT),
    ("**", integer("1"), typed("2020-01-01", "date"), ABSENT),
]


@pytest.mark.parametrize(("operator", "left", "right", "expected"), BINARY)
def test_binary_operators(operator, left, right, expected):
    """Types are promoted, results are canonical, and operations on other terms have no value."""
    assert apply(operator, [left, right]) == expected
    assert expected is None or canonical(expected) == expected


UNARY = [
    ("negate", integer("5"), integer("-5")),
    ("negate", integer("0"), integer("0")),
    ("negate", typed("-128", "byte"), integer("128")),
    ("negate", decimal("-1.50"), decimal("1.5")),
    ("negate", double("0"), double("-0.0E0")),
    ("negate", typed("INF", "float"), double("-INF")),
    ("negate", double("NaN"), double("NaN")),
    ("negate", integer(MOST), integer(-MOST)),
    ("negate", '"5"', ABSENT),
    ("negate", "_:b", ABSENT),
    ("abs", integer("-5"), integer("5")),
    ("abs", integer("05"), integer("5")),
    ("abs", decimal("-0.5"), decimal("0.5")),
    ("abs", double("-0.0"), double("0.0E0")),
    ("abs", double("-INF"), double("INF")),
    ("abs", integer("x"), ABSENT),
]


@pytest.mark.parametrize(("operator", "operand", "expected"), UNARY)
def test_unary_operators(operator, operand, expected):
    """Unary minus and abs keep the type of arithmetic."""
    assert apply(operator, [operand]) == expected


OVERFLOWS = [
    ("+", integer(MOST), integer("1")),
    ("-", integer(LEAST), integer("1")),
    ("*", integer(MOST), integer("2")),
    ("*", integer(LEAST), integer("-1")),
    ("/", integer(LEAST), integer("-1")),
    ("/", integer(MOST), decimal("0.5")),
    ("+", decimal(f"{MOST}.999999999999999999"), decimal("0.000000000000000001")),
    ("-", decimal(LEAST), decimal("0.000000000000000001")),
    ("**", integer("2"), integer("63")),
    ("**", integer("2"), integer(MOST)),
    ("**", integer(MOST), integer(MOST)),
    ("negate", integer(LEAST)),
    ("negate", decimal(LEAST)),
    ("abs", integer(LEAST)),
]


@pytest.mark.parametrize("call", OVERFLOWS)
def test_overflow_has_no_value_and_is_counted(call):
    """A result whose whole part exceeds 64 bits has no value, and the caller is notified."""
    operator, *operands = call
    overflows = []

    assert apply(operator, operands, lambda: overflows.append(call)) is ABSENT
    assert overflows == [call]


def test_other_absent_values_are_not_counted_as_overflow():
    """A wrong type and a division by zero are not overflows."""
    overflows = []

    for operator, left, right, expected in BINARY:
        assert apply(operator, [left, right], lambda: overflows.append(1)) == expected
    assert overflows == []


NUMBERS = [
    ('"42"', integer("42")),
    ('"+042"', integer("42")),
    ('"-0"', integer("0")),
    ('"9223372036854775808"', integer(MOST + 1)),
    (f'"{"9" * 5000}"', integer("9" * 5000)),
    ('"1.50"', decimal("1.5")),
    ('"-.50"', decimal("-0.5")),
    ('"7."', decimal("7")),
    ('"-0.0"', decimal("0")),
    (f'"0.{"1" * 30}0"', decimal("0." + "1" * 30)),
    ('"1e2"', double("1.0E2")),
    ('"INF"', double("INF")),
    ('"-INF"', double("-INF")),
    ('"NaN"', double("NaN")),
    ('"-0e0"', double("-0.0E0")),
    ('"1e999"', double("INF")),
    ('"42"@en', integer("42")),
    (integer("042"), integer("042")),
    (typed("1.5", "float"), typed("1.5", "float")),
    (typed("7", "long"), typed("7", "long")),
    (integer("abc"), ABSENT),
    ('""', ABSENT),
    ('" 1"', ABSENT),
    ('"1 "', ABSENT),
    ('"inf"', ABSENT),
    ('"0x10"', ABSENT),
    ('"1_0"', ABSENT),
    ('"\u0661"', ABSENT),
    ('"."', ABSENT),
    ('"1\\n"', ABSENT),
    (typed("true", "boolean"), ABSENT),
    ("<http://a/1>", ABSENT),
    ("_:b1", ABSENT),
]


@pytest.mark.parametrize(("operand", "expected"), NUMBERS)
def test_to_number(operand, expected):
    """Numbers stay unchanged; the form of a string decides its type; other terms have no value."""
    assert apply("to_number", [operand]) == expected
    assert expected is None or canonical(expected) == expected


def units_of(units):
    """A Decimal of this many units of 1e-18, whatever the precision of the context."""
    sign, digits = int(units < 0), tuple(int(digit) for digit in str(abs(units)))
    return Decimal((sign, digits, -18))


whole = st.one_of(st.integers(LEAST, MOST), st.integers(-100, 100), st.sampled_from([LEAST, MOST]))
fractional = st.one_of(
    st.decimals(min_value=-(10**18), max_value=10**18, places=18),
    st.decimals(min_value=-3, max_value=3, places=2),
    st.integers(-30, 30).map(lambda units: Decimal(units).scaleb(-18)),
    st.integers(LEAST * UNITS, (MOST + 1) * UNITS - 1).map(units_of),
)
exact = st.one_of(whole, fractional)


def expected_exact(fraction, *, as_integer):
    """Canonical text of a fraction rounded to 18 digits by Python's own half-even rounding."""
    units = round(fraction * UNITS)
    if not LEAST <= math.floor(Fraction(units, UNITS)) <= MOST:
        return ABSENT
    if as_integer:
        return to_ntriples(units // UNITS)
    text = f"{units_of(units):f}".rstrip("0").rstrip(".")
    return decimal("0" if text == "-0" else text)


def computed(operator, *operands):
    """The result of `apply` for Python numbers."""
    return apply(operator, [to_ntriples(operand) for operand in operands])


def modulo(left, right):
    """XPath numeric-mod on fractions."""
    return left - right * math.trunc(left / right)


OPERATIONS = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "%": modulo,
}


@given(st.sampled_from(sorted(OPERATIONS)), exact, exact)
@example("*", Decimal("0.000000000000000001"), Decimal("0.5"))
@example("/", Decimal("0.000000000000000003"), 2)
def test_exact_arithmetic_is_that_of_fractions(operator, left, right):
    """Exact results are those of fractions, rounded once, if they are in range."""
    if right == 0 and operator in "/%":
        assert computed(operator, left, right) is None
        return
    result = OPERATIONS[operator](Fraction(left), Fraction(right))
    as_integer = isinstance(left, int) and isinstance(right, int) and operator != "/"

    assert computed(operator, left, right) == expected_exact(result, as_integer=as_integer)


@given(exact)
def test_signs_of_exact_numbers(operand):
    """Unary minus and abs are those of fractions."""
    as_integer = isinstance(operand, int)

    assert computed("negate", operand) == expected_exact(-Fraction(operand), as_integer=as_integer)
    assert computed("abs", operand) == expected_exact(abs(Fraction(operand)), as_integer=as_integer)


@given(whole, st.one_of(st.integers(0, 70), st.integers(0, MOST)))
def test_integer_powers_are_exact(base, exponent):
    """A power of integers is the exact integer, if it fits."""
    limited = exponent if abs(base) > 1 and exponent < 64 else 64 + exponent % 2
    power = base ** (limited if exponent else 0)
    expected = to_ntriples(power) if LEAST <= power <= MOST else ABSENT

    assert computed("**", base, exponent) == expected


DOUBLE_OPERATIONS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
}


@given(st.sampled_from(sorted(DOUBLE_OPERATIONS)), st.floats(), st.one_of(st.floats(), exact))
def test_doubles_are_those_of_ieee(operator, left, right):
    """Operations on doubles never fail, and give the same results as numpy, which uses C."""
    other = float(right)
    with np.errstate(all="ignore"):
        expected = float(DOUBLE_OPERATIONS[operator](np.float64(left), np.float64(other)))

    assert computed(operator, left, right) == to_ntriples(expected)


@given(st.floats(), st.one_of(st.floats(), st.integers(-9, 9), fractional))
def test_powers_of_doubles_are_those_of_c(base, exponent):
    """A power equals Python's, which is that of C, and does not fail where Python raises."""
    other = float(exponent)
    with np.errstate(all="ignore"):
        expected = float(np.power(np.float64(base), np.float64(other)))
    power = from_ntriples(computed("**", base, exponent))

    # The pow of numpy and that of C may differ in the last bits.
    close = math.isclose(power, expected, rel_tol=1e-13, abs_tol=5e-324)
    assert close or (math.isnan(power) and math.isnan(expected))
    assert math.copysign(1, power) == math.copysign(1, expected) or math.isnan(power)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**4), 10**4).filter(bool))
def test_rounding_is_half_even(numerator, denominator):
    """A quotient is rounded as Python rounds fractions."""
    assert rounded(numerator, denominator) == round(Fraction(numerator, denominator))


@given(st.integers(LEAST * UNITS, (MOST + 1) * UNITS - 1))
def test_exact_terms_say_their_value(units):
    """The text of a decimal is its exact value, without superfluous digits."""
    text = exact_term(units, integer=False)
    lexical = text[1 : text.rindex('"')]

    assert Fraction(lexical) * UNITS == units
    assert lexical == "0" or not lexical.startswith("-0") or "." in lexical
    assert "." not in lexical or not lexical.endswith(("0", "."))
    assert exact_term((MOST + 1) * UNITS + abs(units), integer=False) is None
