"""Integers as terms: the ids are those of their canonical literals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.native.compile import kernel
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.kernels import hash_table, term_header
from streamreasoner.rdf.terms import parse
from streamreasoner.values.kernels import comparing, integers
from streamreasoner.values.valuation import value
from streamreasoner.values.value_columns import Values

XSD = "http://www.w3.org/2001/XMLSchema#"
LEAST, MOST = -(2**63), 2**63 - 1
LIMIT = comparing.SMALL_LIMIT
NUMBERS = st.one_of(
    st.sampled_from((0, 9, 10, -1, -10, LIMIT - 1, LIMIT, LEAST, LEAST + 1, MOST)),
    st.integers(LEAST, MOST),
)


def literal(number):
    """The canonical term of an integer."""
    return f'"{number}"^^<{XSD}integer>'


DIGITS = st.from_regex(r"[+-]?[0-9]{1,20}", fullmatch=True)
TERMS = st.one_of(
    NUMBERS.map(literal),
    st.builds('"{}"^^<{}{}>'.format, DIGITS, st.just(XSD), st.sampled_from(("integer", "int"))),
    st.sampled_from((f'""^^<{XSD}integer>', f'"-"^^<{XSD}integer>', f'"1x"^^<{XSD}integer>')),
    st.sampled_from((f'"1.5"^^<{XSD}decimal>', '"7"', '"7"@en', f"<{XSD}integer>", '"7"^^<x:y>')),
)


@given(st.lists(TERMS, max_size=8))
def test_values_of_integers_are_those_of_the_definition(terms):
    """A kernel reads plain integers, and leaves all others to Python."""
    dictionary = Dictionary()
    values = Values(dictionary)
    ids = [dictionary.intern(term) for term in terms]
    values.extend()

    for term, number in zip(terms, ids, strict=True):
        if not term.endswith(">") or term.startswith("<"):
            continue
        parsed = parse(term)
        expected = value(parsed.value, parsed.datatype)
        assert values.kind[number] == expected.kind
        assert (values.whole[number], values.fraction[number]) == (
            expected.whole,
            expected.fraction,
        )
        assert values.double[number] == expected.double


@kernel
def is_integer(values, term):
    """What an inlined function answers."""
    return integers.is_integer(values, term)


@given(st.lists(NUMBERS, max_size=6), st.lists(NUMBERS, max_size=6))
def test_the_id_is_that_of_the_literal(known, numbers):
    """Known or new, at once and again; a new one gets its value, and there is no other term."""
    dictionary = Dictionary()
    for number in known:
        dictionary.intern(literal(number))
    values = Values(dictionary)
    values.extend()
    found = [integers.intern_integer(values.table, number) for number in numbers + numbers]
    expected = [*dict.fromkeys(map(literal, known + numbers))]

    assert dictionary.terms(0, len(dictionary)).to_pylist() == expected
    assert found == [expected.index(literal(number)) for number in numbers + numbers]
    assert len(values) == len(dictionary)
    for number, term in zip(numbers, found, strict=False):
        assert (values.whole[term], values.fraction[term]) == (number, 0)
        assert values.double[term] == float(number)
        assert is_integer(values.table, term)


def test_a_full_dictionary_is_left_as_it_is():
    """A new integer is refused until there is room; those that it has are found."""
    dictionary = Dictionary()
    values = Values(dictionary)
    one = integers.intern_integer(values.table, 1)
    limit = int(dictionary.header[term_header.COUNT_LIMIT])
    dictionary.header[term_header.COUNT_LIMIT] = 1

    assert integers.intern_integer(values.table, 2) == hash_table.FULL
    assert integers.intern_integer(values.table, 1) == one
    assert (len(values), len(dictionary)) == (1, 1)
    dictionary.header[term_header.COUNT_LIMIT] = limit
    assert integers.intern_integer(values.table, 2) == one + 1


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (literal(5), True),
        (literal(MOST), True),
        (f'"5"^^<{XSD}byte>', True),
        (literal(MOST + 1), False),
        (f'"5.0"^^<{XSD}decimal>', False),
        (f'"5.0E0"^^<{XSD}double>', False),
        (f'"x"^^<{XSD}integer>', False),
        ('"5"', False),
        ("<urn:5>", False),
    ],
)
def test_integers_are_told_from_other_terms(term, expected):
    """They fit into 64 bits, whatever their datatype is derived from."""
    values = Values(dictionary := Dictionary())
    number = dictionary.intern(term)
    values.extend()

    assert is_integer(values.table, number) == expected
