"""Rendering of diagnostics."""

from __future__ import annotations

import pytest

from streamreasoner.lang.ast import Span
from streamreasoner.lang.diagnostic import Diagnostic, in_order, line_of, refuse, render

TEXT = "ok(?x) :-\n\tnot ok(?x) .\n"


def at(first, last, code="SR301", source="s.dl"):
    """A diagnostic for the span between two (line, column, offset)."""
    (line, column, start), (end_line, end_column, end) = first, last
    return Diagnostic(code, "message", Span(source, line, column, end_line, end_column, start, end))


def test_caret_stands_under_the_span():
    """The line is indented, with tabs as single spaces and the caret below the span."""
    assert at((2, 6, 15), (2, 12, 21)).render(TEXT) == (
        "s.dl:2:6: SR301 message\n   not ok(?x) .\n       ^^^^^^"
    )


def test_a_span_of_several_lines_is_marked_to_the_end_of_its_first():
    """Only the first line is shown."""
    assert at((1, 1, 0), (2, 4, 13)).render(TEXT).splitlines()[2] == "  ^^^^^^^^^"


def test_a_code_must_be_in_the_catalogue():
    """Codes are stable, so unknown ones are refused."""
    with pytest.raises(ValueError, match="SR999"):
        at((1, 1, 0), (1, 2, 1), code="SR999")


def test_errors_come_in_order_and_once():
    """Diagnostics are sorted by position, without duplicates."""
    first, second = at((1, 1, 0), (1, 2, 1)), at((2, 1, 10), (2, 2, 11))

    assert in_order([second, first, second], {"s.dl": TEXT}) == (first, second)
    assert refuse([second, first], {"s.dl": TEXT}).diagnostics == (first, second)


def test_each_text_is_shown_with_its_own_lines():
    """Texts appear in the given order, and a caret is under a line of its own text."""
    one, other = at((1, 1, 0), (1, 2, 1), source="one.dl"), at((2, 1, 2), (2, 2, 3), source="b.dl")
    texts = {"one.dl": "p(1) .", "b.dl": "\n\nq(2) ."}

    assert in_order([other, one], texts) == (one, other)
    assert render([one, other], texts).splitlines()[1::3] == ["  p(1) .", "  q(2) ."]


def test_another_file_is_named():
    """A position is a line, with the file name if it is in another file."""
    here, there = at((1, 1, 0), (1, 2, 1)).span, at((7, 1, 0), (7, 2, 1), source="b.dl").span

    assert line_of(here, here) == "line 1"
    assert line_of(there, here) == "line 7 of b.dl"
