"""`streamreasoner query`: over files and over a state, in every form, with clear mistakes."""

from __future__ import annotations

from contextlib import closing

import pytest
from stored_epochs import StoredReasoner
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.errors import DataError, ProgramError, StateError

RULES = """@prefix ex: <http://example.org/> .
[?x, ex:reaches, ?y] :- [?x, ex:to, ?y] .
"""
A, B, TO = (f"<http://example.org/{name}>" for name in ("a", "b", "to"))
SELECT = "PREFIX ex: <http://example.org/> SELECT ?x ?y { ?x ex:reaches ?y }"
RELATIVE = "SELECT ?x ?y { ?x <reaches> ?y }"
TABLE = f"?x\t?y\n{A}\t{B}\n"


@pytest.fixture
def files(tmp_path):
    """A query, rules and facts."""
    texts = {"q.rq": SELECT, "rules.dl": RULES, "facts.nt": f"{A} {TO} {B} .\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(*arguments, **more):
    """The output of the command."""
    found = CliRunner().invoke(app, ["query", *map(str, arguments)], **more)
    if found.exception is not None:
        raise found.exception
    return found.stdout


def test_files_are_asked(files):
    """By a query in a file or on standard input, in any form of its kind."""
    given = files / "rules.dl", files / "facts.nt"
    assert run(files / "q.rq", *given) == TABLE
    assert run("-", *given, input=SELECT) == TABLE
    assert run("-", *given, "--format", "csv", input=SELECT).startswith("x,y\n")
    assert '"boolean":true' in run("-", *given, input="ASK { ?s ?p ?o }")
    assert run("-", *given, "--base", "http://example.org/x", input=RELATIVE) == TABLE
    made = run("-", *given, input="CONSTRUCT WHERE { ?s ?p ?o }")
    assert "ex:a ex:reaches ex:b" in made


def test_people_get_a_table(files):
    """With short names, and the number of solutions; ASK is a word."""
    given = files / "rules.dl", files / "facts.nt", "--format", "table"
    lines = run(files / "q.rq", *given).splitlines()
    assert [line.split() for line in lines if "ex:" in line or "?" in line] == [
        ["?x", "?y"],
        ["ex:a", "ex:b"],
    ]
    assert lines[-1] == "1 solution"
    assert run("-", *given, input="ASK { ?s ?p ?o }") == "true\n"
    assert run("-", *given, input=f"SELECT * {{ {A} ?p {A} }}") == "0 solutions\n"
    assert run("-", *given, input=f"SELECT * {{ {A} {TO} {B} }}") == "1 solution\n"


def test_a_long_table_says_what_it_leaves_out(files):
    """And which format has all."""
    lines = "".join(f"<http://e.x/{number}> {TO} {B} .\n" for number in range(1001))
    (files / "many.nt").write_text(lines)
    query = f"SELECT ?s {{ ?s {TO} ?o }}"
    found = run("-", files / "rules.dl", files / "many.nt", "--format", "table", input=query)
    assert found.endswith(
        "1,001 solutions, of which the first 1,000 are shown; --format tsv writes all\n"
    )


def test_a_state_is_asked_at_any_epoch(tmp_path):
    """The last epoch, or one before."""
    with closing(StoredReasoner(tmp_path / "tables", RULES, closure=True)) as stored:
        stored.run([("triple", (A, TO, B), 1)])
        stored.run([("triple", (A, TO, B), -1)])
    (tmp_path / "q.rq").write_text(SELECT)
    assert run(tmp_path / "q.rq", "--state", tmp_path) == "?x\t?y\n"
    assert run(tmp_path / "q.rq", "--state", tmp_path, "--at", 0) == TABLE


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (["q.rq"], DataError, "Say what to ask"),
        (["q.rq", "rules.dl", "--state", "."], DataError, "Say what to ask"),
        (["none.rq", "rules.dl"], DataError, r"none\.rq: cannot be read"),
        (["facts.nt", "rules.dl"], ProgramError, r"facts\.nt:1:1: SR260"),
        (["q.rq", "--state", "none"], StateError, "none"),
    ],
)
def test_mistakes_are_named(files, monkeypatch, arguments, error, said):
    """Each with what to do."""
    monkeypatch.chdir(files)
    with pytest.raises(error, match=said):
        run(*arguments)


