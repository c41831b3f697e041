"""Vectorized envelope checks reject the same messages as a loop over rows."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.io.codec.envelope import check_envelopes
from streamreasoner.io.formats.rejected import Reason

MOST = 10
KEYS = st.sampled_from(["content-type", "Content-Type", "CONTENT-TYPE", "content-typ", "", "k"])
TYPES = st.none() | st.binary(max_size=4) | st.sampled_from(
    [b"application/json", b"Application/JSON ; charset=utf-8", b"text/plain", b"\xff", b""]
)  # fmt: skip
HEADERS = st.none() | st.lists(st.tuples(KEYS, TYPES), max_size=4)
ROWS = st.lists(st.tuples(st.none() | st.binary(max_size=MOST + 2), HEADERS), max_size=6)
COLUMNS = pa.schema(
    {
        "value": pa.binary(),
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    }
)


def table(rows):
    """Messages as an Arrow table."""
    headers = [
        None if pairs is None else [{"key": key, "value": value} for key, value in pairs]
        for _, pairs in rows
    ]
    return pa.table({"value": [value for value, _ in rows], "headers": headers}, schema=COLUMNS)


def rejections(rows):
    """The reason for each rejected row, found by a loop over rows and headers."""
    reasons = {}
    for row, (value, headers) in enumerate(rows):
        if not value:
            reasons[row] = Reason.EMPTY_VALUE
        elif len(value) > MOST:
            reasons[row] = Reason.OVERSIZED
        else:
            types = [text or b"" for key, text in headers or () if key.lower() == "content-type"]
            for text in types:
                first = text.decode("utf-8", "replace").split(";")[0]
                if first.strip().lower() != "application/json":
                    reasons[row] = Reason.CONTENT_TYPE
    return reasons


@given(st.lists(ROWS, max_size=4), st.integers(0, 3), st.integers(0, 30))
def test_envelopes_equal_a_loop(parts, skipped, length):
    """Both agree on tables of one or several chunks, and on slices of these."""
    rows = [row for part in parts for row in part][skipped : skipped + length]
    batch = pa.concat_tables([table([]), *map(table, parts)]).slice(skipped, length)
    rejected = check_envelopes(batch, MOST)
    assert {row: rejection.reason for row, rejection in rejected.items()} == rejections(rows)
