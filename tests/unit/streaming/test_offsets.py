"""Ranges of input: no gap, no overlap, no row outside."""

from __future__ import annotations

import pyarrow as pa
import pytest

from streamreasoner.errors import StateError
from streamreasoner.streaming.offsets import check_follows, check_within, in_order, range_of


def test_a_new_partition_begins_at_zero():
    """Partitions may be added to a topic while the pipeline runs."""
    found = range_of({"in": {"0": 5}}, {"in": {"1": 2, "0": 7}})
    assert found == {"in": {"0": [5, 7], "1": [0, 2]}}
    check_follows(1, {"in": {"0": [0, 5]}}, found)


@pytest.mark.parametrize("start", [4, 6])
def test_gaps_and_overlaps_are_refused(start):
    """A range begins where the one before ended."""
    with pytest.raises(StateError, match=r"partition 0 of topic in.*ended at 5"):
        check_follows(3, {"in": {"0": [0, 5]}}, {"in": {"0": [start, 9]}})


def test_a_partition_that_vanished_is_refused():
    """A topic that was created anew has fewer partitions or offsets."""
    with pytest.raises(StateError, match="partition 1"):
        check_follows(3, {"in": {"0": [0, 5], "1": [0, 1]}}, {"in": {"0": [5, 9]}})


def rows(*found):
    """A batch of (topic, partition, offset)."""
    topics, partitions, offsets = zip(*found, strict=True)
    return pa.table({"topic": topics, "partition": partitions, "offset": offsets})


def test_rows_outside_their_range_are_refused():
    """Rows must lie in the range that the checkpoint names; markers may leave holes in it."""
    span = {"a": {"0": [5, 9]}, "b": {"1": [0, 3]}}
    check_within(1, rows(("a", 0, 5), ("a", 0, 8), ("b", 1, 1)), span)
    for bad in (("a", 0, 4), ("a", 0, 9), ("a", 1, 5), ("c", 0, 0)):
        with pytest.raises(StateError, match="outside its range"):
            check_within(1, rows(("a", 0, 5), bad), span)


def test_rows_are_put_in_order():
    """By topic, partition and offset, whatever order tasks finished in."""
    given = [("b", 0, 1), ("a", 1, 0), ("a", 0, 10), ("a", 0, 9)]
    ordered = in_order(rows(*given))
    assert list(zip(*ordered.to_pydict().values(), strict=True)) == sorted(given)