PATHS = """@prefix ex: <http://example.org/> .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
start(?x) :- edge(?x, _), not path(_, ?x) .
"""


@pytest.fixture
def graph(tmp_path):
    """Rules and their facts, next to facts that no rule reads."""
    (tmp_path / "paths.dl").write_text(PATHS)
    edges = ("a", "b"), ("b", "c"), ("d", "c")
    lines = (f"<http://example.org/{x}>,<http://example.org/{y}>\n" for x, y in edges)
    (tmp_path / "edge.csv").write_text("".join(lines))
    return tmp_path / "paths.dl", tmp_path / "edge.csv"


def test_a_goal_is_asked_of_files(graph):
    """Its variables are the columns, its answers distinct and in order; without any, it holds."""
    assert run("path(ex:a, ?y)", *graph) == f"?y\n{B}\n<http://example.org/c>\n"
    assert run("start(?x)", *graph) == f"?x\n{A}\n<http://example.org/d>\n"
    assert run("path(_, ?y) .", *graph).splitlines()[1:] == [B, "<http://example.org/c>"]
    assert len(run("path(?x, ?y)", *graph, "--format", "csv").splitlines()) == 5
    assert run("path(?x, ?x)", *graph) == "?x\n"
    assert '"boolean":true' in run("path(ex:a, ex:c)", *graph)
    assert '"boolean":false' in run("path(ex:c, ex:a)", *graph)


def test_a_goal_of_triples_is_asked_of_files(files):
    """Of what rules derive and of what is asserted, with the prefixes of the rules."""
    given = files / "rules.dl", files / "facts.nt"
    assert run("[?x, ex:reaches, ?y]", *given) == TABLE
    assert run("[ex:a, ?p, ex:b]", *given).splitlines()[1:] == [
        "<http://example.org/reaches>",
        TO,
    ]


def test_a_goal_takes_triple_terms_apart(tmp_path):
    """The variables inside triple terms are columns, too."""
    rules = '[?x, ex:says, <<( ?s ex:p <<( ?x ex:q "1"@en )>> )>>] :- [?x, ex:of, ?s] .'
    (tmp_path / "says.dl").write_text(f"@prefix ex: <http://example.org/> . {rules}")
    (tmp_path / "of.nt").write_text(f"{A} <http://example.org/of> {B} .\n")
    given = tmp_path / "says.dl", tmp_path / "of.nt"
    assert run("[?x, ?p, <<( ?s _ <<( ?x _ ?l )>> )>>]", *given).splitlines() == [
        "?x\t?p\t?s\t?l",
        f'{A}\t<http://example.org/says>\t{B}\t"1"@en',
    ]
    assert '"boolean":true' in run("[ex:a, _, <<( ex:b _ _ )>>]", *given)
    assert '"boolean":false' in run("[ex:b, _, <<( ex:b _ _ )>>]", *given)


def test_it_is_said_that_all_rules_are_evaluated(tmp_path):
    """On standard error, with the reason."""
    edge = "<http://example.org/a> <http://example.org/p> <http://example.org/b> ."
    (tmp_path / "facts.rdfp").write_text(f"D {edge}\n")
    rules = "@prefix ex: <http://example.org/> . [?x, ex:p, ?y] :- [?x, ex:q, ?y] ."
    (tmp_path / "rules.dl").write_text(rules)
    found = CliRunner().invoke(
        app,
        ["query", "[ex:a, ex:p, ?y]", str(tmp_path / "rules.dl"), str(tmp_path / "facts.rdfp")],
    )
    assert found.stdout == "?y\n"
    assert "because a fact that rules may derive is retracted" in found.stderr


def test_a_wrong_goal_says_where(graph, tmp_path):
    """A goal that the rules do not have is refused with a caret, one for a state with advice."""
    with pytest.raises(ProgramError, match="did you mean 'path'"):
        run("pth(ex:a, ?y)", *graph)
    with pytest.raises(ProgramError, match="SR102"):
        run(f"[<http://example.org/{'x' * 300}>, ?p", *graph)
    with pytest.raises(DataError, match="asked of rules and files"):
        run("path(ex:a, ?y)", "--state", tmp_path)
