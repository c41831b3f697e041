"""Kafka client of the command line. Invariant: an existing topic is never changed."""

from __future__ import annotations

import logging
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError, TopicAlreadyExistsError

from streamreasoner.config.kafka import topic_keys
from streamreasoner.errors import BrokerError
from streamreasoner.io.codec.encode import Received
from streamreasoner.io.kafka.access.python_client import kafka_python
from streamreasoner.io.kafka.access.rights import (
    CREATE,
    DESCRIBE,
    READ,
    WRITE,
    Right,
    denied,
    on_topic,
)
from streamreasoner.io.kafka.access.roles import Role
from streamreasoner.io.kafka.access.topic_needs import needs
from streamreasoner.io.kafka.clients import ANSWER_SECONDS, unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from streamreasoner.config.kafka import KafkaConfig
    from streamreasoner.io.codec.encode import Message

_POLL_MILLISECONDS = 200
_READ_SECONDS = 120.0
# kafka-python logs every lost connection; real failures raise exceptions.
logging.getLogger("kafka").setLevel(logging.CRITICAL)


def create_topics(
    kafka: KafkaConfig,
    partitions: int,
    replication: int,
    control_topic: str | None = None,
    *,
    upsert: bool = False,
) -> dict[str, bool]:
    """Create the missing topics of a pipeline; maps each topic to whether it was created.

    Args:
        kafka: Cluster and names.
        partitions: Of the topics of input, output and violations; the others have one.
        replication: Copies of each topic.
        control_topic: Topic of control messages, None if there is none.
        upsert: Whether the output topic holds facts under keys, and is compacted.

    Raises:
        BrokerError: Kafka does not answer or refuses.
    """
    of_key = needs(upsert=upsert)
    created: dict[str, bool] = {}
    with _explain_unreachable(kafka):
        admin = KafkaAdminClient(**_bounded(kafka))
    try:
        for name, key in topic_keys(kafka, control_topic):
            topic = {
                "num_partitions": partitions if of_key[key].many else 1,
                "replication_factor": replication,
                "configs": of_key[key].settings,
            }
            try:
                admin.create_topics({name: topic}, wait_for_metadata=True)
                created[name] = True
            except TopicAlreadyExistsError:
                created[name] = False
            except KafkaError as error:
                rights = on_topic(CREATE, name), on_topic(DESCRIBE, name)
                raise refused_command(kafka, error, rights, Role.TOPICS) or BrokerError(
                    f"Kafka refuses to create the topic {name}: {_reason(error)}"
                ) from None
    finally:
        admin.close()
    return created


def produce(
    kafka: KafkaConfig,
    topic: str,
    messages: Iterable[Message],
    acknowledged: Callable[[int, int], None] | None = None,
) -> Iterator[int]:
    """Send messages; yields the number sent so far; all are delivered at the end.

    Args:
        kafka: The cluster.
        topic: The topic.
        messages: Sent at most 20 ms after they are taken.
        acknowledged: Called with the partition and the offset of each that is delivered, on the
            thread of Kafka's client.

    Raises:
        BrokerError: Kafka does not answer, lacks the topic or refuses a message.
    """
    with _producer(kafka, topic) as producer:
        last = None
        for count, message in enumerate(messages, start=1):
            last = producer.send(topic, message.value, message.key, message.headers)
            if acknowledged is not None:
                last.add_callback(lambda sent: acknowledged(sent.partition, sent.offset))
            if last.failed():
                break
            yield count
        producer.flush()
        if last is not None:
            last.get(ANSWER_SECONDS)


def produce_one(kafka: KafkaConfig, topic: str, value: bytes) -> int:
    """Send one message to a topic of one partition; returns its offset.

    Raises:
        BrokerError: Kafka does not answer, lacks the topic or refuses the message.
    """
    with _producer(kafka, topic) as producer:
        offset: int = producer.send(topic, value=value).get(ANSWER_SECONDS).offset
        return offset


def send_to_partition(kafka: KafkaConfig, topic: str, partition: int, message: Message) -> int:
    """Send one message to a partition; returns its offset.

    Raises:
        BrokerError: Kafka does not answer, lacks the topic or refuses the message.
    """
    with _producer(kafka, topic) as producer:
        sent = producer.send(
            topic,
            key=message.key,
            value=message.value,
            headers=message.headers,
            partition=partition,
        )
        offset: int = sent.get(ANSWER_SECONDS).offset
        return offset


@contextmanager
def _producer(kafka: KafkaConfig, topic: str) -> Iterator[KafkaProducer]:
    with _explain_unreachable(kafka):
        producer = KafkaProducer(
            **kafka_python(kafka),
            linger_ms=20,
            batch_size=131_072,
            acks="all",
            max_block_ms=int(ANSWER_SECONDS * 1000),
        )
    try:
        try:
            producer.partitions_for(topic)
        except KafkaTimeoutError:
            raise no_topic(kafka, topic) from None
        yield producer
    except KafkaError as error:
        rights = [on_topic(WRITE, topic)]
        raise refused_command(kafka, error, rights, Role.PRODUCE) or BrokerError(
            f"Kafka refused a message for {topic}: {_reason(error)}"
        ) from None
    finally:
        producer.close()


