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
