"""Read topics from their beginning, committed messages only.

Invariant: `read_all` ends at the last stable offset at the time of the call, so it misses no
message of a committed transaction and returns none of an open one.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from streamreasoner.demo.tally import Change
from streamreasoner.errors import BrokerError
from streamreasoner.io.formats.json import decode_change
from streamreasoner.io.kafka.clients import kafka_python

if TYPE_CHECKING:
    import threading
    from collections.abc import Generator, Iterator

    from streamreasoner.config import KafkaConfig
    from streamreasoner.demo.tally import Tally

_POLL_SECONDS = 0.2
_TIMEOUT_SECONDS = 120.0


def follow(kafka: KafkaConfig, topic: str, tally: Tally, stop: threading.Event) -> None:
    """Pass changes to the tally as they are committed, until *stop* is set.

    Raises:
        BrokerError: Kafka does not respond.
    """
    with _consumer(kafka, topic) as consumer:
        while not stop.is_set():
            if changes := _poll(consumer):
                tally.received(changes)


def read_all(kafka: KafkaConfig, topic: str) -> Generator[Change, None, None]:
    """Every committed message of a topic, from its beginning to its current end.

    Raises:
        BrokerError: Kafka does not respond in time.
    """
    with _consumer(kafka, topic) as consumer:
        ends = consumer.end_offsets(list(consumer.assignment()))
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            if time.monotonic() > deadline:
                raise BrokerError(
                    f"Kafka did not deliver all of {topic} within {_TIMEOUT_SECONDS:g} s."
                )
            yield from _poll(consumer)


@contextmanager
def _consumer(kafka: KafkaConfig, topic: str) -> Iterator[Any]:
    try:
        consumer = KafkaConsumer(
            **kafka_python(kafka), isolation_level="read_committed", enable_auto_commit=False
        )
    except KafkaError as error:
        raise BrokerError(f"Kafka cannot be read from: {error}.") from None
    try:
        numbers = sorted(consumer.partitions_for_topic(topic) or ())
        partitions = [TopicPartition(topic, number) for number in numbers]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        yield consumer
    except KafkaError as error:
        raise BrokerError(f"Kafka cannot be read from: {error}.") from None
    finally:
        consumer.close()


def _poll(consumer: Any) -> list[Change]:
    batches = consumer.poll(timeout_ms=int(_POLL_SECONDS * 1000), max_records=10_000)
    return [_change(record.value) for batch in batches.values() for record in batch]


def _change(value: bytes) -> Change:
    message = decode_change(value)
    return Change((message.s, message.p, message.o), message.diff, message.epoch)
