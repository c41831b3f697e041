"""Two processes with one application id: the refused one does not disturb the other."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from itertools import pairwise

import pytest
from pipelines import await_published, changes, fact, net, new_case, produce, spawn

from streamreasoner.app import pipeline

# PySpark leaves it to the garbage collector to close its sockets and the pipe to its JVM.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"


def twin(case, name):
    """The same configuration in another folder, with a state of its own."""
    directory = case.directory / name
    directory.mkdir()
    shutil.copy(case.directory / "rules.dl", directory)
    return replace(case, directory=directory)


def refusal(case):
    """The output of `streamreasoner run` when it exits by itself."""
    process = spawn(["-m", "streamreasoner", "run", "--config", case.file], subprocess.PIPE)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    return (output + errors).decode()


def test_a_refused_twin_leaves_the_healthy_process_alone(broker, tmp_path):
    """A process with an empty or stale state does not fence the running one."""
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
        message = refusal(another)
        assert f"{case.config.pipeline.app_id} publishes to the topic" in message
        await_published(case, produce(case, [fact("edge", *edges[2])]))
    assert net(changes(case)) == {("path", edge) for edge in edges}
