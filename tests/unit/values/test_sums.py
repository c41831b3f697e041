"""Aggregates in Python agree with the oracle."""

from __future__ import annotations

import oracle.aggregates
from hypothesis import given
from hypothesis import strategies as st
from strategies import DOMAIN

from streamreasoner.values.sums import aggregate, results

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


@given(
    st.sampled_from(
        (
            *("count", "count distinct", "sum", "avg", "min", "max"),
            *("group_concat ", "group_concat , ", "lowest 1", "lowest 3", "highest 2"),
        )
    ),
    st.lists(st.tuples(st.sampled_from(TERMS), st.integers(1, 3)), min_size=1, max_size=5,
             unique_by=lambda entry: entry[0]),
)  # fmt: skip
def test_aggregates_are_those_of_the_oracle(operation, entries):
    """Every aggregate of random terms has the same value, or none, however often they occur."""
    terms = [term for term, times in entries for _ in range(times)]

    assert [*results(operation, entries)] == oracle.aggregates.results(operation, terms)


def test_an_overflow_is_reported():
    """A sum beyond 64 bits has no value and says so; one without numbers only has no value."""
    reported = []

    assert aggregate("sum", [('"x"', 2)], lambda: reported.append("x")) is None
    assert aggregate("sum", [(NUMBERS[3], 2)], lambda: reported.append("number")) is None
    assert reported == ["number"]
