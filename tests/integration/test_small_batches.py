"""A batch of few messages is read in the driver, with what its DataFrame has."""

from __future__ import annotations

import logging
import random
import uuid
from functools import partial

import pyarrow as pa
import pytest
from graphs import RULES, expected, random_edges
from kafka import KafkaAdminClient, KafkaProducer
from pipelines import (
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
from spark_jvm import MARKS, spark_session

from streamreasoner.io.spark.internals.running_source import FEW, PlannedRows
from streamreasoner.io.spark.source import COLUMNS, read_stream
from streamreasoner.service import assemble

pytestmark = MARKS
# Rows of more bytes than Py4J sends at a time, of none, and of what may be missing.
VALUES = [b"", None, b"\x00\xff" * 3_000_000, b"x" * 4_000_000, *(b"%d" % i for i in range(20))]
KEYS = [None, b"", b"\xff"]
HEADERS = [[], [("a", b"1"), ("a", b"\xff"), ("\N{SNOWMAN}", b"")]]


def test_the_plan_has_what_the_dataframe_has(broker, tmp_path):
    """The same schema and rows: any bytes, keys, headers and times, of any partition.

    But for a batch of more bytes than may be collected, which is left to the DataFrame.
    """
    (tmp_path / "spark").mkdir()
    with spark_session(tmp_path / "spark") as spark:
        compare(broker, spark, tmp_path)


def compare(broker, spark, directory):
    """Read each batch from its plan and from its DataFrame."""
    topic, servers = f"in-{uuid.uuid4().hex}", broker.bootstrap_servers
    admin = KafkaAdminClient(bootstrap_servers=servers)
    configs = {"max.message.bytes": "16777216"}
    admin.create_topics(
        {topic: {"num_partitions": 3, "replication_factor": 1, "configs": configs}},
        wait_for_metadata=True,
    )
    admin.close()
    read, readers, refused, failed, started = [], [], [], [], []

    def is_read():
        return sum(len(table) for _, table in read) == len(VALUES)

    def on_batch(frame, epoch):
        del epoch
        rows, table = None, frame.toArrow()
        if started:
            planned = PlannedRows(spark, started[0])
            rows = planned.read()
            readers.append((rows, planned._readers))  # noqa: SLF001
            planned._most_bytes = 1  # noqa: SLF001 - a setting of the whole JVM
            refused.append(planned.read())
            failed.append(why_failed(planned))
            planned.close()
        read.append((rows, table))

    kafka = new_case(broker, directory, RULES, kafka={"input_topics": [topic]}, topics=False).kafka
    writer = read_stream(spark, kafka, {}, None, 10).writeStream.foreachBatch(on_batch)
    query = writer.option("checkpointLocation", f"file:{directory}/log").start()
    try:
        started.append(query)
        producer = KafkaProducer(
            bootstrap_servers=servers, max_request_size=2**24, enable_idempotence=True
        )
        sent = [
            producer.send(
                topic,
                value,
                KEYS[i % len(KEYS)],
                HEADERS[i % len(HEADERS)],
                partition=i % 3,
                timestamp_ms=i * 10**9,
            )
            for i, value in enumerate(VALUES)
        ]
        producer.close()
        assert all(future.succeeded() for future in sent)
        # `processAllAvailable` may return after the first of several batches, since Spark 4.2.
        eventually(lambda: is_read() or not query.isActive, expected=True)
        assert query.exception() is None
        assert is_read()
    finally:
        query.stop()
    for rows, threads in readers:
        # A batch of no messages may have no partition, and needs no thread.
        assert threads._connections or rows is None  # noqa: SLF001
        # One may begin when the others are closed.
        eventually(partial(is_open, threads), expected=False)
    compared = [(rows, table) for rows, table in read if rows is not None]
    assert compared
    assert all(rows is None for rows in refused)
    assert "memory is full" in failed
    assert {*failed} <= {"memory is full", None}
    for rows, table in compared:
        assert tuple(rows.column_names) == COLUMNS
        assert rows.schema.equals(table.schema, check_metadata=True)
        assert rows.equals(table)


def is_open(threads):
    """Whether a connection is left of threads that were closed."""
    return any(each.socket for each in threads._connections)  # noqa: SLF001


def why_failed(planned):
    """What reading raises if memory is full, and the end of the task then fails, too."""

    def full(_):
        raise MemoryError("memory is full")

    def leaking(reader, context, end=PlannedRows._end):  # noqa: SLF001
        end(reader, context)
        raise Py4JError("Memory was leaked by query.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pa.ipc, "open_stream", full)
        patch.setattr(PlannedRows, "_end", leaking)
        try:
            planned.read()
        except MemoryError as error:
            return str(error)
        except Py4JError:
            return None  # a partition without messages, whose end fails alone
    return None


def test_few_messages_are_read_in_the_driver(broker, tmp_path, caplog):
    """And many from the DataFrame; a Spark that gives no plan away has all from there."""
    caplog.set_level(logging.DEBUG, "streamreasoner.io.spark")

    def few():
        return sum("was read in the driver" in message for message in caplog.messages)

    edges = list(random_edges(random.Random(3), 2 * FEW + 20))
    case = new_case(broker, tmp_path, RULES)

    def send(part):
        await_published(case, produce(case, (triple(*args, diff=diff) for args, diff in part)))

    with pytest.MonkeyPatch.context() as patch, assemble.pipeline(case.config):
        # The first batch may begin before Spark has returned the query.
        send(edges[:5])
        before = few()
        send(edges[5:10])
        assert few() > before
        patch.setattr(PlannedRows, "read", unknown)
        before = few()
        send(edges[10:20])
        send(edges[20:])
        assert few() == before
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(edges)


def unknown(rows):
    """What a version of Spark that has no such method makes of a call."""
    return rows._execution.unknown()  # noqa: SLF001 - the object of Java
