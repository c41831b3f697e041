"""The total order of terms, compared with a Python sort key."""

from __future__ import annotations

import math
from functools import cmp_to_key

import pytest
from dictionaries import compressing
from hypothesis import example, given
from hypothesis import strategies as st

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.terms import canonical, parse, to_ntriples
from streamreasoner.values.kernels.ordering import order
from streamreasoner.values.order import order_key
from streamreasoner.values.valuation import ValueKind, value
from streamreasoner.values.value_columns import Values

XSD = "http://www.w3.org/2001/XMLSchema#"


def typed(lexical, datatype):
    """A literal of an XSD datatype."""
    return f'"{lexical}"^^<{XSD}{datatype}>'


class Ids:
    """Terms in new dictionaries, compressed or not, and the order under test on their ids."""

    def __init__(self, terms):
        self.values, self._compressed = Values(Dictionary()), Values(compressing())
        for values in (self.values, self._compressed):
            self.of = {term: values.intern(term) for term in terms}

    def order(self, left, right):
        """-1, 0 or 1."""
        found = order(self.values.table, self.of[left], self.of[right])
        assert order(self._compressed.table, self.of[left], self.of[right]) == found
        return found


def key(term):
    """Sort key of a canonical term, by the definition of the order."""
    text = term.encode()
    if not term.startswith('"'):
        return (1, text[1:-1]) if term.startswith("<") else (0, text)
    literal = parse(term)
    found = value(literal.value, literal.datatype)
    ranks = {ValueKind.BOOLEAN: 2, ValueKind.INSTANT: 4, ValueKind.STRING: 5, ValueKind.NONE: 6}
    if found.kind in ranks:
        string = literal.value if found.kind is ValueKind.STRING else ""
        return (ranks[found.kind], found.whole, found.fraction, string, text)
    nan = math.isnan(found.double)
    inexact = found.kind is ValueKind.DOUBLE
    double = 0.0 if nan else found.double
    return (3, nan, double, inexact, found.whole, found.fraction, text)


datatypes = st.sampled_from(
    ["integer", "byte", "decimal", "double", "float", "boolean", "date", "dateTime", "token"]
)
lexicals = st.sampled_from(
    [
        *(
            "0",
            "-0",
            "00",
            "-0.0",
            "0.0",
            "1",
            "+1",
            "01",
            "1.0",
            "1e0",
            "2",
            "-3",
            "true",
            "false",
        ),
        *("NaN", "INF", "-INF", "1e400", "0.1", "0.10", "9007199254740992", "9007199254740993"),
        *("9223372036854775807", "9223372036854775808", "9223372036854775809", "9" * 40),
        *("0.000000000000000001", "0.0000000000000000001", "x", ""),
        *("2020-01-01", "2020-01-01Z", "2020-01-01T00:00:00", "2020-01-01T00:00:00.0Z"),
        *("2020-01-01T01:00:00+01:00", "2020-01-01T00:00:00.5", "-0001-01-01", "2020-02-30"),
    ]
)
words = st.one_of(
    st.text(max_size=12),
    st.text('\x00\t\n\x1f !A"\\u\x7f\x80\uf000\ufffd\ufffe\uffff\U00010000', max_size=4),
    st.sampled_from(["12345678", "123456789", "1234567", "12345678\x00", "12345678abcdefgh"]),
)
terms = st.one_of(
    st.builds(typed, lexicals, datatypes),
    st.one_of(
        st.integers(-(1 << 63), (1 << 63) - 1),
        st.integers(-9, 9),
        st.floats(),
        st.booleans(),
        st.decimals(min_value=-9, max_value=9, places=3),
    ).map(to_ntriples),
    words.map(to_ntriples),
    st.builds(lambda word, tag: f"{to_ntriples(word)}@{tag}", words, st.sampled_from(["en", "fr"])),
    st.builds(
        lambda word, name: f"{to_ntriples(word)}^^<http://example.org/{name}>",
        words,
        st.sampled_from(["t", "u"]),
    ),
    st.text("ab\u00e9/", max_size=12).map(lambda name: f"<http://example.org/{name}>"),
    st.text("ab\u00e9", min_size=1, max_size=9).map(lambda name: f"_:{name}"),
).map(canonical)


