"""Messages of syntax errors say what is there, what may be there, and what was meant."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.lang.parser import parse
from streamreasoner.lang.parsing import syntax_error

MARKS = (":-", ",", "|", ".", "(", ")", "]", "^^")
TERM = {"VARIABLE", "IRI", "PREFIXED", "STRING", "INTEGER"}
WORDS = {
    "VARIABLE": "a term",
    "COMPARATOR": "a comparison operator",
    "PREFIX_NAME": "a prefix such as `ex:`",
    "NAME": "a predicate",
    "IRI": "an IRI in angle brackets",
    "STRING": "a quoted name",
    "INTEGER": "a number",
    **{mark: f"`{mark}`" for mark in MARKS},
}


@given(st.sets(st.sampled_from((*WORDS, "PREFIXED")), min_size=1), st.text("ab(", min_size=1))
def test_a_message_lists_what_is_expected(expected, found):
    """Once each; if any term may follow, that is said instead of its kinds."""
    parts = TERM - {"VARIABLE"} | {"NAME", "("} if expected >= TERM else set()
    words = {WORDS[name] for name in expected - parts - {"PREFIXED"}}
    said = syntax_error.message(found, expected)
    shown = found if len(found) <= 30 else f"{found[:30]}…"

    if not words:
        assert said == f"`{shown}` is not allowed here"
        return
    start, _, listed = said.partition(", expected ")
    assert start == f"found `{shown}`"
    assert sorted(re.split(r"(?<!`), (?!`)|, | or ", listed.replace("`,`", "`;`"))) == sorted(
        word.replace("`,`", "`;`") for word in words
    )


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (":=", "`=`"), ("==", "one `=`"), ("<>", "`!=`"), ("=<", "`<=`"), ("=>", "`>=`"),
        ("||", "(a(?x) | b(?x))"), ("&&", "commas"), ("∧", "commas"), ("!", "`not edge"),
        ("{", "[?s, ?p, ?o]"), ("<-", "`head :- body .`"), ("^", "?x ** 2"), ("mod", "%"),
        ("?-", "@output"), ("@rule", "@import"), ("is", "`=`"), (":-", "a dot"),
    ],
)  # fmt: skip
def test_signs_of_other_languages_are_translated(wrong, right):
    """Also if the first of two characters was read as an operator."""
    text = f"p(?x) :- q(?x) {wrong} r(?x) ."
    position = text.rindex(wrong)
    reached = {position} | ({position + 1} if wrong in {"==", "<>", "=<", "=>", "||"} else set())

    for each in reached:
        assert right in syntax_error.hint(text, each, {".", ","})


@pytest.mark.parametrize(
    ("text", "expected", "words"),
    [
        ("p() :- q() ‸r() .", {".", ","}, "separate literals with a comma"),
        ("p(?x ‸?y) .", {",", ")"}, "separate arguments with a comma"),
        ("p(_‸x) .", {")"}, "names begin with a letter"),
        ("p() :- not ‸(q(), r()) .", {"NAME"}, "derive the part in parentheses"),
        ("p() :- not ‸?x = 1 .", {"NAME"}, "the opposite of `=` is `!=`"),
        ("p() ‸:- q() .", {","}, None),
        ("p() ‸) .", {".", ","}, None),
    ],
)
def test_common_mistakes_have_a_hint(text, expected, words):
    """Others have none."""
    found = syntax_error.hint(text.replace("‸", ""), text.index("‸"), expected)

    assert found == words if words is None else words in found


@pytest.mark.parametrize(
    ("rest", "code"),
    [
        ('"open\n"', "SR103"), ("'open", "SR103"), ("<open iri>", "SR103"), ('"closed"', "SR101"),
        ("'clo\\'sed'", "SR101"), ("<urn:closed>", "SR101"), ("< 3", "SR101"), ("<>", "SR101"),
        ("<=", "SR101"), ("@rule", "SR105"), ("x", "SR101"),
    ],
)  # fmt: skip
def test_each_kind_of_mistake_has_its_code(rest, code):
    """A quote or bracket that is not closed on its line, a directive, and all others."""
    assert syntax_error.code(f"p {rest}", 2, {"@prefix"}) == code
    assert f"`{'>' if rest[0] == '<' else rest[0]}`" in syntax_error.unclosed(rest, 0)


@pytest.mark.parametrize("iri", ["<http://e.org/>", "<urn:a>"])
@pytest.mark.parametrize(("name", "prefix"), [("PREFIX", "ex:"), ("prefix", ":"), ("Base", "")])
def test_a_directive_of_sparql_is_written_as_ours(name, prefix, iri):
    """What is proposed is a directive, with the same prefix and IRI."""
    (found,) = parse(syntax_error.directive_like(name, f" {prefix} {iri}\n p(1) .")).directives

    assert (getattr(found, "name", ""), found.iri) == (prefix[:-1], iri[1:-1])
    assert syntax_error.directive_like("select", f" {prefix} {iri}") is None
    assert syntax_error.directive_like(name, " ?x") is None


@pytest.mark.parametrize("blanks", ["", " \n "])
@pytest.mark.parametrize("before", ["", "p(1) . ", "?", "x" * 300 + " "])
def test_the_name_before_a_place_is_found(before, blanks):
    """Whatever stands before the name, unless it is a part of a longer word."""
    for name in ("x", "isA_2"):
        text = before + name + blanks
        assert syntax_error.name_before(f"{text}: ...", len(text)) == name
        assert syntax_error.name_before(f"{before}1{name}", len(before) + 1 + len(name)) is None
        assert syntax_error.name_before(f"{name})", len(name) + 1) is None
