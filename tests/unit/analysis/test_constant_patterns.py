"""Constant regular expressions: what is not reported compiles."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.analysis.patterns import invalid_patterns
from streamreasoner.lang.parser import parse

OPTIONS = re2.Options()
OPTIONS.log_errors = False
PLACES = st.sampled_from(("{}", "not {}", "(e(?x) | e(?y), {})"))


def compiles(pattern):
    """Whether RE2 takes a pattern, and the part that it complains about."""
    try:
        re2.compile(pattern, OPTIONS)
    except re2.error as error:
        return False, error.args[0].decode().partition(": ")[2]
    return True, ""


@given(st.text("ab1,(|)*+?[]{}\\=!<^$é", max_size=8), PLACES)
def test_a_pattern_is_reported_iff_it_does_not_compile(pattern, place):
    """The span is that of the wrong part, or of the constant."""
    constant = '"{}"'.format(pattern.replace("\\", "\\\\"))
    program = parse(f"p(?x) :-\n e(?x), {place.format(f'matches(?x, {constant})')} .")
    found = [*invalid_patterns(program)]
    valid, part = compiles(pattern)

    assert [item.code for item in found] == ([] if valid else ["SR243"])
    for item in found:
        assert f"`{part}`" in item.message or not part
        assert program.text[item.span.start : item.span.end] in (part or constant, constant)
        assert item.span.column == item.span.start - program.text.index("\n")


def test_the_pattern_of_a_replacement_is_checked_too():
    """In the body and in the head."""
    program = parse('p(replace(?x, "(", "")) :- e(?x), ?x != replace(?x, "[", "") .')

    assert [item.code for item in invalid_patterns(program)] == ["SR243", "SR243"]


@pytest.mark.parametrize("literal", ["matches(?x, ?y)", "contains(?x, '(')", "matches(?x, 5)"])
def test_only_constant_patterns_are_checked(literal):
    """A pattern from data has no value if it is invalid; another argument is not a pattern."""
    assert [*invalid_patterns(parse(f"p(?x) :- e(?x, ?y), {literal} ."))] == []


def test_the_wrong_part_is_pointed_at():
    """If the constant is written as it is read, and the part occurs in it once."""
    (found,) = invalid_patterns(parse("p(?x) :- e(?x), matches(?x, 'a(?=b)') ."))

    assert (found.span.column, found.span.end_column) == (31, 34)
    assert "no look-around" in found.help
