"""A message with a time in the years 1 to 9999 is accepted; any other is rejected."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.rejected import Reason
from streamreasoner.io.kafka.dead_letter import dead_letters
from streamreasoner.pipeline.rule_changes import decide
from streamreasoner.program import check_text
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.state.in_effect import ProgramInEffect, stored_text

OPTIONS = InputOptions(max_message_bytes=10_000, max_term_bytes=10_000)
FIRST, LAST = (
    int(datetime(*day, tzinfo=UTC).timestamp()) * 1000
    for day in ((1, 1, 1), (9999, 12, 31, 23, 59, 59))
)
INT64 = st.integers(-(2**63), 2**63 - 1)
NEAR = st.sampled_from([FIRST, LAST]).flatmap(lambda edge: st.integers(edge - 2000, edge + 2000))
TEXTS = st.builds(
    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{}".format,
    st.sampled_from([0, 1, 1970, 9999]) | st.integers(0, 9999),
    st.integers(0, 13),
    st.sampled_from([1, 28, 29, 30, 31, 32]),
    st.integers(0, 24),
    st.integers(0, 60),
    st.integers(0, 60),
    st.sampled_from(["", ".5", ".123456789"]),
    st.sampled_from(["Z", "+14:00", "-23:59", "", "+99:99"]),
)
TIMES = st.none() | INT64 | NEAR | TEXTS | st.text()


def batch(rows):
    """Messages with (Kafka timestamp, ts), as read from the source."""
    fields = [{"ts": ts} if ts is not None else {} for _, ts in rows]
    values = [
        json.dumps({"predicate": "p", "args": [1], "diff": 1, **ts}).encode() for ts in fields
    ]
    count = len(rows)
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    return pa.table(
        {
            "topic": pa.array(["in"] * count, pa.string()),
            "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array(range(count), pa.int64()),
            "timestamp": pa.array([appended for appended, _ in rows], pa.timestamp("ms", "UTC")),
            "key": pa.array([None] * count, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "headers": pa.array([None] * count, header),
        }
    )


@given(st.lists(st.tuples(INT64 | NEAR, TIMES), min_size=1, max_size=5))
@example([(LAST + 1000, None)])
@example([(2**62, None), (0, None)])
@example([(0, "9999-12-31T23:59:59-23:59")])
@example([(0, "0001-01-01T00:00:00+14:00")])
def test_every_time_is_taken_or_refused(rows):
    """No time fails a batch: a message with a time out of range is rejected, others are decoded."""
    messages = batch(rows)
    decoded = Codec(Dictionary(), {"p": 1}, OPTIONS).decode(messages)
    accepted = sum(len(updates.multiplicity) for updates in decoded.updates)
    assert accepted + len(decoded.rejected) == len(rows)
    letters = list(dead_letters(messages, decoded.rejected))
    assert len(letters) == len(decoded.rejected)
    for rejected in decoded.rejected:
        assert rejected.reason in {Reason.BAD_TIMESTAMP, Reason.LONE_SURROGATE,
                              Reason.WRONG_TYPE, Reason.NUMBER_OUT_OF_RANGE}  # fmt: skip
    if decoded.event_time is not None:
        assert FIRST <= decoded.event_time <= LAST + 999
        ts = timestamps.instant(decoded.event_time)
        assert timestamps.iso(decoded.event_time).startswith(f"{ts:%H:%M}", 11)
    in_range = [row for row, (appended, ts) in enumerate(rows)
                if ts is None and FIRST <= appended <= LAST + 999]  # fmt: skip
    assert not {rejected.row for rejected in decoded.rejected} & set(in_range)


@given(INT64)
@example(2**62)
@example(LAST + 1000)
def test_a_control_message_without_a_time_may_be_rejected(appended):
    """Its time is Kafka's timestamp; if that is out of range, it is rejected and has no effect."""
    program = check_text("q(?x) :- p(?x) .")
    current = ProgramInEffect(program, stored_text(program), {"p": 1, "q": 1}, 8)
    message = batch([(appended, None)])
    value = json.dumps({"operation": "add", "rules": "r(?x) :- p(?x) ."}).encode()
    message = message.set_column(5, "value", pa.array([value], pa.binary()))
    decision = decide(current, message, 10_000, 0)
    if FIRST <= appended <= LAST + 999:
        assert decision.applied == (0,)
    else:
        assert [rejected.reason for rejected in decision.rejected] == [Reason.BAD_TIMESTAMP]
        assert decision.program is current


def test_the_reason_tells_the_two_sources_apart():
    """The reason quotes a `ts`, and names Kafka's timestamp as such."""
    decoded = Codec(Dictionary(), {"p": 1}, OPTIONS).decode(batch([(0, "today"), (2**62, None)]))
    details = [rejected.detail for rejected in decoded.rejected]
    assert details == [
        f"ts is 'today'; it must be {timestamps.ALLOWED}.",
        timestamps.OUT_OF_RANGE,
    ]
