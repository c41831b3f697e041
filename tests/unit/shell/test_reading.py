"""Where commands end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.shell.inputs import first_word, inputs, is_complete


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# a comment, (not open",
        "commit",
        "lst path(",
        "list path",
        "list path(ex:a, ?x)",
        "list path(?x, ?y), (?x % 2) = 1",
        "list node(?x), ?n = count() { path(?x, _) }",
        "list",
        "insert f(1).",
        "insert f(1), g(2)",
        "insert f(1) * 3",
        "insert f(1). # ended",
        'insert f("a(b,").',
        "insert f(<http://e/(>)",
        "insert\nf(1),\n",
        'insert f("""long""").',
        "rule f(?x) :- g(?x), ?x > 1.5 .",
        "load a, b",
        "update CLEAR ALL",
        "update INSERT DATA { ex:a ex:b 1 . ex:b ex:c 2 }",
        "update DELETE { ?s ?p 1 }\nINSERT { ?s ?p 2 } WHERE { ?s ?p 1 }",
        "update DELETE WHERE { ?s ?p 1 }",
        "update PREFIX a: <http://e/> CLEAR GRAPH a:g",
        'update VERSION "1.2" INSERT DATA { ex:a ex:b 1 {| ex:c <<( ex:a a ex:b )>> |} }',
    ],
)
def test_a_complete_command_is_done(text):
    """A command is complete if nothing is open, or if a dot or a blank line ends it."""
    assert is_complete(text)


@pytest.mark.parametrize(
    "text",
    [
        "insert",
        "insert f(1",
        "insert f(1),",
        "insert f(1), # and",
        "insert [ex:a, ex:b,",
        'insert f("""long.',
        "list path(1,",
        "list path(?x, ?y), % and",
        "list node(?x), ?n = count() {",
        "rule f(?x) :- g(?x)",
        "rule f(?x) :- g(?x), ?x > 1.5",
        "rule f(?x) :- g(?x) # .",
        "@prefix ex: <http://e.org/>",
        "update",
        "update PREFIX a: <http://e/> BASE <http://e/>",
        'update VERSION "1.2"',
        "update INSERT DATA { ex:a ex:b 1 {| ex:c 2",
        "update INSERT DATA { ex:a ex:b 1 .",
        "update INSERT DATA { ex:a ex:b 1 } ;",
        "update DELETE { ?s ?p 1 }",
        "update DELETE { ?s ?p 1 } INSERT { ?s ?p 2 }",
    ],
)
def test_what_is_open_goes_on(text):
    """An open parenthesis, a comma at the end and a rule without a dot need more input."""
    assert not is_complete(text)


def test_a_blank_line_ends_what_is_open():
    """An incomplete command is parsed, so that its error is shown at once."""
    assert [*inputs(["insert f(1", "", "commit"])] == ["insert f(1", "", "commit"]


def test_a_command_ends_what_is_open_before_it():
    """An error in one command does not affect the next ones; atoms are not commands."""
    script = ["rule f(?x) :-", "count(?x)", "list g", "rule a(?x) :- ", "  list ."]

    assert [*inputs(script)] == ["rule f(?x) :-\ncount(?x)", "list g", "rule a(?x) :- \n  list ."]


def test_comments_between_the_lines_of_a_command_belong_to_it():
    """A comment does not end a command; by itself it is a separate input."""
    script = ["% first", "insert f(1),", "# and", "  f(2).", "// last"]

    assert [*inputs(script)] == ["% first", "insert f(1),\n# and\n  f(2).", "// last"]


@given(
    st.lists(
        st.sampled_from(
            ("", "  ", "# c", "insert f(1),", " f(2).", "list f", "rule f(?x) :-", "g(?x).", "oh (")
        )
    )
)
def test_no_line_is_lost(lines):
    """The inputs of a script, joined, equal the script."""
    assert "\n".join(inputs(lines)) == "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("list path", ("list", 4)),
        ("  why-not f(1)", ("explain", 9)),
        ("@prefix ex: <a> .", ("@prefix", 7)),
        ("insert[1, 2, 3]", ("insert", 6)),
        ("nonsense", ("nonsense", 8)),
        ("  ?- f(1)", ("", 2)),
    ],
)
def test_the_first_word_is_the_command(text, expected):
    """An alias gives its command; a word that is not a command stays unchanged."""
    assert first_word(text) == expected
