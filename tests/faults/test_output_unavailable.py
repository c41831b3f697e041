"""Kafka goes away, or takes the output slowly: a pipeline waits, and publishes each epoch once."""

from __future__ import annotations

import gc
import logging
import random
import threading
from contextlib import contextmanager

import pytest
from graphs import RULES, expected, random_edges
from pipelines import (
    DEADLINE_SECONDS,
    await_published,
    changes,
    fact,
    net,
    new_case,
    no_change_twice,
    produce,
    triple,
)
from quotas import slow_output
from spark_jvm import MARKS
from thorough import THOROUGH

from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.observer import PipelineObserver
from streamreasoner.service import assemble

# Clients of kafka-python drop a connection that a killed broker leaves half open, and do not close
# its socket.
pytestmark = [*MARKS, pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]

OUTAGE = 60 if THOROUGH else 0
"""Seconds that the broker stays away after the pipeline has noticed it."""


@pytest.fixture(autouse=True)
def _no_open_sockets():
    """Collect dropped sockets here, so that no later test is blamed for them."""
    yield
    gc.collect()


class Waits(PipelineObserver):
    """Records waits, and runs something once when an epoch is stored."""

    def __init__(self):
        self.began, self.ended = threading.Event(), threading.Event()
        self.reasons = []
        self.at_store = None

    def stage(self, name, seconds):
        """Run it before the epoch is published."""
        del seconds
        if name == "store" and self.at_store is not None:
            action, self.at_store = self.at_store, None
            action()

    def waiting(self, reason):
        """Record a wait."""
        self.reasons.append(reason)
        (self.ended if reason is None else self.began).set()


@contextmanager
def running(case):
    """A pipeline in this process, and what it observes."""
    waits = Waits()
    with assemble.pipeline(case.config, waits):
        yield waits


def random_input(case, seed, count=100):
    """Produce random edges in one message, so one epoch has all; returns them and its record."""
    edges = list(random_edges(random.Random(seed), count))
    updates = b",".join(triple(*args, diff=diff) for args, diff in edges)
    return edges, produce(case, [b"[%b]" % updates])


def test_the_broker_is_away_when_an_epoch_is_published(tmp_path, caplog):
    """Killed with an epoch stored, and back when its transaction is old: it is published once."""
    with Broker(tmp_path / "kafka") as broker:
        case = new_case(broker, tmp_path / "case", RULES, pipeline={"transaction_timeout": 2})
        with running(case) as waits, caplog.at_level(logging.WARNING):
            sent, records = random_input(case, 1)
            await_published(case, records)
            waits.at_store = broker.kill
            more, records = random_input(case, 2)
            assert waits.began.wait(DEADLINE_SECONDS)
            threading.Event().wait(OUTAGE)
            broker.start()
            assert waits.ended.wait(DEADLINE_SECONDS)
            await_published(case, records)
            last, records = random_input(case, 3)
            await_published(case, records)
        output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected([*sent, *more, *last])
    reason, end = waits.reasons
    assert "publish epoch" in reason
    assert end is None
    messages = [record.getMessage() for record in caplog.records]
    assert sum(message.startswith("Waiting for Kafka.") for message in messages) == 1
    assert sum(message.startswith("Kafka is back") for message in messages) == 1


@pytest.mark.skipif(not THOROUGH, reason="waits for minutes")
def test_the_broker_is_away_between_two_batches(tmp_path):
    """Spark asks for input until the broker is back, for longer than Kafka's default timeout."""
    with Broker(tmp_path / "kafka") as broker:
        case = new_case(broker, tmp_path / "case", RULES)
        with running(case):
            sent, records = random_input(case, 1)
            await_published(case, records)
            broker.kill()
            threading.Event().wait(90)
            broker.start()
            more, records = random_input(case, 2)
            await_published(case, records)
        output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected([*sent, *more])


@pytest.mark.skipif(not THOROUGH, reason="waits for minutes")
def test_an_epoch_takes_longer_than_its_transaction(tmp_path):
    """A quota makes the output slow: later attempts have more time, and one publishes the epoch."""
    with Broker(tmp_path / "kafka") as broker:
        case = new_case(
            broker, tmp_path / "case", "seen(?x) :- at(?x) .", pipeline={"transaction_timeout": 2}
        )
        with running(case) as waits, slow_output(broker, 100_000):
            names = [f"<urn:{number}:{'x' * 1000}>" for number in range(2_000)]
            records = produce(case, (fact("at", name) for name in names))
            await_published(case, records)
            assert waits.began.is_set()
        output = changes(case)
    assert no_change_twice(output)
    assert net(output) == {("seen", (name,)) for name in names}
