"""A backlog is read ahead: each batch has the messages that Spark planned, and all is exact."""

from __future__ import annotations

import logging
import random
import threading
import uuid

import pytest
from graphs import RULES, expected, random_edges
from pipelines import (
    DEADLINE_SECONDS,
    await_published,
    changes,
    eventually,
    net,
    new_case,
    no_change_twice,
    produce,
    triple,
)
from py4j.protocol import Py4JError
from spark_jvm import MARKS

from streamreasoner.io.observer import PipelineObserver
from streamreasoner.io.spark.internals.running_source import JavaThreads
from streamreasoner.service import assemble

pytestmark = MARKS

LIMIT = 30
BACKLOG, BURST = 600, 400
BURST_EPOCH = 6


class Batches(PipelineObserver):
    """Records the messages of each batch, and calls a function while the next one is read."""

    def __init__(self, during=lambda _: None):
        self.rows, self.during = [], during

    def batch_started(self, epoch, rows):
        """Record the batch."""
        del epoch
        self.rows.append(rows)

    def stage(self, name, seconds):
        """Call the function with the epoch."""
        del seconds
        if name == "evaluate":
            self.during(len(self.rows) - 1)


@pytest.fixture
def case(broker, tmp_path):
    """Two topics of two partitions each, read in batches of equal size."""
    topics = [f"in-{uuid.uuid4().hex}" for _ in range(2)]
    return new_case(
        broker,
        tmp_path,
        RULES,
        kafka={"input_topics": topics},
        pipeline={"max_offsets_per_trigger": LIMIT},
    )


@pytest.fixture
def ahead(caplog):
    """How many batches were read ahead until now."""
    caplog.set_level(logging.DEBUG, "streamreasoner.io.spark")
    return lambda: sum("was read ahead" in message for message in caplog.messages)


def messages(edges):
    """Updates as messages."""
    return (triple(*args, diff=diff) for args, diff in edges)


def test_a_backlog_is_read_ahead(case, ahead):
    """All batches but the first and the last ones, with as many messages as they may have."""
    edges = list(random_edges(random.Random(1), BACKLOG))
    records = produce(case, messages(edges))
    batches = Batches()
    with assemble.pipeline(case.config, batches):
        await_published(case, records)
    assert sum(batches.rows) == BACKLOG
    assert max(batches.rows) <= LIMIT
    assert ahead() >= len(batches.rows) - 4
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(edges)


def test_a_backlog_that_grows_is_read_ahead(case, ahead, caplog):
    """What was read covers a plan that moves a little; of one that moves far, the rest is read."""
    rng = random.Random(2)
    first, other = case.kafka.input_topics
    edges = list(random_edges(rng, BACKLOG))
    records = produce(case, messages(edges))
    at_burst = []

    def during(epoch):
        is_burst = epoch == BURST_EPOCH
        more = list(random_edges(rng, BURST if is_burst else 1))
        # The share of a topic that was empty becomes half of the next batch.
        records.extend(produce(case, messages(more), other if is_burst else first))
        edges.extend(more)
        if is_burst:
            at_burst.append(ahead())

    batches = Batches(during)
    with assemble.pipeline(case.config, batches):
        await_published(case, records[:BACKLOG])
        await_published(case, records[:])
    assert max(batches.rows) <= LIMIT
    assert 0 < at_burst[0] < ahead()
    after = caplog.messages.index(f"Batch {BURST_EPOCH + 1} was read ahead.")
    assert "in addition" in caplog.messages[after - 1]
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(edges)


def test_threads_end_that_wait_for_java(spark):
    """Whether or not Java answers: a pipeline that fails must end, and Spark forgets some reads."""
    threads = JavaThreads(spark, 1, "waiting")
    queue = spark._jvm.java.util.concurrent.LinkedTransferQueue()  # noqa: SLF001 - PySpark exposes no other
    waiting = threads.submit(queue.take)
    eventually(queue.hasWaitingConsumer, expected=True)
    closing = threading.Thread(target=threads.close, daemon=True)
    closing.start()
    closing.join(DEADLINE_SECONDS)
    is_closed = not closing.is_alive()
    queue.put("an answer")
    assert is_closed
    assert isinstance(waiting.exception(DEADLINE_SECONDS), Py4JError)


@pytest.mark.parametrize("is_connected", [False, True])
def test_a_thread_that_begins_late_leaves_no_connection(spark, monkeypatch, is_connected):
    """One may begin when others have done its work: it is left nothing to do, and closed."""
    late, may_go_on = threading.Event(), threading.Event()
    connect = JavaThreads._connect  # noqa: SLF001 - the beginning of a thread

    def hold(result=None):
        late.set()
        assert may_go_on.wait(DEADLINE_SECONDS)
        return result

    class Connecting:
        """Holds a thread that is connected, before the thread knows of its connection."""

        _gateway_client = property(lambda _: hold(spark._jvm._gateway_client))  # noqa: SLF001
        java = spark._jvm.java  # noqa: SLF001

    def begin(threads):
        if is_connected:
            threads._jvm = Connecting()  # noqa: SLF001
        else:
            hold()
        connect(threads)

    monkeypatch.setattr(JavaThreads, "_connect", begin)
    threads = JavaThreads(spark, 1, "late")
    threads.submit(int)
    assert late.wait(DEADLINE_SECONDS)
    threads.close()
    may_go_on.set()
    threads.shutdown(wait=True)
    connections = threads._connections  # noqa: SLF001
    assert len(connections) == is_connected
    assert not any(each.socket for each in connections)
