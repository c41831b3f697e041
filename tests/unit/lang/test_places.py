"""Lines and columns of offsets, counted character by character."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.lang.places import Places

TEXTS = st.text("ab\n\r\t\u2028", max_size=12)


@given(TEXTS, st.data())
def test_an_offset_is_a_line_and_a_column(text, data):
    """Both count from 1, and a newline is the last character of its line."""
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    span = Places("r.dl", text).span(start, end)
    before = text[:start].split("\n")
    starts = [0, *(at for at in range(1, len(text) + 1) if text[at - 1] == "\n")]

    assert (span.source, span.start, span.end) == ("r.dl", start, end)
    assert (span.line, span.column) == (len(before), len(before[-1]) + 1)
    assert starts[span.end_line - 1] + span.end_column - 1 == end
    # A newline at the end of a span does not lead to the next line.
    inner = text.count("\n", start, max(end - 1, start))
    assert span.end_line - span.line == (text.count("\n", start, end) if inner else 0)


def test_a_span_to_the_end_of_a_line_stays_in_it():
    """Its end is the column after its newline."""
    span = Places("r.dl", "ab\ncd").span(1, 3)

    assert (span.line, span.column, span.end_line, span.end_column) == (1, 2, 1, 4)
