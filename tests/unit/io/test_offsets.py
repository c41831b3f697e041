"""Ranges of input: no gap, no overlap, no row outside."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import StateError
from streamreasoner.io.spark.offsets import (
    Checkpoint,
    check_follows,
    check_within,
    following,
    in_order,
    parts,
    range_of,
)

COUNTS = st.integers(0, 1_000)


def test_a_new_partition_begins_at_zero():
    """Partitions may be added to a topic while the pipeline runs."""
    positions = range_of({"in": {"0": 5}}, {"in": {"1": 2, "0": 7}})
    assert positions == {"in": {"0": [5, 7], "1": [0, 2]}}
    check_follows(1, {"in": {"0": [0, 5]}}, positions)


@pytest.mark.parametrize("start", [4, 6])
def test_gaps_and_overlaps_are_refused(start):
    """A range begins where the previous one ended."""
    with pytest.raises(StateError, match=r"partition 0 of topic in.*ended at 5"):
        check_follows(3, {"in": {"0": [0, 5]}}, {"in": {"0": [start, 9]}})


def test_a_partition_that_vanished_is_refused():
    """A recreated topic has fewer partitions or offsets."""
    with pytest.raises(StateError, match="partition 1"):
        check_follows(3, {"in": {"0": [0, 5], "1": [0, 1]}}, {"in": {"0": [5, 9]}})


def rows(*positions):
    """A batch of (topic, partition, offset)."""
    topics, partitions, offsets = zip(*positions, strict=True)
    return pa.table({"topic": topics, "partition": partitions, "offset": offsets})


def test_rows_outside_their_range_are_refused():
    """Rows must be in the checkpoint's range; transaction markers may leave gaps in it."""
    span = {"a": {"0": [5, 9]}, "b": {"1": [0, 3]}}
    check_within(1, rows(("a", 0, 5), ("a", 0, 8), ("b", 1, 1)), span)
    for bad in (("a", 0, 4), ("a", 0, 9), ("a", 1, 5), ("c", 0, 0)):
        with pytest.raises(StateError, match="outside its range"):
            check_within(1, rows(("a", 0, 5), bad), span)


def test_rows_are_sorted():
    """By topic, partition and offset, in whatever order tasks finish."""
    unsorted = [("b", 0, 1), ("a", 1, 0), ("a", 0, 10), ("a", 0, 9)]
    ordered = in_order(rows(*unsorted))
    assert list(zip(*ordered.to_pydict().values(), strict=True)) == sorted(unsorted)


def test_a_withdrawn_batch_is_not_planned(tmp_path):
    """The batches before it are as they were, and Spark runs the same batch next."""
    for name in ("offsets/0", "offsets/1", "commits/0"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("v1\n{}\n{}")
    planned = Checkpoint.read(tmp_path)
    assert planned.replayed == 1
    withdrawn = planned.withdraw()
    assert withdrawn == Checkpoint.read(tmp_path)
    assert (withdrawn.replayed, withdrawn.next) == (None, 1)


@given(
    st.dictionaries(
        st.sampled_from("abc"), st.dictionaries(st.sampled_from("012"), COUNTS), min_size=1
    ),
    st.integers(1, 200),
)
def test_the_next_batch_is_within_its_range(backlogs, limit):
    """As Spark's source divides a limit; a range has no more than one message each beyond it."""
    current = {topic: {key: [3, 7] for key in found} for topic, found in backlogs.items()}
    latest = {
        topic: {partition: 7 + size for partition, size in found.items()}
        for topic, found in backlogs.items()
    }
    total = sum(size for found in backlogs.values() for size in found.values())
    read = {(topic, part): ends for topic, part, *ends in parts(following(current, latest, limit))}
    for (topic, partition), (first, after) in read.items():
        size = backlogs[topic][partition]
        # KafkaMicroBatchStream.rateLimit
        prorate = limit * (size / total) if total else 0
        planned = min(size, math.ceil(prorate) if prorate < 1 else math.floor(prorate))
        assert first == 7
        assert planned <= after - first <= size
    assert sum(after - first for first, after in read.values()) <= limit + len(read)


def test_what_the_source_does_not_know_is_no_backlog():
    """A partition that it has not seen, and one that it has seen shorter."""
    current = {"a": {"0": [0, 5], "1": [0, 5]}}
    assert following(current, {"a": {"1": 3}}, 10) == {"a": {"0": [5, 5], "1": [5, 5]}}