@given(st.lists(terms, max_size=12))
@example([typed("9007199254740993", "integer"), typed("9007199254740992", "double")])
@example([typed("NaN", "double"), typed("NaN", "float"), typed("INF", "double")])
def test_the_order_is_that_of_the_key(drawn):
    """Any two terms are ordered like their keys."""
    ids = Ids(drawn)

    for left in drawn:
        for right in drawn:
            expected = (key(left) > key(right)) - (key(left) < key(right))
            assert ids.order(left, right) == expected


@given(st.lists(terms, max_size=12))
@example([typed("9007199254740993", "integer"), typed("9007199254740992", "double")])
@example([typed("NaN", "double"), typed("NaN", "float"), typed("INF", "double")])
def test_keys_without_a_dictionary_have_the_order(drawn):
    """The bytes of any two terms compare as the terms do."""
    ids = Ids(drawn)
    keys = {term: order_key(term) for term in drawn}

    for left in drawn:
        for right in drawn:
            compared = (keys[left] > keys[right]) - (keys[left] < keys[right])
            assert ids.order(left, right) == compared


@given(st.lists(terms, max_size=12))
def test_the_order_is_total(drawn):
    """It is antisymmetric and transitive, and each term equals only itself."""
    ids = Ids(drawn)
    ranked = sorted(set(drawn), key=cmp_to_key(ids.order))

    for i, left in enumerate(ranked):
        for j, right in enumerate(ranked):
            assert ids.order(left, right) == (i > j) - (i < j)


@given(st.lists(terms, max_size=8))
def test_the_order_agrees_with_the_comparison(drawn):
    """If `<` holds, so does the order, except between an exact number and a double."""
    ids = Ids(drawn)

    for left in drawn:
        for right in drawn:
            first, second = ids.of[left], ids.of[right]
            inexact = [ids.values.kind[term] == ValueKind.DOUBLE for term in (first, second)]
            compared = ids.values.compare(first, second)
            if compared in (-1, 1) and inexact[0] == inexact[1]:
                assert ids.order(left, right) == compared


def test_kinds_follow_each_other():
    """Terms of each kind, and ties within a kind, are in the defined order."""
    ranked = [
        "_:b",
        "_:z",
        "<http://a/>",
        "<http://a/a>",
        typed("0", "boolean"),
        typed("false", "boolean"),
        typed("1", "boolean"),
        typed("-INF", "double"),
        typed("-1", "integer"),
        typed("-0", "integer"),
        typed("0", "integer"),
        typed("0.0", "decimal"),
        typed("-0.0", "double"),
        typed("0", "double"),
        typed("9007199254740992", "integer"),
        typed("9007199254740993", "integer"),
        typed("9007199254740992", "double"),
        typed("INF", "double"),
        typed("NaN", "double"),
        typed("NaN", "float"),
        typed("-0001-01-01", "date"),
        typed("2020-01-01", "date"),
        typed("2020-01-01T00:00:00", "dateTime"),
        '""',
        '"1"',
        '"a"',
        '"a\\n"',
        '"\\uFFFF"',
        '"\U0001f600"',
        '"1"@en',
        typed("2020-02-30", "date"),
        '"a"@en',
        typed("x", "integer"),
    ]
    ids = Ids(ranked)
    shuffled = sorted(ranked, key=lambda term: term[::-1])

    assert sorted(shuffled, key=cmp_to_key(ids.order)) == ranked
    assert sorted(shuffled, key=order_key) == ranked


@pytest.mark.parametrize("term", ["_:b", "<http://a/b>", '"a"', typed("NaN", "double")])
def test_a_term_equals_itself(term):
    """Every term equals itself, including NaN."""
    assert Ids([term]).order(term, term) == 0
