"""What `doctor` finds of a machine: each finding that is not ok says what to do."""

from __future__ import annotations

import json
import logging
import tomllib
from importlib import metadata

import pytest
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.config import parse
from streamreasoner.errors import EnvironmentSetupError, StreamReasonerError
from streamreasoner.io.spark import session
from streamreasoner.state.lock import StateLock, holder
from streamreasoner.system import jvm
from streamreasoner.upkeep import machine
from streamreasoner.upkeep.finding import Finding, Level, Warned, examine

_TOML = """
[kafka]
bootstrap_servers = "127.0.0.1:1"
input_topics = ["in"]
output_topic = "out"
[rules]
program = "rho-df"
[state]
directory = "state"
[server]
port = 0
"""


def _raise(error):
    raise error


def _warn():
    logging.getLogger("streamreasoner.somewhere").warning("%d of them", 3)
    return "done"


@pytest.mark.parametrize(
    ("look", "expected"),
    [
        (lambda: "good", [(Level.OK, "good")]),
        (lambda: _raise(Warned("low")), [(Level.WARNING, "low")]),
        (lambda: _raise(StreamReasonerError("bad")), [(Level.ERROR, "bad")]),
        (_warn, [(Level.OK, "done"), (Level.WARNING, "3 of them")]),
    ],
)
def test_a_check_returns_raises_or_logs(look, expected):
    """A result is ok, an error is one, and so is each warning that a start would log."""
    assert [*examine("x", look)] == [Finding("x", level, text) for level, text in expected]


def test_a_bug_in_a_check_is_no_finding():
    """Only what is meant for users becomes a line."""
    with pytest.raises(ZeroDivisionError):
        list(examine("x", lambda: str(1 // 0)))


def test_versions_are_those_that_are_installed():
    """Of Python, the package and what the pipeline depends on."""
    assert f"pyspark {metadata.version('pyspark')}" in machine.versions()


def test_a_library_that_is_missing_is_named(monkeypatch):
    """With the command that installs it."""
    monkeypatch.setattr(machine, "_SHOWN", ("numpy", "no-such-package"))
    with pytest.raises(EnvironmentSetupError, match=r"no-such-package are not installed.*pip inst"):
        machine.versions()


def test_a_directory_need_not_exist(tmp_path):
    """Room and rights are those of the folder that it would be made in."""
    assert "GiB are free" in machine.disk("state.directory", tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room_is_an_error_and_one_with_little_a_warning(tmp_path, monkeypatch):
    """Both name the key and the place."""
    monkeypatch.setattr(machine, "_MUCH_FREE", 1 << 62)
    with pytest.raises(Warned, match=r"state\.directory"):
        machine.disk("state.directory", tmp_path)
    monkeypatch.setattr(machine, "_LEAST_FREE", 1 << 62)
    with pytest.raises(EnvironmentSetupError, match=r"Only .* Free some"):
        machine.disk("state.directory", tmp_path)


def test_a_file_is_not_a_directory(tmp_path):
    """A path that runs through a file cannot be used."""
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentSetupError, match="cannot be written"):
        machine.disk("state.directory", tmp_path / "file" / "state")


def test_a_lock_is_seen_and_left_alone(tmp_path):
    """The holder is named by its process id; a reader does not take the lock."""
    assert holder(tmp_path) is None
    lock = StateLock(tmp_path)
    assert holder(tmp_path) is not None
    lock.close()
    assert holder(tmp_path) is None
    StateLock(tmp_path, timeout=0).close()


def test_jars_that_a_start_would_download_are_a_warning(tmp_path, monkeypatch):
    """With them, in the folder of the modules that are needed, all is well."""
    monkeypatch.setenv(jvm.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    raw = tomllib.loads(_TOML)
    with pytest.raises(Warned, match=f"{jvm.REPOSITORY_VARIABLE} to a mirror") as caught:
        machine.jars(parse(raw, {}, tmp_path))
    folder = jvm.jars_directory("spark", session.PACKAGES.split(","))
    assert str(folder) in str(caught.value)
    folder.mkdir()
    assert machine.jars(parse(raw, {}, tmp_path)) == str(folder)
    raw["spark"] = {"options": {"spark.jars.packages": ""}}
    assert "spark.options" in machine.jars(parse(raw, {}, tmp_path))


def run(*words):
    """Exit code and output of the command."""
    result = CliRunner().invoke(app, ["doctor", *map(str, words)])
    return result.exit_code, result.stdout


def test_without_a_configuration_the_machine_is_checked(tmp_path, monkeypatch):
    """Which is said; a configuration that lies there is found."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["doctor"])
    checks = [line.split()[1] for line in result.stdout.splitlines()]
    assert (result.exit_code, checks) == (0, ["versions:", "java:", "memory:"])
    assert "name its configuration with --config" in result.stderr
    (tmp_path / "streamreasoner.toml").write_text("[kafka]\n")
    code, output = run()
    assert code == 1
    assert "error    configuration: streamreasoner.toml is not a valid" in output


def test_a_broker_that_does_not_answer_ends_the_checks_of_kafka(tmp_path):
    """It is one error; what does not need it is checked, and nothing is left behind."""
    path = tmp_path / "pipeline.toml"
    path.write_text(_TOML)
    code, output = run("--config", path, "--json")
    found = {each["check"]: each for each in map(json.loads, output.splitlines())}
    assert code == 1
    assert [name for name, each in found.items() if each["level"] == "error"] == ["brokers"]
    assert "Check the address" in found["brokers"]["message"]
    assert found["state"]["message"].startswith("none yet in")
    assert {"rights", "topics", "app_id"}.isdisjoint(found)
    assert [each.name for each in tmp_path.iterdir()] == ["pipeline.toml"]
