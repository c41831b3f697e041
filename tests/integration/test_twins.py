"""Two processes with one application id: the refused one does not disturb the other."""

from __future__ import annotations

import os
import shutil
import subprocess
import textwrap
from contextlib import closing
from dataclasses import replace
from itertools import pairwise, repeat

import pytest
from pipelines import await_published, changes, fact, net, new_case, produce, spawn
from spark_jvm import joined

from streamreasoner.errors import BrokerError
from streamreasoner.io.codec.encode import Outgoing
from streamreasoner.io.kafka.owners.presence import Presence
from streamreasoner.io.kafka.sink import Publication, Sink
from streamreasoner.service.assemble import pipeline
from streamreasoner.state.lock import StateLock
from streamreasoner.state.record import EpochRecord

# PySpark leaves it to the garbage collector to close its sockets and the pipe to its JVM.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"


def twin(case, name):
    """The same configuration in another folder, with a state of its own."""
    directory = case.directory / name
    directory.mkdir()
    shutil.copy(case.directory / "rules.dl", directory)
    return replace(case, directory=directory)


def refusals(shared, *cases):
    """The outputs of `streamreasoner run`, side by side, each of which exits by itself.

    None joins the shared JVM, which has the context of the healthy process.
    """
    command = "-m", "streamreasoner", "run", "--config"
    with pytest.MonkeyPatch.context() as apart:
        for name in shared:
            apart.delenv(name)
        processes = [spawn([*command, case.file], subprocess.PIPE) for case in cases]
    outputs = [process.communicate(timeout=300) for process in processes]
    assert {process.returncode for process in processes} == {1}
    return [(output + errors).decode() for output, errors in outputs]


def test_a_refused_twin_leaves_the_healthy_process_alone(broker, spark_environment, tmp_path):
    """A process with an empty or stale state does not fence the running one."""
    case = new_case(broker, tmp_path, RULES)
    nodes = [f"<http://e/{number}>" for number in range(4)]
    edges = list(pairwise(nodes))
    with joined(spark_environment), pipeline(case.config):
        await_published(case, produce(case, [fact("edge", *edges[0])]))
        stale = twin(case, "stale")
        # The lock and Spark's own files are not part of the state.
        for part in ("tables", "checkpoint"):
            shutil.copytree(case.directory / "state" / part, stale.directory / "state" / part)
        await_published(case, produce(case, [fact("edge", *edges[1])]))
        another = replace(
            twin(case, "another"), raw={**case.raw, "pipeline": {"app_id": "another"}}
        )
        [message] = refusals(spark_environment, another)
        assert f"{case.config.pipeline.app_id} publishes to the topic" in message
        current = twin(case, "current")
        for part in ("tables", "checkpoint", "topics.json", "app-id"):
            copy = shutil.copytree if (case.directory / "state" / part).is_dir() else shutil.copy
            copy(case.directory / "state" / part, current.directory / "state" / part)
        elsewhere = new_case(
            broker, case.directory / "elsewhere", RULES, pipeline=case.raw["pipeline"]
        )
        refused = twin(case, "empty"), stale, current, elsewhere
        for message in refusals(spark_environment, *refused):
            assert "is in use by " in message
            assert f"process {os.getpid()} on the machine" in message
            assert str(case.config.state.directory) in message
        await_published(case, produce(case, [fact("edge", *edges[2])]))
    assert net(changes(case)) == {("path", edge) for edge in edges}


def test_an_owner_that_was_killed_blocks_no_start(broker, tmp_path):
    """Its own state starts at once, and that of another machine when Kafka counts it out."""
    case = new_case(broker, tmp_path, RULES)
    (case.config.state.directory).mkdir()
    lock = StateLock(case.config.state.directory)
    code = """
        import sys, time
        from pathlib import Path
        from streamreasoner.config import load
        from streamreasoner.io.kafka.owners.presence import Presence
        config = load(Path(sys.argv[1]))
        Presence(config.kafka, config.pipeline.app_id, config.state.directory).check()
        print("present", flush=True)
        time.sleep(600)
    """
    killed = spawn(["-c", textwrap.dedent(code), case.file], subprocess.PIPE)
    assert killed.stdout.readline() == b"present\n"
    killed.kill()
    killed.communicate()
    presence = Presence(case.kafka, case.config.pipeline.app_id, case.config.state.directory)
    presence.check()
    assert presence.rivals().startswith("another process")
    presence.close()
    lock.close()
    other = twin(case, "other").config
    other.state.directory.mkdir()
    StateLock(other.state.directory).close()
    presence = Presence(other.kafka, other.pipeline.app_id, other.state.directory)
    presence.check()
    presence.close()


def test_a_fenced_process_says_who_took_over(broker, tmp_path):
    """Its error names the other process, not what the client says of dropped messages."""
    case = new_case(broker, tmp_path, RULES)
    app_id, markers = case.config.pipeline.app_id, (EpochRecord(n, {}, "hash") for n in (0, 1))
    with closing(Sink(case.kafka, app_id, 60, rivals=lambda: "process 7")) as first:
        first.start()
        first.publish(Publication([], [], next(markers)))
        with closing(Sink(case.kafka, app_id, 60)) as second:
            second.start()
        many = Outgoing([b"key"] * 1000, [b"{}"] * 1000, [], 1000)
        with pytest.raises(
            BrokerError, match=rf"app_id {app_id} was taken by process 7\. Only one"
        ):
            first.publish(Publication([many], [], next(markers)))


def test_a_process_that_is_fenced_while_it_publishes_says_so(broker, tmp_path):
    """Whether the client reports that it is fenced with a message, or refuses the next one."""
    case = new_case(broker, tmp_path, RULES)
    app_id, markers = case.config.pipeline.app_id, (EpochRecord(n, {}, "hash") for n in (0, 1))

    def changes():
        """Changes without end, so that some come after the client knows."""
        yield Outgoing([b"key"], [b"{}"], [], 1)
        with closing(Sink(case.kafka, app_id, 60)) as second:
            second.start()
        yield from repeat(Outgoing([b"key"], [b"{}"], [], 1))

    with closing(Sink(case.kafka, app_id, 60, rivals=lambda: "process 7")) as first:
        first.start()
        first.publish(Publication([], [], next(markers)))
        with pytest.raises(
            BrokerError, match=rf"app_id {app_id} was taken by process 7\. Only one"
        ):
            first.publish(Publication(changes(), [], next(markers)))
