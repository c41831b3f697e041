"""Comparison of terms by value, checked against Python's numbers, strings and times."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from dictionaries import compressing
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.values.kernels import decimals, value_kinds
from streamreasoner.values.valuation import FRACTION_DIGITS, UNITS, ValueKind, value
from streamreasoner.values.value_columns import Values

XSD = "http://www.w3.org/2001/XMLSchema#"
INCOMPARABLE = 2


def order(left, right):
    """Compare two terms, given as text, by their ids."""
    forward, same = (order_in(make(), left, right) for make in (Dictionary, compressing))

    assert forward == same
    return forward


def order_in(dictionary, left, right):
    """Compare two terms of a dictionary."""
    values = Values(dictionary)
    first, second = dictionary.intern(left), dictionary.intern(right)
    values.extend()
    forward, backward = values.compare(first, second), values.compare(second, first)

    assert backward == (forward if forward in (0, INCOMPARABLE) else -forward)
    return forward


def sign(left, right):
    """Python's own order."""
    return (left > right) - (left < right)


def typed(lexical, datatype):
    """A literal of an XSD datatype."""
    return f'"{lexical}"^^<{XSD}{datatype}>'


exact = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.decimals(min_value=-(10**18), max_value=10**18, places=18),
    st.decimals(min_value=-3, max_value=3, places=2),
)
doubles = st.floats(allow_nan=False)


@given(exact, exact)
def test_exact_numbers_compare_exactly(left, right):
    """Integers and decimals compare like Python's unbounded numbers."""
    assert order(to_ntriples(left), to_ntriples(right)) == sign(Decimal(left), Decimal(right))


@given(doubles, doubles)
def test_doubles_compare_as_floats(left, right):
    """Doubles compare as IEEE numbers, including infinities and signed zeros."""
    assert order(to_ntriples(left), to_ntriples(right)) == sign(left, right)


@given(exact, doubles)
def test_an_exact_number_meets_a_double_as_double(left, right):
    """If one side is a double, both are compared as doubles."""
    assert order(to_ntriples(left), to_ntriples(right)) == sign(float(left), right)


@given(st.text(), st.text())
def test_strings_compare_by_code_point(left, right):
    """Plain literals compare like Python strings, despite escapes in their canonical text."""
    assert order(to_ntriples(left), to_ntriples(right)) == sign(left, right)


escaped = st.text('\x00\t\n\x0b\x1f !A"\\u\x7f\x80\uf000\ufffd\ufffe\uffff\U00010000', max_size=4)


@given(escaped, escaped)
def test_escapes_do_not_disturb_the_order(left, right):
    """The same holds for characters that canonical N-Triples escapes, and their neighbours."""
    assert order(to_ntriples(left), to_ntriples(right)) == sign(left, right)


@st.composite
def instants(draw):
    """A lexical xsd:dateTime and its instant."""
    minutes = draw(st.one_of(st.none(), st.integers(-840, 840)))
    moment = draw(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)))  # noqa: DTZ001
    if minutes is None:
        return moment.isoformat(), moment.replace(tzinfo=UTC)
    local = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    return local.isoformat(), local


@given(instants(), instants())
def test_instants_compare_as_times(left, right):
    """Times compare as instants across time zones; the default is UTC."""
    expected = sign(left[1], right[1])

    assert order(typed(left[0], "dateTime"), typed(right[0], "dateTime")) == expected


