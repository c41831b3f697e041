"""Flags change what a pattern matches as XPath says, and a letter that is none has no pattern."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.sparql.regex_flags import flagged, flagged_replacement
from streamreasoner.values.regex import replaced, search


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "matches"),
    [
        ("A", "", "a", False),
        ("A", "i", "a", True),
        ("a.b", "s", "a\nb", True),
        ("a.b", "", "a\nb", False),
        ("^b", "m", "a\nb", True),
        ("a.b", "q", "axb", False),
        ("A.B[", "iq", "xa.b[", True),
        ("^a", "mq", "b\na", False),
        ("hello world", "x", "helloworld", True),
        ("hello[ ]world", "x", "hello world", True),
        (r"a\[ b", "x", "a[b", True),
        (r"[\] ]b", "x", " b", True),
        ("a b", "xq", "a b", True),
        ("a", "iii", "A", True),
    ],
)
def test_a_flag_changes_what_matches(pattern, flags, text, matches):
    """As section 5.6.1.1 of XPath's functions says."""
    assert search(flagged(pattern, flags), text) is matches


def test_an_unknown_flag_has_no_pattern():
    """Neither alone nor among others."""
    assert flagged("a", "g") is None
    assert flagged("a", "ig") is None


@given(st.text(), st.text())
def test_a_literal_pattern_matches_what_contains_it(pattern, text):
    """The flag `q` makes a pattern of any text."""
    assert search(flagged(pattern, "q"), text) is (pattern in text)
    assert search(flagged(pattern, "q"), text + pattern) is True


@given(st.text(min_size=1))
def test_a_literal_replacement_is_inserted_as_it_is(replacement):
    """The flag `q` is of the replacement, too."""
    assert replaced("b", "abc", flagged_replacement(replacement, "q")) == f"a{replacement}c"
