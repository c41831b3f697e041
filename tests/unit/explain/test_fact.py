"""Facts as users write them."""

from __future__ import annotations

import pytest

from streamreasoner.errors import DataError, ProgramError
from streamreasoner.explain.fact import read_fact
from streamreasoner.program import check_text
from streamreasoner.query.facts import Fact

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
         "<fact>:1:12: SR205 variable ?x in a fact\n  path(ex:a, ?x) .\n             ^^\n"),
        ("path(_, ex:a)", "<fact>:1:6: SR205 wildcard in a fact\n"),
        ("path(1 + 2, 3)", "<fact>:1:6: SR205 expression in a fact\n"),
        ("path(ex:a ex:b)",
         "<fact>:1:11: SR101 found `ex:b`, expected `,` or `)`\n  path(ex:a ex:b) .\n"),
        ("path(ex:a)", "<fact>:1:1: SR210 path has 2 arguments in the program, not 1\n"),
        ("path(foo:a, 1)", "<fact>:1:6: SR220 unknown prefix 'foo:'\n"),
        ("path(1, 2), path(2, 3)", "<fact>:1:13: SR101 more than one fact\n"),
        ("path(1, 2). path(2, 3).", "<fact>:1:13: SR101 more than one fact\n"),
        ("path(1, 2) :- edge(1, 2)", "<fact>:1:1: SR101 a rule, where a fact is expected\n"),
        ("path", "<fact>:1:1: SR101 name `path` without parentheses\n"),
        ("@input path .", "<fact>:1:1: SR101 found no fact\n"),
    ],
)  # fmt: skip
def test_mistakes_are_pointed_at(text, told):
    """The caret is under the error, in the given text."""
    with pytest.raises(ProgramError) as caught:
        read_fact(text, PROGRAM)

    assert str(caught.value).startswith(told)


def test_unknown_predicates_are_told_with_what_is_close():
    """The message lists similar predicates of the program."""
    with pytest.raises(DataError, match="no fact to explain"):
        read_fact(" \n", PROGRAM)
    with pytest.raises(DataError, match=r"no predicate 'pth'. Did you mean 'path'\? It has edge/2"):
        read_fact("pth(1, 2)", PROGRAM)
