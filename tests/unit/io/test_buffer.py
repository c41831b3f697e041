"""What is read before it is planned: each batch gets its own messages, once and in order."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.io.spark.buffer import Buffer
from streamreasoner.io.spark.offsets import in_order, parts

PARTITIONS = [("a", "0"), ("a", "2"), ("a", "10"), ("b", "0")]
LENGTH = 12
SCHEMA = pa.schema({"topic": pa.string(), "partition": pa.int32(), "offset": pa.int64()})
# Offsets without a message are those of transaction markers.
LOGS = st.fixed_dictionaries({each: st.sets(st.integers(0, LENGTH - 1)) for each in PARTITIONS})
ENDS = st.fixed_dictionaries({each: st.integers(0, LENGTH) for each in PARTITIONS})


def range_of(starts, ends):
    """From where each partition is, to an end that is not before."""
    found = {}
    for (topic, partition), first in starts.items():
        end = max(first, ends[topic, partition])
        found.setdefault(topic, {})[partition] = [first, end]
    return found


def ends_of(offsets):
    """Where the partitions of a range end."""
    return {(topic, partition): after for topic, partition, _, after in parts(offsets)}


def messages(logs, offsets):
    """The messages of a range, as Kafka has them."""
    return [
        {"topic": topic, "partition": int(partition), "offset": offset}
        for topic, partition, first, after in parts(offsets)
        for offset in sorted(logs[topic, partition])
        if first <= offset < after
    ]


def table(rows):
    """A batch of messages."""
    return pa.Table.from_pylist(rows, SCHEMA)


@given(LOGS, st.lists(st.tuples(ENDS, ENDS), max_size=6), st.randoms(use_true_random=False))
def test_each_batch_has_what_was_planned(logs, steps, random):
    """However far was read before; None only if the plan goes beyond that."""
    starts, kept = dict.fromkeys(PARTITIONS, 0), None
    for to_read, to_plan in steps:
        wanted, planned = range_of(starts, to_read), range_of(starts, to_plan)
        lacking = wanted if kept is None else kept.lacks(wanted)
        rows = messages(logs, lacking)
        random.shuffle(rows)
        read = Buffer.of(lacking, table(rows))
        buffer = read if kept is None else kept.then(read)
        found, ends = buffer.split(planned), ends_of(buffer.range)
        assert all(ends[each] >= after for each, after in ends_of(wanted).items())
        if found is None:
            assert any(ends[each] < after for each, after in ends_of(planned).items())
            kept = None
        else:
            batch, kept = found
            expected = in_order(table(messages(logs, planned)))
            assert batch.to_pylist() == expected.to_pylist()
            assert in_order(batch) is batch
        starts = ends_of(planned)


@given(LOGS, ENDS, ENDS, ENDS)
def test_a_range_that_begins_elsewhere_is_not_there(logs, starts, to_read, to_plan):
    """Neither what was kept for another batch, nor a plan of other offsets, fits by accident."""
    read = range_of(dict.fromkeys(PARTITIONS, 0), to_read)
    buffer = Buffer.of(read, table(messages(logs, read)))
    other = range_of(starts, to_plan)
    fits = all(first == 0 for first in starts.values())
    assert (buffer.lacks(other) is None) != fits
    if not fits:
        assert buffer.split(other) is None


def test_a_partition_that_is_new_is_read_from_its_first_offset():
    """It may come between two batches."""
    logs = {("a", "0"): {0, 1}, ("a", "1"): {0, 1}}
    before = {"a": {"0": [0, 1]}}
    kept = Buffer.of(before, table(messages(logs, before)))
    wanted = {"a": {"0": [0, 2], "1": [0, 2]}}
    assert kept.split(wanted) is None
    assert kept.split({"a": {"0": [0, 1], "1": [0, 0]}}) is not None
    lacking = kept.lacks(wanted)
    assert lacking == {"a": {"0": [1, 2], "1": [0, 2]}}
    buffer = kept.then(Buffer.of(lacking, table(messages(logs, lacking))))
    batch, rest = buffer.split(wanted)
    assert batch.to_pylist() == messages(logs, wanted)
    assert not messages(logs, rest.range)
