"""`topics delete` and `reset`: a stopped pipeline is taken back to its beginning, a running not."""

from __future__ import annotations

import shutil
import uuid

import pytest
from pipelines import await_published, changes, committed, fact, net, new_case, produce
from spark_jvm import MARKS
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.errors import StateError
from streamreasoner.io.kafka.deletion import _as_it_is, existing
from streamreasoner.io.kafka.offsets.positions import last_published
from streamreasoner.io.kafka.topic_checks import admin_client
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"
PATHS = {("path", ('"a"', f'"{n}"')) for n in range(3)}


def command(case, *words, answer=None):
    """What a command prints, or the message with which it is refused."""
    result = CliRunner().invoke(app, [*words, "--config", str(case.file)], input=answer)
    if result.exit_code == 0:
        return result.stdout
    assert result.exception is not None
    return f"error: {result.exception}"


def topics_of(case):
    """The topics of the pipeline that exist."""
    config = case.config
    kafka, control = config.kafka, config.rules.control_topic
    names = [*kafka.input_topics, kafka.output_topic, kafka.violations_topic]
    return {*existing(kafka, [*names, kafka.dead_letter_topic, kafka.progress_topic, control])}


def described(case, topic):
    """The number of partitions of a topic, and the settings that are its own."""
    made = _as_it_is(case.kafka, admin_client(case.kafka), topic)
    return made.num_partitions, made.config


@pytest.fixture
def case(broker, tmp_path):
    """A case with topics of all roles, which shares its progress topic with another one."""
    name = uuid.uuid4().hex[:12]
    kafka = {"progress_topic": f"progress-{name}"}
    return new_case(
        broker,
        tmp_path,
        RULES,
        partitions=3,
        rules={"control_topic": f"control-{name}"},
        kafka=kafka,
    )


def test_a_reset_pipeline_starts_from_nothing(case):
    """It derives everything again, once; while a process runs, nothing is deleted."""
    sent = produce(case, [fact("edge", '"a"', f'"{n}"') for n in range(3)])
    other = case.directory / "state" / "notes.txt"
    with pipeline(case.config):
        await_published(case, sent)
        for words in (["reset", "--yes"], ["topics", "delete", "--yes"]):
            refusal = command(case, *words)
            assert refusal.startswith("error: ")
            assert "is in use by process" in refusal
    other.write_text("not a part of the state")
    assert net(changes(case)) == PATHS

    assert "Nothing is deleted" in command(case, "reset", answer="n\n")
    assert "--yes" in command(case, "reset", answer="")
    assert net(changes(case)) == PATHS

    before = described(case, case.kafka.output_topic)
    assert before[0] == 3
    assert before[1]["message.timestamp.type"] == "LogAppendTime"
    printed = command(case, "reset", answer="y\n")
    assert "earliest offsets" in printed
    assert case.kafka.input_topics[0] in printed
    assert {path.name for path in other.parent.iterdir()} == {"lock", "notes.txt"}
    assert changes(case) == []
    assert described(case, case.kafka.output_topic) == before
    assert last_published(case.kafka, case.config.pipeline.app_id) == -1
    # A second time there is nothing to delete, which is not a mistake.
    assert "was empty" in command(case, "reset", "--yes")

    with pipeline(case.config):
        await_published(case, sent)
    assert net(changes(case)) == PATHS
    assert len(changes(case)) == len(PATHS)

    # A state that was deleted by hand leaves what is published, with which a start is refused.
    shutil.rmtree(other.parent)
    with pytest.raises(StateError, match="streamreasoner reset"), pipeline(case.config):
        pass
    command(case, "reset", "--yes")
    assert changes(case) == []


def test_topics_are_deleted_but_for_the_input(case):
    """An input topic goes if it is named; a progress topic stays while others are on it."""
    config = case.config
    kafka = config.kafka
    assert topics_of(case) == {
        *kafka.input_topics,
        kafka.output_topic,
        kafka.violations_topic,
        kafka.dead_letter_topic,
        kafka.progress_topic,
        config.rules.control_topic,
    }
    assert "not in" in command(case, "topics", "delete", "elsewhere", "--yes")
    assert "Nothing is deleted" in command(case, "topics", "delete", answer="no\n")

    produce(case, [(b"{}", None, b"another-app")], kafka.progress_topic)
    refusal = command(case, "topics", "delete", "--yes")
    assert "the records of another-app" in refusal
    assert len(topics_of(case)) == 6
    produce(case, [(None, None, b"another-app")], kafka.progress_topic)

    printed = command(case, "topics", "delete", answer="y\n")
    assert f"{kafka.output_topic} (kafka.output_topic)" in printed
    assert f"{kafka.output_topic}: deleted" in printed
    assert topics_of(case) == {*kafka.input_topics}
    printed = command(case, "topics", "delete", *kafka.input_topics, kafka.output_topic, "--yes")
    assert f"{kafka.input_topics[0]}: deleted" in printed
    assert f"{kafka.output_topic}: does not exist" in printed
    assert topics_of(case) == set()
    # Without topics a reset deletes the state, and nothing fails.
    assert "was empty" in command(case, "reset", "--yes")


def test_a_reset_leaves_the_records_of_other_applications(case):
    """Only the keys of the application go from a shared progress topic."""
    kafka, own = case.kafka, case.config.pipeline.app_id
    claim = f"claim:{kafka.output_topic}:{own}"
    value = f'{{"topic":"{kafka.output_topic}","topic_id":"x","app_id":"{own}"}}'
    produce(
        case,
        [
            (b"{}", None, b"another-app"),
            (value.encode(), None, claim.encode()),
            (b"{}", None, own.encode()),
        ],
        kafka.progress_topic,
    )
    command(case, "reset", "--yes")
    last = {record.key.decode(): record.value for record in committed(case, kafka.progress_topic)}
    assert last == {"another-app": b"{}", claim: None, own: None}
