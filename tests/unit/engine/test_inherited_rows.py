"""Rows of traces, summed and subtracted, judged by counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.engine.inheritance.rows import found_in, in_order, less, matching, summed
from streamreasoner.engine.updates import TraceRows

COUNTS = st.integers(0, 3).flatmap(
    lambda arity: st.tuples(
        *[
            st.dictionaries(
                st.tuples(*[st.integers(0, 3)] * (arity + 1)),
                st.integers(-2, 2).filter(bool),
                max_size=12,
            )
        ]
        * 2,
        st.just(arity),
    )
)


def as_rows(counts, arity):
    """Counts by arguments and iteration as rows."""
    keys = np.array([*counts], np.int32).reshape(-1, arity + 1)
    return TraceRows("in", keys[:, :arity], keys[:, arity], np.array([*counts.values()], np.int64))


def as_counts(rows):
    """Rows as counts; there is one row of each fact and iteration, and none is 0."""
    keys = [*map(tuple, np.column_stack([rows.args, rows.iteration]).tolist())]
    assert len(keys) == len({*keys})
    assert rows.multiplicity.all()
    return dict(zip(keys, rows.multiplicity.tolist(), strict=True))


def difference(one, other):
    """The counts of one, less those of another."""
    found = Counter(one)
    found.subtract(other)
    return {key: count for key, count in found.items() if count}


@given(COUNTS)
def test_rows_less_others_are_their_difference(case):
    """Whichever of them meet, of any number of arguments."""
    one, other, arity = case

    assert as_counts(less(as_rows(one, arity), as_rows(other, arity))) == difference(one, other)


@given(COUNTS)
def test_rows_are_summed(case):
    """By fact and iteration, without zeros."""
    one, other, arity = case
    negative = {key: -count for key, count in other.items()}
    found = summed([as_rows(one, arity), as_rows(negative, arity)])

    assert as_counts(found) == difference(one, other)


def test_many_rows_less_few():
    """Of a hundred thousand, ten thousand meet others, of which half are gone."""
    args = np.random.default_rng(0).permutation(100_000).astype(np.int32)
    first = np.zeros(len(args), np.int32)
    rows = TraceRows("in", np.column_stack([args, args % 7]), first, first + np.int64(2))
    others = rows.take(args < 10_000)
    others = TraceRows(
        "in", others.args, others.iteration, 1 + (others.args[:, 0] % 2).astype(np.int64)
    )
    found = less(rows, others)

    assert sorted(found.args[:, 0].tolist()) == [*range(0, 10_000, 2), *range(10_000, 100_000)]
    assert {*found.multiplicity[found.args[:, 0] < 10_000].tolist()} == {1}


TWICE = st.integers(1, 4).flatmap(
    lambda arity: st.tuples(
        *[st.lists(st.tuples(*[st.sampled_from([0, 1, 2, (1 << 31) - 1])] * arity))] * 2,
        st.just(arity),
    )
)


@given(TWICE)
def test_rows_are_found_in_order(case):
    """Distinct rows in lexicographic order, and the places of others among them."""
    one, other, arity = case
    args, sought = (np.array(each, np.int32).reshape(-1, arity) for each in (one, other))

    rows = in_order([args], arity)
    assert [*map(tuple, rows.tolist())] == sorted({*one})
    places = {row: place for place, row in enumerate(sorted({*one}))}
    assert found_in(sought, rows).tolist() == [places.get(row, -1) for row in other]


@given(TWICE)
def test_rows_match_one_id_or_several(case):
    """At each position that is bound."""
    one, other, arity = case
    args = np.array(one, np.int32).reshape(-1, arity)
    several = {at: {row[at] for row in other} for at in range(arity)}
    bound = {at: np.array([*ids], np.int32) for at, ids in several.items()}

    assert matching(args, bound).tolist() == [
        all(row[at] in ids for at, ids in several.items()) for row in one
    ]
    assert matching(args, {0: 1}).tolist() == [row[0] == 1 for row in one]