@given(st.dates(), st.dates())
def test_dates_compare_as_days(left, right):
    """Dates compare as the instants at which they start."""
    assert order(typed(left, "date"), typed(right, "date")) == sign(left, right)
    assert order(typed(left, "date"), typed(f"{left}T00:00:00Z", "dateTime")) == 0


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (typed("1", "integer"), typed("1.0", "decimal"), 0),
        (typed("01", "integer"), typed("+1", "byte"), 0),
        (typed("-0.5", "decimal"), typed("-1", "integer"), 1),
        (typed("9007199254740993", "integer"), typed("9007199254740992", "integer"), 1),
        (typed("9007199254740993", "integer"), typed("9007199254740992", "double"), 0),
        (typed("9" * 40, "integer"), typed("1e40", "double"), 0),
        (typed("1" + "0" * 40, "integer"), typed("2", "decimal"), 1),
        (typed("0." + "0" * 20 + "1", "decimal"), typed("0", "integer"), 1),
        (typed("0.1", "float"), typed("0.1", "double"), 1),
        (typed("INF", "double"), typed("1e308", "double"), 1),
        (typed("NaN", "double"), typed("NaN", "double"), 0),
        (typed("NaN", "double"), typed("NaN", "float"), INCOMPARABLE),
        (typed("NaN", "double"), typed("1", "integer"), INCOMPARABLE),
        (typed("true", "boolean"), typed("0", "boolean"), 1),
        (typed("true", "boolean"), typed("1", "boolean"), 0),
        (typed("true", "boolean"), typed("1", "integer"), INCOMPARABLE),
        (typed("2020-01-01T24:00:00", "dateTime"), typed("2020-01-02T00:00:00Z", "dateTime"), 0),
        (typed("-0001-12-31", "date"), typed("0000-01-01", "date"), -1),
        (
            typed("2020-01-01T00:00:00.1", "dateTime"),
            typed("2020-01-01T00:00:00.10", "dateTime"),
            0,
        ),
        ('"a"', '"a"@en', INCOMPARABLE),
        ('"a"@en', '"b"@en', INCOMPARABLE),
        ('"a"@en', '"a"@en', 0),
        ('"1"', typed("1", "integer"), INCOMPARABLE),
        ("<http://a/a>", "<http://a/b>", INCOMPARABLE),
        ("<http://a/a>", "<http://a/a>", 0),
        ("_:a", "_:b", INCOMPARABLE),
        (typed("x", "anyURI"), typed("y", "anyURI"), INCOMPARABLE),
        (typed("zz", "integer"), typed("1", "integer"), INCOMPARABLE),
        (typed("zz", "integer"), typed("zz", "integer"), 0),
    ],
)
def test_order_of_terms(left, right, expected):
    """Numbers compare across datatypes; other kinds and unknown values only with themselves."""
    assert order(left, right) == expected


@pytest.mark.parametrize(
    ("lexical", "datatype"),
    [
        (" 1", "integer"),
        ("1.0", "integer"),
        ("\u0661", "integer"),
        ("128", "byte"),
        ("-1", "nonNegativeInteger"),
        ("18446744073709551616", "unsignedLong"),
        ("-" + "9" * 30, "positiveInteger"),
        ("1e0", "decimal"),
        (".", "decimal"),
        ("", "decimal"),
        ("inf", "double"),
        ("nan", "double"),
        ("1_0", "double"),
        ("TRUE", "boolean"),
        ("2020-02-30", "date"),
        ("1900-02-29", "date"),
        ("20-01-01", "date"),
        ("2020-01-01", "dateTime"),
        ("2020-01-01T24:00:01", "dateTime"),
        ("2020-01-01T00:00:60", "dateTime"),
        ("2020-01-01T00:00:00+14:01", "dateTime"),
        ("2020-01-01T00:00:00", "dateTimeStamp"),
        ("2020-01-01T00:00:00." + "1" * 19, "dateTime"),
    ],
)
def test_forms_without_value(lexical, datatype):
    """An ill-typed form, or one more precise than the columns can hold, has no value."""
    assert value(lexical, XSD + datatype).kind is ValueKind.NONE


def test_extending_keeps_what_is_there():
    """Values are computed only for new ids, in any number of steps."""
    dictionary = Dictionary()
    values = Values(dictionary)
    for i in range(100):
        dictionary.intern(typed(i, "integer"))
        values.extend()
        values.extend()

    assert len(values) == 100
    assert values.whole.tolist() == list(range(100))
    assert set(values.kind.tolist()) == {ValueKind.INTEGER}
    assert values.fraction.tolist() == [0] * 100
    assert math.fsum(values.double) == 4950


def test_integers_are_interned_as_their_literals():
    """An integer that a kernel creates is the term of its text, and has its value."""
    dictionary = Dictionary()
    values = Values(dictionary)
    numbers = [0, 7, 7, -1, 10, 2**63 - 1, -(2**63), 123456789012345678, *range(5000), -40]
    for number in numbers:
        term = values.intern_integer(number)

        assert dictionary.find(typed(number, "integer")) == term
        assert values.kind[term] == ValueKind.INTEGER
        assert values.whole[term] == number
        assert values.double[term] == float(number)
    assert len(dictionary) == len(values) == len(set(numbers))


def test_kernels_know_the_same_kinds_and_units():
    """What is compiled into them is what values are made of."""
    assert {kind.name: getattr(value_kinds, kind.name) for kind in ValueKind} == {
        kind.name: kind.value for kind in ValueKind
    }
    assert (decimals.FRACTION_DIGITS, decimals.UNITS) == (FRACTION_DIGITS, UNITS)
