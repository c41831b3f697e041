"""Two processes with one application id: the one that is refused leaves the other one alone."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from itertools import pairwise

import pytest
from pipelines import await_published, changes, fact, net, new_case, produce, spawn

from streamreasoner.app import pipeline

# PySpark leaves it to the collector to close its sockets and the pipe to its JVM.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"


def twin(case, name):
    """The same configuration in another folder, with a state of its own."""
    directory = case.directory / name
    directory.mkdir()
    shutil.copy(case.directory / "rules.dl", directory)
    return replace(case, directory=directory)


def refusal(case):
    """What `streamreasoner run` says when it ends by itself."""
    process = spawn(["-m", "streamreasoner", "run", "--config", case.file], subprocess.PIPE)
    said, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    return (said + errors).decode()


def test_a_refused_twin_leaves_the_healthy_process_alone(broker, tmp_path):
    """Neither an empty nor a stale state fences the process that runs, and it publishes on."""
    case = new_case(broker, tmp_path, RULES)
    nodes = [f"<http://e/{number}>" for number in range(4)]
    edges = list(pairwise(nodes))
    with pipeline(case.config):
        await_published(case, produce(case, [fact("edge", *edges[0])]))
        stale = twin(case, "stale")
        # The lock and Spark's own files are not part of the state.
        for part in ("tables", "checkpoint"):
            shutil.copytree(case.directory / "state" / part, stale.directory / "state" / part)
        await_published(case, produce(case, [fact("edge", *edges[1])]))
        for other in (twin(case, "empty"), stale):
            assert "do not belong together" in refusal(other)
        another = replace(
            twin(case, "another"), raw={**case.raw, "pipeline": {"app_id": "another"}}
        )
        said = refusal(another)
        assert f"{case.config.pipeline.app_id} publishes to the topic" in said
        await_published(case, produce(case, [fact("edge", *edges[2])]))
    assert net(changes(case)) == {("path", edge) for edge in edges}
