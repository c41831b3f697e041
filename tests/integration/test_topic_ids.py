"""A topic that is deleted and created again is another topic, whatever its name and offsets."""

from __future__ import annotations

import uuid
from contextlib import ExitStack

import pytest
from kafka import KafkaAdminClient
from pipelines import await_published, changes, fact, net, new_case, produce, recreate

from streamreasoner.config.kafka import topic_keys
from streamreasoner.errors import StateError
from streamreasoner.io.kafka.topic_checks import admin_client
from streamreasoner.io.kafka.topic_ids import TopicIds
from streamreasoner.service.assemble import pipeline

# PySpark leaves it to the garbage collector to close its sockets and the pipe to its JVM.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"


@pytest.fixture
def case(broker, tmp_path):
    """A case with topics of all roles."""
    control = {"control_topic": f"control-{uuid.uuid4().hex[:12]}"}
    return new_case(broker, tmp_path, RULES, partitions=1, rules=control)


def topic_ids(case):
    """The ids of a case's topics, compared with a record in its folder."""
    config = case.config
    topics = admin_client(config.kafka), config.kafka, config.rules.control_topic
    return TopicIds(*topics, case.directory / "topics.json")


def begin(case):
    """The recorded topic ids of a state with epochs."""
    ids = topic_ids(case)
    ids.resume(begun=False)
    ids.record()
    return ids


def topic_of(case, key):
    """The topic that a configuration key names."""
    by_topic = dict(topic_keys(case.kafka, case.config.rules.control_topic))
    return next(name for name, role in by_topic.items() if role == key)


@pytest.mark.parametrize(
    "key",
    [
        "kafka.input_topics",
        "kafka.output_topic",
        "kafka.violations_topic",
        "kafka.progress_topic",
        "rules.control_topic",
    ],
)
def test_a_topic_that_was_created_again_is_refused(case, key):
    """At a start and between batches, the message names topic, key, both ids and the remedy."""
    running = begin(case)
    running.ask()()
    topic = topic_of(case, key)
    before = running.id(topic)
    recreate(case, topic)
    with pytest.raises(StateError, match="recreated") as at_a_batch:
        running.ask()()
    with pytest.raises(StateError) as at_a_start:
        topic_ids(case).resume(begun=True)
    new = topic_ids(case)
    new.resume(begun=False)
    for message in (str(at_a_batch.value), str(at_a_start.value)):
        assert f"The topic {topic} ({key}) with id {before} was deleted and recreated" in message
        assert f"with id {new.id(topic)}" in message
        assert "topics.json" in message
        assert "streamreasoner reset --config FILE" in message


def test_a_dead_letter_topic_may_be_created_again(case, caplog):
    """Nothing depends on its messages: the new id is logged and recorded."""
    running = begin(case)
    topic = case.kafka.dead_letter_topic
    before = running.id(topic)
    recreate(case, topic)
    running.ask()()
    new = topic_ids(case)
    new.resume(begun=True)
    new.record()
    assert before in caplog.text
    assert new.id(topic) in caplog.text
    caplog.clear()
    topic_ids(case).resume(begun=True)
    assert not caplog.records


def test_a_deleted_topic_is_told_apart(case):
    """Detected between two batches; at a start it is reported as missing."""
    running = begin(case)
    admin = KafkaAdminClient(bootstrap_servers=case.kafka.bootstrap_servers)
    admin.delete_topics([case.kafka.output_topic])
    admin.close()
    with pytest.raises(StateError, match=rf"{case.kafka.output_topic} .* was deleted\. Readers"):
        running.ask()()


@pytest.mark.parametrize("key", ["output_topic", "progress_topic"])
def test_a_state_stays_with_the_topics_it_publishes_to(case, key):
    """A different name is refused like a recreated topic."""
    begin(case)
    old = case.raw["kafka"].get(key, getattr(case.kafka, key))
    case.raw["kafka"] |= {
        "output_topic": case.kafka.output_topic,
        "progress_topic": case.kafka.progress_topic,
        "dead_letter_topic": case.kafka.dead_letter_topic,
    }
    case.raw["kafka"][key] = "elsewhere"
    with pytest.raises(StateError, match=rf"kafka\.{key} names elsewhere.*Set .* to {old}"):
        topic_ids(case).resume(begun=True)


@pytest.mark.parametrize("text", ["", "{", '{"kafka.output_topic": 3}', "\xff"])
def test_a_damaged_record_is_refused(case, text):
    """The message names the file and where to restore it from."""
    (case.directory / "topics.json").write_text(text, "latin-1")
    with pytest.raises(StateError, match=r"topics\.json cannot be read.*backup"):
        topic_ids(case).resume(begun=True)


def test_topics_that_are_added_belong_to_the_state_from_then_on(case):
    """A new input topic and a new control topic are recorded alongside the others."""
    begin(case)
    added = case.kafka.dead_letter_topic
    case.raw["kafka"] |= {
        "input_topics": [*case.kafka.input_topics, added],
        "dead_letter_topic": case.config.rules.control_topic,
    }
    del case.raw["rules"]["control_topic"]
    later = topic_ids(case)
    later.resume(begun=True)
    later.record()
    recreate(case, added)
    with pytest.raises(StateError, match=rf"{added} \(kafka\.input_topics\)"):
        topic_ids(case).resume(begun=True)


@pytest.mark.usefixtures("joined_jvm")
def test_a_running_pipeline_reads_new_partitions_and_refuses_a_new_topic(broker, tmp_path):
    """New partitions of a topic are read from the start; a recreated topic is not read."""
    case = new_case(broker, tmp_path, RULES, partitions=1)
    (topic,) = case.kafka.input_topics

    def edges(first, last):
        return [fact("edge", f"<http://e/{n}>", f"<http://e/{n + 1}>") for n in range(first, last)]

    recreated = rf"{topic} .* was deleted and recreated"
    with ExitStack() as stack:
        stack.enter_context(pytest.raises(StateError, match=recreated))
        started = stack.enter_context(pipeline(case.config))
        await_published(case, produce(case, edges(0, 20)))
        admin = KafkaAdminClient(bootstrap_servers=case.kafka.bootstrap_servers)
        admin.create_partitions({topic: 3})
        admin.close()
        sent = produce(case, edges(20, 40))
        assert {record.partition for record in sent} == {0, 1, 2}
        await_published(case, sent)

        recreate(case, topic, partitions=3)
        produce(case, edges(40, 240))
        started.query.wait()
    with pytest.raises(StateError, match=recreated), pipeline(case.config):
        pass
    assert len(net(changes(case))) == 40
