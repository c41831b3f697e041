"""Boundaries of statements: nothing is left out, and only a dot that ends a statement ends one."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.lang.statements import blank, statements

# None of these dots ends a statement.
BEGINNINGS = ("p(?x)", "% a. b\n q()", "[?x, a, ex:b]", "# a .\np()", "@prefix ex:")
PIECES = (
    *("1.5", ".5", "ex:a.b", "<http://a.b/c.>", '"a . b"', "'it. is'", '"\\" . "', '""', "''"),
    *(
        '""" a . " b . """',
        "''' . '' . '''",
        "?x % 2",
        "# a . ' b\n",
        '// . "\n',
        "?x < 3",
        "| (_)",
    ),
)
STATEMENTS = st.builds(
    lambda *parts: " ".join((parts[0], *parts[1], ".")),
    st.sampled_from(BEGINNINGS),
    st.lists(st.sampled_from(PIECES), max_size=4),
)


def parts(text):
    """The statements of a text, after a check that they cover it."""
    spans = statements(text)
    assert (spans[0][0], spans[-1][1]) == (0, len(text))
    assert all(left[1] == right[0] for left, right in pairwise(spans))
    return [text[start:end] for start, end in spans]


@given(st.lists(STATEMENTS, min_size=1, max_size=4), st.sampled_from((" ", "\n", "% . \n", "")))
def test_statements_end_with_their_dots(written, gap):
    """Not at dots in terms, strings and comments; what is between two belongs to the second."""
    first, *others = written

    assert parts(gap.join(written)) == [first, *(gap + each for each in others)]


@given(st.text("a1.\"'<>#%/\\ \n", max_size=20))
def test_any_text_is_covered(text):
    """There is at least one span, and only the last may lack a dot."""
    assert all(each.endswith(".") for each in parts(text)[:-1])


@given(st.text("ab.\n\r", max_size=20), st.integers(0, 20), st.integers(0, 20))
def test_blanks_keep_the_lines(text, start, end):
    """Every character keeps its offset and line; those that are blanked are spaces."""
    found = blank(text, start, max(start, end))

    assert [len(line) for line in found.split("\n")] == [len(line) for line in text.split("\n")]
    assert {*found[start:end]} <= {" ", "\n"}
    assert (found[:start], found[max(start, end) :]) == (text[:start], text[max(start, end) :])
