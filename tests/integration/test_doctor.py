"""`doctor` on a real broker: a finding for each thing that a start needs."""

from __future__ import annotations

import json

import pytest
from pipelines import fact, new_case, produce, recreate
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.config import parse
from streamreasoner.io.kafka.owners.presence import Presence
from streamreasoner.state.lock import StateLock

RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"


@pytest.fixture
def case(broker, tmp_path):
    """A case with topics."""
    return new_case(broker, tmp_path, RULES)


def findings(case):
    """The findings of the command by check, and its exit code."""
    result = CliRunner().invoke(app, ["doctor", "--json", "--config", str(case.file)])
    lines = map(json.loads, result.stdout.splitlines())
    return {each["check"]: (each["level"], each["message"]) for each in lines}, result.exit_code


def errors(found):
    """The checks that failed."""
    return [name for name, (level, _) in found.items() if level == "error"]


def test_a_pipeline_that_can_start_has_no_error(case):
    """Brokers, rights, topics, state and owners are looked at, and nothing is made."""
    before = sorted(case.directory.rglob("*"))
    found, code = findings(case)
    assert (errors(found), code) == ([], 0)
    assert found["topics"] == ("ok", "5 topics, set up for their roles")
    assert found["published"] == ("ok", "nothing yet")
    assert found["app_id"][1].endswith("not in use")
    assert {*found} >= {"versions", "java", "memory", "program", "disk", "state", "brokers"}
    assert {*case.directory.rglob("*")} - {*before} == {case.file}


def test_each_fault_is_a_finding_with_a_remedy(case, broker, tmp_path):
    """Missing topics, wrong settings, and messages of another application."""
    missing = new_case(broker, tmp_path / "missing", RULES, topics=False)
    found, code = findings(missing)
    assert (errors(found), code) == (["topics"], 1)
    assert "streamreasoner topics create --config FILE" in found["topics"][1]

    progress = case.kafka.progress_topic
    recreate(case, progress, configs={"cleanup.policy": "delete"})
    found, _ = findings(case)
    assert errors(found) == ["topics"]
    assert "cleanup.policy=compact" in found["topics"][1]
    recreate(case, progress)

    other = (fact("path", 1, 2, epoch=0), [("application", b"other")])
    produce(case, [other], case.kafka.output_topic)
    found, _ = findings(case)
    assert errors(found) == ["published"]
    assert "The application other publishes" in found["published"][1]


def test_a_running_process_is_seen_and_not_disturbed(case):
    """The owner of the state is not a fault; a process with another state directory is."""
    config = case.config
    lock = StateLock(config.state.directory)
    presence = Presence(config.kafka, config.pipeline.app_id, config.state.directory)
    try:
        presence.check()
        found, code = findings(case)
        assert (errors(found), code) == ([], 0)
        assert "in use by process" in found["state"][1]
        assert "not tried" in found["server"][1] or "none" in found["server"][1]
        raw = {**case.raw, "state": {"directory": "elsewhere"}}
        twin = type(case)(raw, case.directory)
        assert parse(raw, {}, case.directory).state.directory != config.state.directory
        found, code = findings(twin)
        assert (errors(found), code) == (["app_id"], 1)
        presence.check()
    finally:
        presence.close()
        lock.close()
