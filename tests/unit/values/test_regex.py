"""Regular expressions: RE2's language, in time linear in the text."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.values import regex

PARTS = (*"ab(|)*+?.^$", "[ab]", "[^a]", "{1}", "{1,2}", "(a", "a)", "\\.", "\\")
PATTERNS = st.lists(st.sampled_from(PARTS), max_size=6).map("".join)


@given(PATTERNS, st.text("ab.", max_size=6))
def test_a_pattern_is_checked_or_has_no_value(pattern, text):
    """What `check` accepts matches as in Python, where both know it; all else is None."""
    found = regex.search(pattern, text)
    if found is None:
        with pytest.raises(regex.PatternError) as refused:
            regex.check(pattern)
        assert refused.value.reason
        assert refused.value.part in pattern
        return
    regex.check(pattern)
    try:
        expected = re.search(pattern, text) is not None
    except re.error:
        assert found in (True, False)
    else:
        assert found is expected


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)+$", "(.*)*b$", "(a?){20}a{20}$"])
def test_no_pattern_is_slow(pattern):
    """For these, an engine that backtracks takes seconds at a text of 30 characters."""
    start = time.thread_time()

    assert regex.search(pattern, "a" * 30 + "!") is False
    assert time.thread_time() - start < 0.5


@pytest.mark.parametrize("pattern", [r"(a)\1", "a(?=b)", "a{2000}", r"(\pL{300}){3}", "(?<!a)b"])
def test_what_automata_cannot_do_is_refused(pattern):
    """Back-references, look-around, and patterns that take too much memory."""
    with pytest.raises(regex.PatternError):
        regex.check(pattern)
    assert regex.search(pattern, "ab") is None
