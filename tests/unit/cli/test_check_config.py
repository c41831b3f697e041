"""`check --config`: what a start refuses is found without a broker."""

from __future__ import annotations

import tarfile

import pytest
from states.write_state import STATES, configuration
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.state import migrate

RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"
TOML = """
[kafka]
bootstrap_servers = "127.0.0.1:1"
input_topics = ["in"]
output_topic = "out"
{kafka}
[rules]
program = "rules.dl"
[state]
directory = "state"
{more}
"""


@pytest.fixture
def check(tmp_path):
    """Exit code and message of the command for a configuration."""
    (tmp_path / "password").write_text("secret")

    def call(kafka="", more="", rules=RULES):
        (tmp_path / "rules.dl").write_text(rules)
        path = tmp_path / "pipeline.toml"
        path.write_text(TOML.format(kafka=kafka, more=more))
        result = CliRunner().invoke(app, ["check", "--config", str(path)])
        return result.exit_code, f"{result.output}{result.exception or ''}"

    return call


def test_a_good_configuration_gives_a_summary_and_leaves_nothing(check, tmp_path):
    """No broker is asked, and the state directory is not created."""
    code, output = check()
    assert code == 0, output
    assert "rules.dl: 1 rule, 1 stratum, 3 predicates, 0 warnings" in output
    assert "pipeline.toml: a pipeline can start with it" in output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("password", "pipeline.toml", "rules.dl"),
    ]


MAPPING = """
[input]
format = "json-rows"
[input.map.edges]
topic = "in"
[[input.map.edges.facts]]
predicate = "edge"
args = ["a", "b", "c"]
"""
CERTIFICATE = """
[server]
facts = true
user = "u"
password_file = "password"
certificate_file = "rules.dl"
key_file = "rules.dl"
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"rules": "path(?x, ?y) :- edge(?x, ?z) ."}, "SR201"),
        ({"kafka": "starting_offset = 1"}, "Did you mean starting_offsets?"),
        ({"kafka": 'producer_options = { "no.such.option" = "1" }'}, "no.such.option"),
        ({"more": MAPPING}, "input.map.edges.facts[0]: edge has 2 arguments; found 3"),
        ({"more": '[output]\nformat = "nquads"'}, "which has triples and quads only"),
        ({"more": CERTIFICATE}, "server.certificate_file, server.key_file"),
    ],
)
def test_what_a_start_refuses_is_refused(check, change, expected):
    """The message is that of the start."""
    code, output = check(**change)
    assert code == 1
    assert expected in output


def test_one_problem_hides_no_other(check):
    """All problems that do not depend on each other are in one message."""
    code, output = check(
        rules="path(?x, ?y) :- edge(?x, ?z) .",
        kafka='producer_options = { "no.such.option" = "1" }',
        more=CERTIFICATE,
    )
    assert code == 1
    for expected in ("SR201", "no.such.option", "server.key_file"):
        assert expected in output


@pytest.mark.parametrize("words", [[], ["rules.dl", "--config", "pipeline.toml"]])
def test_either_rules_or_a_configuration_is_named(words):
    """Neither and both are refused, with what to write."""
    result = CliRunner().invoke(app, ["check", *words])
    assert result.exit_code == 1
    assert "streamreasoner check --config pipeline.toml" in str(result.exception)


@pytest.fixture
def stored(tmp_path):
    """The configuration of a state of an earlier release, and how to check it with a change."""
    with tarfile.open(STATES / "state-845dc16.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    migrate(tmp_path / "state/tables")
    case = configuration("127.0.0.1:1", tmp_path, "state-845dc16", "auto")

    def call(**sections):
        for section, table in sections.items():
            case.raw[section] = {**case.raw.get(section, {}), **table}
        result = CliRunner().invoke(app, ["check", "--config", str(case.file)])
        return result.exit_code, f"{result.output}{result.exception or ''}"

    return call


def test_a_state_that_fits_is_accepted(stored):
    """Program and semantics are those that the state was begun with."""
    assert stored()[0] == 0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"rules": {"program": "rho-df"}}, "The state belongs to another program"),
        ({"input": {"semantics": "set"}}, "as multiset, but input.semantics is set"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(stored, change, expected):
    """As a start refuses it, without its lock."""
    code, output = stored(**change)
    assert code == 1
    assert expected in output
