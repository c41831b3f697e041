"""`state`, `diff` and `history` print what the tables say, and refuse what they cannot tell."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from stored_epochs import StoredReasoner
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.errors import StreamReasonerError

RULES = """@prefix ex: <http://example.org/> .
dearest(?city, max(?price)) :- [?x, ex:in, ?city], [?x, ex:paid, ?price] .
"""
EX = "<http://example.org/{}>".format
NUMBER = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'.format
CONFIGURATION = """
[kafka]
bootstrap_servers = "127.0.0.1:9"
input_topics = ["in"]
output_topic = "out"
[rules]
program = "./rules.dl"
[state]
directory = "state"
"""


def triple(s, p, o, diff=1):
    """An update of a triple."""
    return "triple", (EX(s), EX(p), o), diff


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Run a command on a state of four epochs, which is open all the time."""
    folder = tmp_path_factory.mktemp("past")
    (folder / "pipeline.toml").write_text(CONFIGURATION)
    with closing(StoredReasoner(folder / "state/tables", RULES)) as stored:
        stored.run([triple("anna", "in", EX("Oslo")), triple("anna", "paid", NUMBER(9))])
        stored.run([triple("bert", "in", EX("Oslo")), triple("bert", "paid", NUMBER(10))])
        stored.run([triple("carl", "in", EX("Oslo"))])
        stored.run([triple("bert", "paid", NUMBER(10), -1)])

        def run(*arguments):
            command = [*arguments, "--config", str(folder / "pipeline.toml")]
            result = CliRunner().invoke(app, command)
            if result.exception is not None:
                raise result.exception
            return result

        yield run


@pytest.mark.parametrize(
    ("moment", "price"),
    [("0", 9), ("2", 10), ("2026-01-01T02:59:59Z", 10), ("2026-01-01T03:30:00Z", 9), (None, 9)],
)
def test_the_state_at_an_epoch_or_time(ask, moment, price):
    """The winner of a lattice is the one at the end of the epoch; beaten candidates are absent."""
    at = [] if moment is None else ["--at", moment]

    said = ask("state", "dearest(ex:Oslo, ?x)", *at)
    assert said.stdout == f"dearest(ex:Oslo, {price})\n"
    said = ask("state", "dearest", "--format", "json", *at)
    assert json.loads(said.stdout) == {
        "predicate": "dearest",
        "args": [EX("Oslo"), NUMBER(price)],
        "diff": 1,
    }


def test_all_predicates_are_the_default(ask):
    """Asserted facts are facts; the number of facts is not on standard output."""
    said = ask("state", "--at", "0")

    assert said.stdout.splitlines() == [
        "dearest(ex:Oslo, 9)",
        "[ex:anna, ex:in, ex:Oslo]",
        "[ex:anna, ex:paid, 9]",
    ]
    assert said.stderr == "3 facts at the end of epoch 0.\n"


def test_differences_of_two_epochs(ask):
    """What came and went in between is not printed."""
    assert ask("diff", "0", "3").stdout.splitlines() == [
        "+ [ex:bert, ex:in, ex:Oslo]",
        "+ [ex:carl, ex:in, ex:Oslo]",
    ]
    lines = ask("diff", "2", "3", "--format", "json").stdout.splitlines()
    assert [(line["args"][-1], line["diff"]) for line in map(json.loads, lines)] == [
        (NUMBER(10), -1),
        (NUMBER(9), 1),
        (NUMBER(10), -1),
    ]


def test_the_history_of_a_fact(ask):
    """Each change of presence has its epoch, and its time if the epoch published something."""
    assert ask("history", "dearest(ex:Oslo, 9)").stdout.splitlines() == [
        "+ epoch 0  2026-01-01T00:00:00.000Z",
        "- epoch 1  2026-01-01T01:00:00.000Z",
        "+ epoch 3  2026-01-01T03:00:00.000Z",
        "present at the end of epoch 3, the last one",
    ]
    *_, event, end = ask("history", "[ex:carl, ex:in, ex:Oslo]", "--format", "json").stdout.split(
        "\n"
    )[:-1]
    assert json.loads(event) == {"epoch": 2, "ts": None, "diff": 1, "of": "presence"}
    assert json.loads(end) == {
        "present": True,
        "last": 3,
        "oldest": None,
        "present_at_oldest": False,
        "changes_from": None,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("state", "--at", "4"), "Epoch 4 is not complete; the last complete one is 3."),
        (("state", "--at", "today"), "'today' is neither an epoch nor a time"),
        (("state", "--at", "2025-01-01T00:00:00Z"), "No epoch is known to be as old"),
        (("state", "cheapest"), "no predicate 'cheapest'"),
        (("diff", "2", "1"), "Epoch 2 is after epoch 1"),
        (("history", "dearest(ex:Oslo, ?x)"), "variable"),
    ],
)
def test_what_cannot_be_told_is_refused(ask, arguments, message):
    """One message names what is wrong."""
    with pytest.raises(StreamReasonerError, match=message):
        ask(*arguments)


def test_triple_terms_of_the_past(tmp_path):
    """They are printed as rules have them, or as terms, and patterns match them and their parts."""
    (tmp_path / "pipeline.toml").write_text(CONFIGURATION)
    said = f'<<( {EX("anna")} {EX("in")} "Oslo"@nb--ltr )>>'
    rules = """@prefix ex: <http://example.org/> .
[?x, ex:of, ?y] :- [?c, ex:says, <<( ?x ?p ?y )>>] .
"""
    with closing(StoredReasoner(tmp_path / "state/tables", rules)) as stored:
        stored.run([triple("claim", "says", said)])
        stored.run([triple("claim", "says", said, -1)])

    def run(*arguments):
        command = [*arguments, "--config", str(tmp_path / "pipeline.toml")]
        result = CliRunner().invoke(app, command)
        assert result.exception is None, result.output
        return result.stdout

    short = '<<( ex:anna ex:in "Oslo"@nb--ltr )>>'
    assert run("state", "[_, ex:says, ?x]", "--at", "0") == f"[ex:claim, ex:says, {short}]\n"
    assert run("state", f"[?s, ex:says, {short}]", "--at", "0").startswith("[ex:claim, ")
    assert run("state", "[_, ex:of, ?x]", "--at", "0") == '[ex:anna, ex:of, "Oslo"@nb--ltr]\n'
    assert run("state", "[_, ex:says, ?x]") == ""
    printed = [json.loads(line) for line in run("diff", "0", "1", "--format", "json").splitlines()]
    args = [EX("claim"), EX("says"), said]
    assert {"predicate": "triple", "args": args, "diff": -1} in printed
    message = json.dumps({**dict(zip("spo", args, strict=True)), "diff": 1})
    for fact in (f"[ex:claim, ex:says, {short}]", message):
        assert [line.split("  ")[0] for line in run("history", fact).splitlines()[:2]] == [
            "+ epoch 0",
            "- epoch 1",
        ]
