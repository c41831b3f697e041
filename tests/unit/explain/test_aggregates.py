"""Aggregates and the total order in Python agree with the kernels and the oracle."""

from __future__ import annotations

import oracle.aggregates
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import DOMAIN

from streamreasoner.explain.aggregates import aggregate, order_key
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.kernels import ordering
from streamreasoner.rdf.values import Values

XSD = "http://www.w3.org/2001/XMLSchema#"
NUMBERS = [
    *(
        f'"{text}"^^<{XSD}integer>'
        for text in ("1", "01", "-7", "9223372036854775807", "1" + "0" * 30)
    ),
    *(
        f'"{text}"^^<{XSD}decimal>'
        for text in ("1.0", "0.5", "-0.25", "0.000000000000000001", "-0.0")
    ),
    *(
        f'"{text}"^^<{XSD}double>'
        for text in ("NaN", "INF", "-INF", "1", "1.0E0", "-0", "1E308", "0.1")
    ),
]
TERMS = [*DOMAIN, *NUMBERS, '"é"', '"z"', '"z"@en', f'"0"^^<{XSD}boolean>',
         f'"2020-01-01T00:00:00Z"^^<{XSD}dateTime>', f'"x"^^<{XSD}integer>']  # fmt: skip


def test_the_order_is_that_of_the_kernel():
    """Any two terms compare as the engine compares them."""
    dictionary = Dictionary()
    ids = [dictionary.intern(term) for term in TERMS]
    values = Values(dictionary)
    values.extend()
    for one, left in zip(TERMS, ids, strict=True):
        for other, right in zip(TERMS, ids, strict=True):
            found = ordering.order(values.table, left, right)

            assert found == (order_key(one) > order_key(other)) - (
                order_key(one) < order_key(other)
            ), (one, other)


@given(
    st.sampled_from(["count", "sum", "avg", "min", "max"]),
    st.lists(st.sampled_from(TERMS), min_size=1, max_size=5),
)
def test_aggregates_are_those_of_the_oracle(function, terms):
    """Every aggregate of random terms has the same value, or none."""
    expected = oracle.aggregates.aggregate(function, False, terms)  # noqa: FBT003

    assert aggregate(function, terms, distinct=False) == expected


@pytest.mark.parametrize(("terms", "count"), [(["a", "b", "a"], "2"), (["a"], "1")])
def test_distinct_terms(terms, count):
    """Equal terms count once."""
    assert aggregate("count", terms, distinct=True) == f'"{count}"^^<{XSD}integer>'
