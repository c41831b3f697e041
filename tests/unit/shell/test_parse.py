"""Parsing commands: results, and positions of errors."""

from __future__ import annotations

import pytest

from streamreasoner.errors import ProgramError
from streamreasoner.facts import Fact, FactPattern
from streamreasoner.lang.ast import NOWHERE, Base, Constant, Prefix, Variable
from streamreasoner.query.syntax import Scope
from streamreasoner.shell.command import (
    AddRules,
    CommandError,
    DeclarePrefix,
    DropRule,
    Explain,
    Help,
    ListFacts,
    Load,
    QueueUpdates,
    Simple,
)
from streamreasoner.shell.parse import parse

EX = "http://example.org/"
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SCOPE = Scope(
    (Prefix("ex", EX, NOWHERE), Base("http://base.org/", NOWHERE)),
    {"edge": 2, "path": 2, "alarm": 0, "triple": 3},
)


def integer(number):
    """The term of an integer."""
    return f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>'


def edge(x, y):
    """A fact of two numbers."""
    return Fact("edge", (integer(x), integer(y)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("insert edge(1, 2).", QueueUpdates((edge(1, 2),), 1)),
        ("insert edge(1, 2), edge(2, 3)", QueueUpdates((edge(1, 2), edge(2, 3)), 1)),
        ("insert edge(1, 2). edge(2, 3).", QueueUpdates((edge(1, 2), edge(2, 3)), 1)),
        ("remove edge(1, 2) * 3 . # thrice", QueueUpdates((edge(1, 2),), -3)),
        ("insert edge(1,\n  2) # no dot", QueueUpdates((edge(1, 2),), 1)),
        ("insert alarm().", QueueUpdates((Fact("alarm", ()),), 1)),
        (
            'insert edge("(1) * 2", <x>).',
            QueueUpdates((Fact("edge", ('"(1) * 2"', "<http://base.org/x>")),), 1),
        ),
        (
            "insert [ex:a, a, ex:B].",
            QueueUpdates((Fact("triple", (f"<{EX}a>", RDF_TYPE, f"<{EX}B>")),), 1),
        ),
        ("list path", ListFacts(FactPattern("path"))),
        ("list path. % all", ListFacts(FactPattern("path"))),
        ("explain edge(1, 2)", Explain(edge(1, 2))),
        ("why-not edge(1, 2)", Explain(edge(1, 2))),
        ("load a.csv", Load("a.csv")),
        ("load 'a b.csv' # there", Load("a b.csv")),
        ("drop 2.", DropRule(2)),
        ("discard", Simple.ROLLBACK),
        ("commit .", Simple.COMMIT),
        ("help why", Help("explain")),
        ("help", Help(None)),
        ("@prefix e: <http://e/> .", DeclarePrefix(Prefix("e", "http://e/", NOWHERE))),
    ],
)
def test_a_command_is_what_it_says(text, expected):
    """Terms are canonical, prefixes and base are resolved; dots and comments are optional."""
    assert parse(text, SCOPE) == expected


def test_a_pattern_keeps_its_variables():
    """Constants, variables and wildcards are arguments of a pattern."""
    command = parse("list path(ex:a, ?x).", SCOPE)

    assert command == ListFacts(
        FactPattern("path", (Constant(f"<{EX}a>", NOWHERE), Variable("x", NOWHERE)))
    )


