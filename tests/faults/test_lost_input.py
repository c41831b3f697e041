"""Input that is gone, or a wrong checkpoint: a start is refused, and publishes nothing."""

from __future__ import annotations

import re
import shutil
import threading

import pytest
from kafka import KafkaAdminClient, TopicPartition
from pipelines import DEADLINE_SECONDS, await_published, changes, fact, net, new_case, produce
from spark_jvm import MARKS

from streamreasoner.errors import StreamReasonerError
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"


def edges(first, last):
    """Messages of edges."""
    return [fact("edge", number, number + 1) for number in range(first, last)]


@pytest.fixture
def case(broker, tmp_path):
    """A pipeline that has read 20 messages and was stopped."""
    found = new_case(broker, tmp_path / "case", RULES, partitions=1)
    with pipeline(found.config):
        await_published(found, produce(found, edges(0, 20)))
    return found


def wait(query):
    """Wait until a query ends, or stop it at the deadline."""
    give_up = threading.Timer(DEADLINE_SECONDS, query.stop)
    give_up.start()
    try:
        query.wait()
    finally:
        give_up.cancel()


def refusal(case):
    """The message of a start that is refused, or of a pipeline that ends by itself."""
    before = changes(case)
    with pytest.raises(StreamReasonerError) as caught, pipeline(case.config) as started:
        wait(started.query)
    assert changes(case) == before
    return str(caught.value)


def test_what_is_lost_is_not_passed_over(case, broker, tmp_path):
    """Neither a new checkpoint nor another pipeline's continues the tables, nor later input."""
    other = new_case(broker, tmp_path / "other", RULES, partitions=1)
    with pipeline(other.config):
        await_published(other, produce(other, edges(0, 5)))
    own, kept = case.config.state.checkpoint_directory, tmp_path / "kept"
    shutil.move(own, kept)
    assert "do not belong together" in refusal(case)
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(other.config.state.checkpoint_directory, own)
    message = refusal(case)
    assert str(own) in message
    assert re.search("do not belong together|covers the offsets", message), message
    shutil.rmtree(own)
    shutil.move(kept, own)

    (topic,) = case.kafka.input_topics
    produce(case, edges(20, 40))
    admin = KafkaAdminClient(bootstrap_servers=case.kafka.bootstrap_servers)
    admin.delete_records({TopicPartition(topic, 0): 30})
    admin.close()
    message = refusal(case)
    assert topic in message
    assert "deleted before it was read" in message
    assert "retention.ms" in message
    assert len(net(changes(case))) == 20
