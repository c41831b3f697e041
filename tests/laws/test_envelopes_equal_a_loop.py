"""Vectorized envelope checks reject the same messages as a loop over rows."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.io.codec.envelope import check_values, formats_of
from streamreasoner.io.formats import registry
from streamreasoner.io.formats.reading.format import Format
from streamreasoner.io.formats.registry import JSON, TURTLE
from streamreasoner.io.formats.rejected import Reason

MOST = 10
KEYS = st.sampled_from(["content-type", "Content-Type", "CONTENT-TYPE", "content-typ", "", "k"])
TYPES = st.none() | st.binary(max_size=4) | st.sampled_from(
    [b"application/json", b"Application/JSON ; charset=utf-8", b"text/plain", b"\xff", b"",
     b"Text/Turtle", b"application/n-quads;x", b"text/rdf-patch"]
)  # fmt: skip
HEADERS = st.none() | st.lists(st.tuples(KEYS, TYPES), max_size=4)
TOPICS = st.sampled_from(["json", "turtle"])
VALUES = st.none() | st.binary(max_size=MOST + 2)
ROWS = st.lists(st.tuples(VALUES, TOPICS, HEADERS), max_size=6)
COLUMNS = pa.schema(
    {
        "value": pa.binary(),
        "topic": pa.string(),
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    }
)


def table(rows):
    """Messages as an Arrow table."""
    headers = [
        None if pairs is None else [{"key": key, "value": value} for key, value in pairs]
        for _, _, pairs in rows
    ]
    values, topics = ([row[column] for row in rows] for column in (0, 1))
    return pa.table({"value": values, "topic": topics, "headers": headers}, schema=COLUMNS)


def expected(rows):
    """The reason or the format of each row, found by a loop over rows and headers."""
    found = []
    for value, topic, headers in rows:
        result = TURTLE if topic == "turtle" else JSON
        for key, encoded in headers or ():
            if key.lower() == "content-type" and isinstance(result, Format):
                first = (encoded or b"").decode("utf-8", "replace").split(";")[0].strip().lower()
                known = [each for each in registry.MESSAGES if first in each.content_types]
                result = known[0] if known else Reason.CONTENT_TYPE
        if value is None:
            result = Reason.EMPTY_VALUE
        elif len(value) > MOST:
            result = Reason.OVERSIZED
        found.append(result)
    return found


@given(st.lists(ROWS, max_size=4), st.integers(0, 3), st.integers(0, 30))
def test_envelopes_equal_a_loop(parts, skipped, length):
    """Both agree on tables of one or several chunks, and on slices of these."""
    rows = [row for part in parts for row in part][skipped : skipped + length]
    batch = pa.concat_tables([table([]), *map(table, parts)]).slice(skipped, length)
    rejected = check_values(batch, MOST)
    formats = formats_of(batch, JSON, {"turtle": TURTLE}, registry.MESSAGES, rejected)
    assert [
        rejected[row].reason if row in rejected else registry.MESSAGES[format_]
        for row, format_ in enumerate(formats.tolist())
    ] == expected(rows)