def test_rules_come_with_their_prefixes():
    """An added rule can be parsed by itself, and its lines are numbered as typed."""
    command = parse("rule path(?x, ?y) :-\n  edge(?x, ?y).", SCOPE)

    assert isinstance(command, AddRules)
    assert command.text == (
        f"@prefix ex: <{EX}> . @base <http://base.org/> .      path(?x, ?y) :-\n  edge(?x, ?y)."
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lst path", "There is no command 'lst'. Did you mean 'list'?"),
        ("Insert edge(1, 2)", "There is no command 'Insert'. Did you mean 'insert'?"),
        ("edge(1, 2).", "There is no command 'edge'. Facts are asserted with `insert`,"),
        ("[ex:a, ex:b, ex:c].", "There is no command '[ex:a, ex:b, ex:c].'. Facts are asserted"),
        ("xyzzy", "There is no command 'xyzzy'; `help` lists the commands."),
        ("help xyzzy", "There is no command 'xyzzy'; `help` lists the commands."),
        ("commit now", "`commit` takes no argument, got 'now'."),
        ("list", "`list` needs a predicate, or the body of a rule, as in `list f(1, ?x), g(?x)`."),
        ("trace", "`trace` needs a predicate, or an atom with variables, as in `trace f(1, ?x)`."),
        ("load", "`load` needs one word, as in `load FILE`."),
        ("load a b", "`load` needs one word"),
        ("load 'a", "`load`: a quotation mark is not closed."),
        ("drop x", "'x' is not a rule number; `rules` lists them."),
        ("insert edge(1, 2) * 0.", "Cannot repeat 0 times; use 1 to 1,000,000,000."),
        ("insert edge(1, 2) * 10000000000", "Cannot repeat 10000000000 times"),
    ],
)
def test_a_mistake_in_words_is_one_sentence(text, message):
    """The message names the wrong word and says what to do."""
    with pytest.raises(CommandError) as caught:
        parse(text, SCOPE)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "insert edg(1, 2).",
            (
                "<input>:1:8: SR211 the program has no predicate 'edg'\n"
                "  insert edg(1, 2).\n"
                "         ^^^^^^^^^\n"
                "  = help: did you mean 'edge'?"
            ),
        ),
        (
            "list pth",
            (
                "<input>:1:6: SR211 the program has no predicate 'pth'\n"
                "  list pth\n"
                "       ^^^\n"
                "  = help: did you mean 'path'?"
            ),
        ),
        (
            "insert edge(1,\n  2, 3)",
            (
                "<input>:1:8: SR210 'edge' has 2 arguments in the program, not 3\n"
                "  insert edge(1,\n"
                "         ^^^^^^^"
            ),
        ),
        (
            "insert edge(1,\n  ?x)",
            (
                "<input>:2:3: SR205 variable '?x' in a fact\n"
                "    ?x)\n"
                "    ^^\n"
                "  = help: a fact holds constants only; a rule has a body after `:-`"
            ),
        ),
        (
            "insert edge(1, 2) :- edge(2, 1).",
            (
                "<input>:1:8: SR101 a rule, where facts are expected\n"
                "  insert edge(1, 2) :- edge(2, 1).\n"
                "         ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
                "  = help: a fact is the head alone; the shell adds rules with `rule`"
            ),
        ),
        (
            "insert edge(1, 2 + 3).",
            (
                "<input>:1:16: SR205 expression in a fact\n"
                "  insert edge(1, 2 + 3).\n"
                "                 ^^^^^\n"
                "  = help: write a constant"
            ),
        ),
        (
            "explain edge(1, 2), edge(2, 3)",
            (
                "<input>:1:21: SR101 more than one fact\n"
                "  explain edge(1, 2), edge(2, 3)\n"
                "                      ^^^^^^^^^^\n"
                "  = help: name one at a time"
            ),
        ),
        (
            "trace edge(1, 2 + 3)",
            (
                "<input>:1:15: SR107 an expression, where a term is expected\n"
                "  trace edge(1, 2 + 3)\n"
                "                ^^^^^"
            ),
        ),
        (
            "trace edge(1, <<( _ <urn:p> ?x )>>)",
            (
                "<input>:1:15: SR107 an expression, where a term is expected\n"
                "  trace edge(1, <<( _ <urn:p> ?x )>>)\n"
                "                ^^^^^^^^^^^^^^^^^^^^\n"
                "  = help: write a variable in its place; a rule, or `list` in the shell, takes"
                " triple terms apart"
            ),
        ),
        (
            "trace edge(1, 2), edge(2, 3)",
            (
                "<input>:1:19: SR101 more than one atom\n"
                "  trace edge(1, 2), edge(2, 3)\n"
                "                    ^^^^^^^^^^\n"
                "  = help: ask for one at a time"
            ),
        ),
        (
            "insert edge(1, 2",
            (
                "<input>:1:16: SR102 the text ends here, expected `,` or `)`\n"
                "  insert edge(1, 2\n"
                "                 ^"
            ),
        ),
        (
            'insert [ex:a, "p", 1].',
            "<input>:1:15: SR242 ",
        ),
        (
            "insert @prefix e: <http://e/> .",
            (
                "<input>:1:8: SR101 a directive, where facts are expected\n"
                "  insert @prefix e: <http://e/> .\n"
                "         ^^^^^^^^^^^^^^^^^^^^^^^^"
            ),
        ),
        (
            "@prefix ex: <http://other/> .",
            (
                "<input>:1:1: SR221 prefix 'ex:' is already declared as <http://example.org/>\n"
                "  @prefix ex: <http://other/> .\n"
                "  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
            ),
        ),
        (
            "rule path(?x, ?y) :- ,",
            "<input>:1:22: SR101 found `,`, expected ",
        ),
        (
            "list edge(1, 2) x",
            "<input>:1:17: SR101 ",
        ),
        (
            "insert .",
            "<input>:1:8: SR101 found `.`, expected a rule or a directive",
        ),
        (
            "insert edge",
            "<input>:1:8: SR101 name `edge` without parentheses\n",
        ),
    ],
)
def test_a_mistake_in_a_fact_has_a_caret(text, expected):
    """Errors are reported as in rule files, with a caret in the command as typed."""
    with pytest.raises(ProgramError) as caught:
        parse(text, SCOPE)

    assert str(caught.value).startswith(expected)
