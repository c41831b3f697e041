"""Each command of the command line, the module that defines it, and what it says to a mistake."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from streamreasoner import cli
from streamreasoner.cli import options
from streamreasoner.errors import StreamReasonerError

OTHERS = {
    "init": "streamreasoner.cli.setup.init",
    "warm": "streamreasoner.cli.offline.warm",
}
"""Those that take nothing that may be missing."""
COMMANDS = {
    "demo": ("streamreasoner.cli.operation.demo", "--duration missing"),
    "run": ("streamreasoner.cli.operation.run", "--config missing.toml"),
    "bootstrap": ("streamreasoner.cli.operation.bootstrap", "a.nt --config missing.toml"),
    "migrate": ("streamreasoner.cli.operation.migrate", "--config missing.toml"),
    "rebuild": ("streamreasoner.cli.operation.rebuild", "--config missing.toml --into new"),
    "serve": ("streamreasoner.cli.serving.serve", "--state missing"),
    "state": ("streamreasoner.cli.operation.state", "--config missing.toml"),
    "diff": ("streamreasoner.cli.operation.diff", "0 1 --config missing.toml"),
    "history": ("streamreasoner.cli.operation.history", "p(1) --config missing.toml"),
    "snapshot": ("streamreasoner.cli.operation.snapshot", "--config missing.toml"),
    "purge": ("streamreasoner.cli.operation.purge", "--config missing.toml"),
    "backup": ("streamreasoner.cli.backups.backup", "new --config missing.toml"),
    "restore": ("streamreasoner.cli.backups.restore", "old --config missing.toml"),
    "check": ("streamreasoner.cli.offline.check", "missing.dl"),
    "check-shapes": ("streamreasoner.cli.offline.check_shapes", "missing.ttl"),
    "materialize": ("streamreasoner.cli.offline.materialize", "missing.dl a.nt"),
    "explain": ("streamreasoner.cli.offline.explain", "missing.dl a.nt --fact p(1)"),
    "convert": ("streamreasoner.cli.offline.convert", "missing.dl --to srl"),
    "explain-plan": ("streamreasoner.cli.offline.explain_plan", "missing.dl"),
    "query": ("streamreasoner.cli.offline.query", "missing.rq missing.dl"),
    "shell": ("streamreasoner.cli.offline.shell", "missing.dl"),
    "produce": ("streamreasoner.cli.messaging.produce", "--config missing.toml"),
    "consume": ("streamreasoner.cli.messaging.consume", "--config missing.toml"),
    "broker": ("streamreasoner.cli.messaging.broker", "--directory x --port missing"),
    "topics create": ("streamreasoner.cli.messaging.topics", "--config missing.toml"),
    "topics delete": ("streamreasoner.cli.messaging.topics", "--yes --config missing.toml"),
    "doctor": ("streamreasoner.cli.setup.doctor", "--config missing.toml"),
    "reset": ("streamreasoner.cli.setup.reset", "--yes --config missing.toml"),
    "topics acls": ("streamreasoner.cli.messaging.topics", "run --config missing.toml"),
    "rules add": ("streamreasoner.cli.operation.rules", "missing.dl --config c.toml"),
    "rules remove": ("streamreasoner.cli.operation.rules", "missing.dl --config c.toml"),
    "rules replace": ("streamreasoner.cli.operation.rules", "missing.dl --config c.toml"),
    "rules show": ("streamreasoner.cli.operation.rules", "--config missing.toml"),
}
"""Command to its module, and to options that name something that is missing."""


def commands(group, *words):
    """Every command below a group, by its words."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *words, name)
        else:
            yield " ".join((*words, name)), command


def test_each_command_is_defined_in_its_own_module():
    """What `--help` lists, and no other; the commands of a group are in one module."""
    found = {name: each.callback.__module__ for name, each in commands(get_command(cli.app))}

    assert found == OTHERS | {name: module for name, (module, _) in COMMANDS.items()}


@pytest.mark.parametrize(
    ("name", "declared"), [("config", options.ConfigFile), ("rules", options.Rules)]
)
def test_what_several_commands_take_reads_alike(name, declared):
    """The help of a configuration and of a program is the same wherever it stands.

    But where a configuration is what a command is about.
    """
    taken = [
        parameter.help
        for command, found in commands(get_command(cli.app))
        for parameter in found.params
        if parameter.name == name and command not in {"check", "doctor"}
    ]

    assert len(taken) > 1
    assert {*taken} == {help_.help for help_ in declared.__metadata__}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_mistake_is_one_message(name, tmp_path, monkeypatch):
    """It says what is missing, and nothing is printed or written before."""
    monkeypatch.chdir(tmp_path)
    _, arguments = COMMANDS[name]
    result = CliRunner().invoke(cli.app, [*name.split(), *arguments.split()])
    said = str(result.exception) if isinstance(result.exception, StreamReasonerError) else ""

    is_usage = name in {"demo", "broker"}
    assert result.exit_code == (2 if is_usage else 1)
    assert isinstance(result.exception, StreamReasonerError | SystemExit)
    assert ("Invalid value for" if is_usage else "missing") in said + result.output
    assert not (said and result.output)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("words", [[], *(name.split() for name in [*COMMANDS, "topics", "rules"])])
def test_a_flag_has_no_type_in_the_help(words):
    """It takes no value, so none is asked for; other options have one."""
    result = CliRunner().invoke(cli.app, [*words, "--help"])

    assert result.exit_code == 0
    assert "bool" not in result.output


def test_all_commands_with_a_configuration_have_the_same_default(tmp_path, monkeypatch):
    """It is streamreasoner.toml in the working directory, and `--config` names another one."""
    monkeypatch.chdir(tmp_path)
    for name in ("run", "topics create", "rules show", "consume", "state", "migrate"):
        with pytest.raises(StreamReasonerError, match=r"streamreasoner\.toml.*with --config"):
            CliRunner().invoke(cli.app, name.split(), catch_exceptions=False)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_text_is_utf8_whatever_the_locale_says(tmp_path, encoding):
    """What is printed and read has characters of every language."""
    program = tmp_path / "rules.dl"
    program.write_text('p("\N{GREEK SMALL LETTER ALPHA}") .\n', encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "streamreasoner", "explain-plan", program],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    assert "\N{GREEK SMALL LETTER ALPHA}" in run.stdout.decode()
