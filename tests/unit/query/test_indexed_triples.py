"""An index of triples finds what a loop over them finds."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.query import indexed_triples
from streamreasoner.query.indexed_triples import IndexedTriples

IDS = st.integers(0, 5)
TRIPLES = st.sets(st.tuples(IDS, IDS, IDS), max_size=40)
VARIABLES = 4
TERMS = st.one_of(IDS, st.just(9), st.integers(-VARIABLES, -1))
PATTERNS = st.lists(st.tuples(TERMS, TERMS, TERMS), min_size=1, max_size=4)


def indexed(triples):
    """The index of a set of triples."""
    return IndexedTriples(np.array(sorted(triples), np.int32).reshape(-1, 3))


def solutions(triples, patterns):
    """The solutions, by nested loops over all triples."""
    found = [{}]
    for pattern in patterns:
        extended = []
        for known, triple in product(found, triples):
            values = dict(known)
            if all(
                (term == value if term >= 0 else values.setdefault(term, value) == value)
                for term, value in zip(pattern, triple, strict=True)
            ):
                extended.append(values)
        found = extended
    return Counter(tuple(each.get(~at, -1) for at in range(VARIABLES)) for each in found)


@given(TRIPLES, st.tuples(*[st.none() | IDS | st.just(9)] * 3))
def test_a_pattern_has_its_triples(triples, pattern):
    """Whichever of its ids are given."""
    expected = [
        triple
        for triple in triples
        if all(wanted in {None, each} for wanted, each in zip(pattern, triple, strict=True))
    ]
    assert sorted(map(tuple, indexed(triples).matching(pattern).tolist())) == sorted(expected)
    assert len(indexed(triples)) == len(triples)


@given(TRIPLES, PATTERNS)
def test_patterns_have_their_solutions(triples, patterns):
    """Each as often as there are triples for it."""
    found = indexed(triples).solutions(patterns, VARIABLES)
    assert Counter(map(tuple, found.tolist())) == solutions(triples, patterns)


@given(TRIPLES, PATTERNS, st.integers(0, 60))
def test_many_triples_are_not_looked_at(triples, patterns, most):
    """Either all solutions are found, or none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexed_triples, "MOST", most)
        found = indexed(triples).solutions(patterns, VARIABLES)
    expected = solutions(triples, patterns)
    if found is None:
        assert most < 10**6
    else:
        assert Counter(map(tuple, found.tolist())) == expected
        assert len(found) <= most


def test_a_question_looks_at_so_many_triples():
    """One more is too many."""
    triples = [(i, 0, 1) for i in range(5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexed_triples, "MOST", 5)
        assert len(indexed(triples).solutions([(-1, 0, 1)], 1)) == 5
        assert indexed([*triples, (5, 0, 1)]).solutions([(-1, 0, 1)], 1) is None
        assert len(indexed([*triples, (5, 0, 1)]).solutions([(5, 0, -1)], 1)) == 1
