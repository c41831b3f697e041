"""`init`: what it writes runs as it is, by the commands that it prints."""

from __future__ import annotations

import shlex
import tomllib

import pytest
from pipelines import Case, changes, committed, eventually, net, published
from spark_jvm import MARKS
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.cli.setup.templates import Template
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

IRI, TYPE = "http://example.org/", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SUB_CLASS_OF = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"
DECIMAL = "^^<http://www.w3.org/2001/XMLSchema#decimal>"


def iris(*names):
    """Terms of the template ontology."""
    known = {"a": TYPE, "subClassOf": SUB_CLASS_OF}
    return tuple(known.get(name, f"<{IRI}{name}>") for name in names)


DERIVED = {
    Template.PLAIN: {
        ("affected", (f'"{service}"', '"database"')) for service in ("ledger", "payments", "shop")
    },
    Template.CDC: {("ready", (f'"{order}"{INTEGER}',)) for order in (100, 101)},
    Template.ONTOLOGY: {
        ("triple", iris(*words.split()))
        for words in (
            *(
                "Manager subClassOf Person",
                "ann a Manager",
                "ann a Employee",
                "ann a Person",
                "ann worksOn apollo",
            ),
            *("ben a Employee", "ben a Person", "cleo a Employee", "cleo a Person"),
            *("apollo a Project", "gemini a Project", "ann knows ben", "ben knows ann"),
        )
    },
    Template.WINDOWS: {
        ("mean", ('"hall"', f'"22"{DECIMAL}')),
        ("mean", ('"lab"', f'"33.5"{DECIMAL}')),
        ("warmest", ('"hall"', f'"22"{INTEGER}')),
        ("warmest", ('"lab"', f'"34"{INTEGER}')),
    },
}
"""What follows from the sample data in the end."""


def run(words):
    """What a command prints; it must succeed."""
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, (words, result.output, result.exception)
    return result.stdout


@pytest.mark.parametrize("template", Template)
def test_what_init_writes_runs_as_it_is(template, broker, tmp_path, monkeypatch):
    """Each printed command succeeds, and the pipeline derives from the sample data."""
    folder = tmp_path / "new"
    printed = run(["init", str(folder), "--template", template])
    monkeypatch.chdir(folder)
    monkeypatch.setenv("STREAMREASONER_KAFKA__BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    lines = [shlex.split(each, comments=True) for each in printed.splitlines() if each[:2] == "  "]
    commands = [words[1:] for words in lines if words[0] == "streamreasoner" and words[-1] != "&"]
    *before, consume = commands
    assert [words[0] for words in commands] == ["check", "topics", "produce", "consume"]
    for words in before:
        run(words)
    raw = tomllib.loads((folder / "pipeline.toml").read_text())
    raw["kafka"]["bootstrap_servers"] = broker.bootstrap_servers
    raw["server"] = {"port": 0}
    # The sample data is older than what a tick of today would leave.
    raw.setdefault("time", {})["idle_advance"] = "PT0S"
    case = Case(raw, folder)
    sent = len(committed(case, case.kafka.input_topics[0]))
    with pipeline(case.config):
        eventually(lambda: sum(published(case).values()), expected=sent)
    letters = committed(case, case.kafka.dead_letter_topic)
    assert [dict(letter.headers)["reason"] for letter in letters] == []
    assert net(changes(case)) == DERIVED[template]
    assert len(run([*consume, "--count", "1"]).splitlines()) == 1
    # The topics have the names of the template, on a broker that tests share.
    topics = [*case.kafka.input_topics, case.kafka.output_topic]
    run(["topics", "delete", "--yes", "--config", "pipeline.toml"])
    run(["topics", "delete", "--yes", *topics, "--config", "pipeline.toml"])