def consume(
    kafka: KafkaConfig,
    topic: str,
    *,
    from_beginning: bool = False,
    offsets: Mapping[int, int] | None = None,
) -> Generator[list[Received], None, None]:
    """Committed messages of a topic, without end; empty lists while none come.

    Args:
        kafka: The cluster.
        topic: The topic.
        from_beginning: Whether to start at the oldest message, not at the end.
        offsets: Where to start in each partition; others are new, and start at their beginning.

    Raises:
        BrokerError: Kafka does not answer, lacks the topic or the messages from these offsets on.
    """
    beginning = from_beginning or offsets is not None
    with consumer_of(kafka, topic, Role.CONSUME, from_beginning=beginning) as consumer:
        if offsets is not None:
            _seek(consumer, topic, offsets)
        while True:
            yield _poll(consumer)


def read_all(
    kafka: KafkaConfig, topic: str, role: Role = Role.CONSUME
) -> Generator[Received, None, None]:
    """The messages of a topic, of committed transactions before the first open one.

    Raises:
        BrokerError: Kafka does not answer in time or lacks the topic.
    """
    with consumer_of(kafka, topic, role, from_beginning=True) as consumer:
        # To this client, a topic ends at the last stable offset.
        ends = consumer.end_offsets(list(consumer.assignment()))
        deadline = time.monotonic() + _READ_SECONDS
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            if time.monotonic() > deadline:
                raise BrokerError(
                    f"Kafka did not deliver all of {topic} within {_READ_SECONDS:g} s."
                )
            yield from _poll(consumer)


@contextmanager
def consumer_of(
    kafka: KafkaConfig,
    topic: str,
    role: Role,
    *,
    from_beginning: bool,
    **settings: object,
) -> Iterator[KafkaConsumer]:
    """A consumer of all partitions of a topic, without a group.

    Args:
        kafka: The cluster.
        topic: The topic.
        role: The role that reads it.
        from_beginning: Whether it begins at the oldest message, not at the end.
        settings: More settings of the consumer; it is `read_committed` without them.

    Raises:
        BrokerError: Kafka does not answer, lacks the topic, or refuses.
    """
    with _explain_unreachable(kafka):
        consumer = KafkaConsumer(
            **{**kafka_python(kafka), "isolation_level": "read_committed", **settings},
            enable_auto_commit=False,
            auto_offset_reset="earliest" if from_beginning else "latest",
        )
    try:
        numbers = consumer.partitions_for_topic(topic)
        if not numbers:
            raise no_topic(kafka, topic, on_topic(READ, topic))
        partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
        consumer.assign(partitions)
        if from_beginning:
            consumer.seek_to_beginning(*partitions)
        yield consumer
    except KafkaError as error:
        rights = [on_topic(READ, topic)]
        raise refused_command(kafka, error, rights, role) or BrokerError(
            f"Cannot read from Kafka: {_reason(error)}"
        ) from None
    finally:
        consumer.close()


def _seek(consumer: KafkaConsumer, topic: str, offsets: Mapping[int, int]) -> None:
    """Start at offsets, whose messages the topic must have."""
    partitions = sorted(consumer.assignment())
    first, last = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    gone = sorted(offsets.keys() - {each.partition for each in partitions})
    problems = [f"partition {number} does not exist" for number in gone]
    for each in partitions:
        offset = offsets.get(each.partition, 0)
        if first[each] <= offset <= last[each]:
            consumer.seek(each, offset)
        else:
            problems.append(
                f"offset {offset} of partition {each.partition} is not one of {first[each]} to "
                f"{last[each]}"
            )
    if problems:
        raise BrokerError(
            f"The topic {topic} cannot be read from these offsets on: {'; '.join(problems)}. "
            "Messages were deleted, or the topic was created again. Take a new snapshot: "
            "streamreasoner snapshot --config FILE."
        )


def _poll(consumer: KafkaConsumer) -> list[Received]:
    batches = consumer.poll(timeout_ms=_POLL_MILLISECONDS)
    return [
        Received(
            message.value,
            message.key,
            message.headers,
            message.topic,
            message.partition,
            message.offset,
            message.timestamp,
        )
        for batch in batches.values()
        for message in batch
    ]


def _reason(error: KafkaError) -> str:
    """The message of the broker or client, without the request it refers to."""
    text = str(error)
    match = re.search(r"error_message='([^']*)'", text)
    return match[1] if match else f"{text.rstrip('.')}."


def refused_command(
    kafka: KafkaConfig, error: KafkaError, rights: Iterable[Right], role: Role
) -> BrokerError | None:
    """The error as missing rights if that is the cause, else None.

    A right that is missing may be hidden in the text of another error.
    """
    text = f"{type(error).__name__} {error}"
    found = "AuthorizationFailed" in text or "Authorization failed" in text
    return denied(kafka, rights, role) if found else None


def no_topic(kafka: KafkaConfig, topic: str, right: Right | None = None) -> BrokerError:
    """The error for a topic that does not exist, or that Kafka hides for lack of a right."""
    hidden = "" if right is None else f" If it exists, grant this user {right}."
    return BrokerError(
        f"Kafka at {kafka.bootstrap_servers} has no topic {topic}. "
        f"Create with: streamreasoner topics create --config FILE.{hidden}"
    )


@contextmanager
def _explain_unreachable(kafka: KafkaConfig) -> Iterator[None]:
    try:
        yield
    except KafkaError as error:
        raise unreachable(kafka, error) from None


def _bounded(kafka: KafkaConfig) -> dict[str, object]:
    return {**kafka_python(kafka), "request_timeout_ms": int(ANSWER_SECONDS * 1000)}
