"""Summing equal rows of a trace."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.state.consolidate import consolidate

SMALL = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.integers(-2, 2))
WIDE = st.tuples(
    st.sampled_from([0, 1, 2**31 - 1]),
    st.sampled_from([0, 5, 2**31 - 1]),
    st.sampled_from([0, 2**30]),
    st.integers(-2, 2),
)
FULL = st.tuples(
    st.sampled_from([0, 1, 2**31 - 1]),
    st.sampled_from([0, 5, 2**31 - 1]),
    st.sampled_from([0, 3]),
    st.sampled_from([-(2**40), -1, 1, 2**40]),
)


@pytest.mark.parametrize(
    "rows",
    [SMALL, FULL, WIDE],
    ids=["a row fits a word", "only a key fits", "a key does not fit"],
)
def test_consolidate_is_a_counter_without_zeros(rows):
    """Consolidation sums equal keys and drops zeros, whether or not keys fit one machine word."""

    @given(st.lists(rows, min_size=1, max_size=40))
    def law(sample):
        expected = Counter()
        for *key, multiplicity in sample:
            expected[tuple(key)] += multiplicity
        *columns, multiplicity = (np.array(column) for column in zip(*sample, strict=True))

        keys, sums = consolidate(columns, multiplicity)

        found = dict(
            zip(zip(*(key.tolist() for key in keys), strict=True), sums.tolist(), strict=True)
        )
        assert found == {key: total for key, total in expected.items() if total}
        assert list(found) == sorted(found)

    law()


def test_facts_without_arguments_are_summed_by_iteration():
    """A predicate of arity 0 has the iteration as its only key."""
    keys, sums = consolidate([np.array([0, 1, 0])], np.array([1, 2, 3]))

    assert [keys[0].tolist(), sums.tolist()] == [[0, 1], [4, 2]]
