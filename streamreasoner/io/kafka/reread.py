"""Reads a batch that Spark cannot read, with another client. Invariant: the same messages.

Only one of the messages of a batch that is too large is held at a time, to count how many fit. And
Spark counts time in microseconds, and its Kafka source fails on a timestamp that does not fit. Such
a message would end the query at every restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pyarrow as pa
from confluent_kafka import KafkaError, TopicPartition

from streamreasoner.errors import BrokerError
from streamreasoner.io.kafka.clients import ANSWER_SECONDS, reader, unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confluent_kafka import Consumer, Message

    from streamreasoner.config.kafka import KafkaConfig
    from streamreasoner.io.codec.encode import Header
    from streamreasoner.state.record import Offsets

# What the client reads ahead.
_QUEUE_KIB = 16 * 1024
_SCHEMA = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("ms", "UTC"),
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    }
)


def reread(kafka: KafkaConfig, group: str, offsets: Offsets, *, if_there: bool = False) -> pa.Table:
    """The committed messages of a range of offsets, with the columns of `source.COLUMNS`.

    Args:
        kafka: Cluster and options.
        group: Consumer group id; nothing is committed.
        offsets: topic -> partition -> [first, next].
        if_there: Whether messages may have been deleted.

    Raises:
        BrokerError: Kafka does not answer or refuses.
    """
    messages = _read(kafka, group, offsets, if_there=if_there)
    return pa.Table.from_pylist([_row(each) for each in messages], _SCHEMA)


def fitting(kafka: KafkaConfig, group: str, offsets: Offsets, max_bytes: int) -> int | None:
    """How many messages of a range of offsets fit, at least 1; None if all do.

    Args:
        kafka: Cluster and options.
        group: Consumer group id; nothing is committed.
        offsets: topic -> partition -> [first, next].
        max_bytes: Bytes that their values may have.

    Raises:
        BrokerError: Kafka does not answer or refuses.
    """
    size = 0
    for number, message in enumerate(_read(kafka, group, offsets)):
        size += len(message)
        if size > max_bytes and number > 0:
            return number
    return None


def _read(
    kafka: KafkaConfig, group: str, offsets: Offsets, *, if_there: bool = False
) -> Iterator[Message]:
    """The messages, one by one."""
    queue = {"queued_max_messages_kbytes": _QUEUE_KIB, "fetch_max_bytes": _QUEUE_KIB * 1024}
    consumer = reader(kafka, group, auto_offset_reset="error", **queue)
    try:
        for topic, partitions in offsets.items():
            for partition, (first, after) in partitions.items():
                yield from _messages(
                    kafka, consumer, topic, int(partition), first, after, if_there=if_there
                )
    finally:
        consumer.close()


def _messages(  # noqa: PLR0917 - a partition and its range
    kafka: KafkaConfig,
    consumer: Consumer,
    topic: str,
    partition: int,
    first: int,
    after: int,
    *,
    if_there: bool,
) -> Iterator[Message]:
    if first == after:
        return
    consumer.assign([TopicPartition(topic, partition, first)])
    while True:
        message = consumer.poll(ANSWER_SECONDS)
        if message is None:
            raise unreachable(kafka, f"reading {topic}")
        error = message.error()
        if error is not None:
            # Transaction markers fill the rest of the range.
            if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                return
            if if_there and error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001
                return
            raise BrokerError(f"Cannot read the topic {topic}: {error.str()}.")
        offset = message.offset()
        assert offset is not None  # noqa: S101 - None only before sending
        if offset < after:
            yield message
        if offset >= after - 1:
            return


def _row(message: Message) -> dict[str, object]:
    _, timestamp = message.timestamp()
    headers = cast("list[Header] | None", message.headers())
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": timestamp,
        "key": message.key(),
        "value": message.value(),
        "headers": headers and [{"key": key, "value": value} for key, value in headers],
    }
