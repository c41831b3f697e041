"""Facts as users write them."""

from __future__ import annotations

import pytest

from streamreasoner.errors import DataError, ProgramError
from streamreasoner.explain.fact import read_fact
from streamreasoner.facts import Fact
from streamreasoner.program import check_text

PROGRAM = check_text(
    "@prefix ex: <http://example.org/> .\n@prefix : <http://example.org/#> .\n"
    "path(?x, ?y) :- edge(?x, ?y) .\n[?x, a, ex:N] :- edge(?x, _) .\non() :- edge(_, _) ."
)
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
A, B = "<http://example.org/a>", "<http://example.org/b>"


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("path(ex:a, ex:b)", Fact("path", (A, B))),
        (" path( ex:a ,<http://example.org/b> ) . ", Fact("path", (A, B))),
        ("path(\nex:a,\nex:b)", Fact("path", (A, B))),
        ('path(-5, "x"@EN)', Fact("path", (f'"-5"^^<{XSD}integer>', '"x"@en'))),
        ("[ex:a, a, :n]", Fact("triple", (A, RDF_TYPE, "<http://example.org/#n>"))),
        ("on()", Fact("on", ())),
    ],
)  # fmt: skip
def test_facts_are_read_with_the_prefixes_of_the_program(text, fact):
    """The dot is optional, and white space does not matter."""
    assert read_fact(text, PROGRAM) == fact


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("path(ex:a, ?x)",
         "<input>:1:12: SR205 variable '?x' in a fact\n  path(ex:a, ?x)\n             ^^\n"),
        ("path(_, ex:a)", "<input>:1:6: SR205 wildcard `_` in a fact\n"),
        ("path(1 + 2, 3)", "<input>:1:6: SR205 expression in a fact\n"),
        ("path(ex:a ex:b)",
         "<input>:1:11: SR101 found `ex:b`, expected `,` or `)`\n  path(ex:a ex:b)\n"),
        ("path(ex:a)", "<input>:1:1: SR210 'path' has 2 arguments in the program, not 1\n"),
        ("path(foo:a, 1)", "<input>:1:6: SR220 unknown prefix 'foo:'\n"),
        ("path(1, 2), path(2, 3)", "<input>:1:13: SR101 more than one fact\n"),
        ("path(1, 2). path(2, 3).", "<input>:1:13: SR101 more than one fact\n"),
        ("path(1, 2) :- edge(1, 2)", "<input>:1:1: SR101 a rule, where facts are expected\n"),
        ("path", "<input>:1:1: SR101 name `path` without parentheses\n"),
        ("@input path .", "<input>:1:1: SR101 a directive, where facts are expected\n"),
        ("pth(1, 2)",
         "<input>:1:1: SR211 the program has no predicate 'pth'\n  pth(1, 2)\n  ^^^^^^^^^\n"),
        ("ex:a a ex:N", "<input>:1:1: SR101 a term that begins with `ex:`\n  ex:a a ex:N\n  ^^\n"),
    ],
)  # fmt: skip
def test_mistakes_are_pointed_at(text, told):
    """The caret is under the error, in the given text."""
    with pytest.raises(ProgramError) as caught:
        read_fact(text, PROGRAM)

    assert str(caught.value).startswith(told)


def test_an_empty_text_is_told():
    """The message shows how a fact is written."""
    with pytest.raises(DataError, match="no fact to explain"):
        read_fact(" \n", PROGRAM)
