"""`init` writes files, and replaces none."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from streamreasoner import __version__
from streamreasoner.cli import app
from streamreasoner.cli.setup.templates import Template
from streamreasoner.config import load

ROOT = Path(__file__).parents[3]


def init(*words):
    """The result of the command."""
    return CliRunner().invoke(app, ["init", *map(str, words)])


@pytest.mark.parametrize("template", Template)
def test_the_configuration_is_valid_and_keeps_its_state_in_the_folder(template, tmp_path):
    """Program and state are next to it, and the page is on."""
    assert init(tmp_path, "--template", template).exit_code == 0
    config = load(tmp_path / "pipeline.toml", {})
    assert config.state.directory == tmp_path / "state"
    assert config.rules.program == tmp_path / "rules.dl"
    assert config.server.facts
    assert CliRunner().invoke(app, ["check", str(config.rules.program)]).exit_code == 0


def test_nothing_is_replaced(tmp_path):
    """A file that is there is named, and the folder stays as it is."""
    (tmp_path / "rules.dl").write_text("mine")
    result = init(tmp_path)
    assert "already has rules.dl" in str(result.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["rules.dl"]
    result = init(tmp_path / "rules.dl" / "below")
    assert "cannot be written" in str(result.exception)


def test_the_compose_file_has_the_broker_of_the_repository(tmp_path):
    """Images, settings and ports are those of docker-compose.yml, and the folder is mounted."""
    init(tmp_path)
    written = yaml.safe_load((tmp_path / "docker-compose.yml").read_text())["services"]
    root = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]
    for key, value in written["kafka"].items():
        assert root["kafka"][key] == value
    for name in ("topics", "reasoner"):
        assert written[name]["image"] == f"streamreasoner:{__version__}" == root[name]["image"]
        assert ".:/etc/streamreasoner:ro" in written[name]["volumes"]
    environment = {key: str(value) for key, value in written["reasoner"]["environment"].items()}
    config = load(tmp_path / "pipeline.toml", environment)
    assert config.kafka.bootstrap_servers == "kafka:19092"
    assert config.server.facts
    assert f"127.0.0.1:{config.server.port}:{config.server.port}" in written["reasoner"]["ports"]
    assert config.spark.options["spark.jars"] == "/opt/streamreasoner/jars/*"


def test_the_wheel_has_the_files_of_examples():
    """What a checkout takes from examples/ is a part of the package, under the template's name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for template, example in (
        (Template.CDC, "change-data-capture"),
        (Template.WINDOWS, "sensor-windows"),
    ):
        names = {
            Path(source).name
            for source, target in included.items()
            if source == f"examples/{example}/{Path(source).name}"
            and target == f"streamreasoner/templates/{template}/{Path(source).name}"
        }
        data = {"events.jsonl", "messages.jsonl"} & names
        assert names == {"pipeline.toml", "rules.dl", *data}
        assert data
