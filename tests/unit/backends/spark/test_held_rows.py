"""Arrangements in the driver find all rows of a key, however they came."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import THOROUGH

from streamreasoner.backends.spark.queries.columns import fact, schema
from streamreasoner.backends.spark.tables.held_rows import HeldRows
from streamreasoner.plan.algebra import Arrangement

NAMES = (*fact(2), "multiplicity")
IDS = st.integers(0, 2**31 - 1) | st.integers(0, 5)
ROWS = st.lists(st.tuples(IDS, IDS, st.sampled_from([-1, 1])), max_size=30)


def table(rows):
    """Rows as a table."""
    columns = list(zip(*(("p", *row) for row in rows), strict=True)) or [()] * len(NAMES)
    return pa.table(list(map(pa.array, columns)), NAMES).cast(schema(NAMES))


def sums(rows):
    """Nonzero sums by fact."""
    counted = Counter()
    for first, second, number in rows:
        counted[first, second] += number
    return {place: number for place, number in counted.items() if number}


def read(rows):
    """The cells of a table of rows."""
    return list(zip(*(rows[name].to_pylist() for name in NAMES[1:]), strict=True))


def summed(tables):
    """Tables as one, with one row for each fact, in no order of keys."""
    added = sums([row for each in tables for row in read(each)])
    return table([(*place, number) for place, number in sorted(added.items(), reverse=True)])


@pytest.mark.parametrize("key", [(0,), (1,), (0, 1), ()])
@given(epochs=st.lists(ROWS, max_size=8), wanted=st.lists(st.tuples(IDS, IDS), max_size=4))
@settings(max_examples=200 if THOROUGH else 20)
def test_a_probe_has_all_rows_of_its_keys_and_none_twice(key, epochs, wanted):
    """What is added in runs is found by key, summed over all epochs."""
    held = HeldRows(Arrangement("p", (), key), summed, schema(NAMES))
    for rows in epochs:
        held.add(table(rows))
    wanted += [row[:2] for rows in epochs for row in rows[:1]]
    keys = pa.table({f"k{at}": pa.array([row[at] for row in wanted], pa.int64()) for at in (0, 1)})

    expected = sums([row for rows in epochs for row in rows])
    assert sums(read(held.probe(None, {}))) == expected
    found = sums(read(held.probe(keys, {at: f"k{at}" for at in (0, 1)})))
    for at in {tuple(row[position] for position in key) for row in wanted}:
        # Of other keys there may be any part.
        there, here = (
            {place: n for place, n in rows.items() if tuple(place[p] for p in key) == at}
            for rows in (expected, found)
        )
        assert here == there


def test_a_probe_reads_little_and_few_runs_are_kept():
    """One key of a thousand returns its own row, after a thousand additions of one row."""
    held = HeldRows(Arrangement("p", (), (0,)), summed, schema(NAMES))
    for number in range(1000):
        held.add(table([(number, 1, 1)]))

    keys = pa.table({"key": pa.array([7], pa.int64())})
    assert read(held.probe(keys, {0: "key"})) == [(7, 1, 1)]
    assert len(held) == 1000
    assert len(held._runs) <= 10  # noqa: SLF001 - each is searched
