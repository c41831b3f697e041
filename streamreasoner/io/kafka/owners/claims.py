"""Claims: which application publishes to a topic of output or violations.

Two applications on one topic would publish every fact twice. So an application claims its
topics before its first epoch, in two places: each change carries the application id in a
header, which outlives the progress topic, and the progress topic holds a record, which outlives
the changes when their retention ends.

Invariant: an application that publishes to a topic holds the oldest claim to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from streamreasoner.config.kafka import PUBLISHED, TopicKey, topic_keys
from streamreasoner.errors import StateError
from streamreasoner.io.kafka.access.rights import READ, on_groups, on_topic
from streamreasoner.io.kafka.clients import (
    ANSWER_SECONDS,
    no_answer,
    reader,
    unreachable,
    unreadable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from confluent_kafka import Consumer, Message

    from streamreasoner.config.kafka import KafkaConfig
    from streamreasoner.io.kafka.access.rights import Right

HEADER = "application"
_PREFIX = b"claim:"
# Transaction markers take offsets too, so the last change is a few offsets before the end.
_NEAR_THE_END = 50


class Claim(msgspec.Struct, frozen=True):
    """A record on the progress topic: this application publishes to this topic.

    Attributes:
        topic: A topic of output or violations.
        topic_id: Its id; a claim to a topic that was deleted is void.
        app_id: The application.
    """

    topic: str
    topic_id: str
    app_id: str

    @property
    def key(self) -> bytes:
        """Key of the record: compaction keeps the claims of all applications."""
        return _PREFIX + f"{self.topic}:{self.app_id}".encode()


_decode = msgspec.json.Decoder(Claim).decode


def claims_of(
    kafka: KafkaConfig, app_id: str, topic_id: Callable[[str], str]
) -> dict[TopicKey, Claim]:
    """The claims of an application, by the configuration key that names the topic.

    Args:
        kafka: The topics.
        app_id: The application.
        topic_id: The id of a topic.
    """
    return {
        key: Claim(name, topic_id(name), app_id)
        for name, key in topic_keys(kafka, control_topic=None)
        if key in PUBLISHED
    }


def read_claim(key: bytes | None, value: bytes | None) -> Claim | None:
    """The claim in a record of the progress topic, None if the record is not a claim."""
    if key is None or value is None or not key.startswith(_PREFIX):
        return None
    try:
        return _decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def check_claims(
    own: Claim, claims: Sequence[Claim], progress_topic: str, key: TopicKey = TopicKey.OUTPUT
) -> None:
    """Refuse a topic that another application has claimed earlier.

    Args:
        own: The claim of this application.
        claims: All claims, oldest first.
        progress_topic: Topic of the claims.
        key: The configuration key that names the topic.

    Raises:
        StateError: Names the other application and the remedy.
    """
    for claim in claims:
        if (claim.topic, claim.topic_id) == (own.topic, own.topic_id):
            if claim.app_id != own.app_id:
                raise _taken(own, claim.app_id, f"claimed on the topic {progress_topic}", key)
            return


def check_changes(
    kafka: KafkaConfig, own: Claim, key: TopicKey = TopicKey.OUTPUT, *, new: bool
) -> None:
    """Refuse a topic that holds changes of another application, or of a lost state.

    Args:
        kafka: The cluster.
        own: The claim of this application.
        key: The configuration key that names the topic.
        new: Whether the state is empty, so it cannot have published any change.

    Raises:
        StateError: Names the other application and the remedy.
        BrokerError: Kafka does not answer or refuses.
    """
    for message in _samples(kafka, own.topic, own.app_id):
        header = dict(message.headers() or ()).get(HEADER)
        if header is None:
            continue
        publisher = header if isinstance(header, str) else header.decode(errors="replace")
        where = f"offset {message.offset()} of partition {message.partition()}"
        if publisher != own.app_id:
            raise _taken(own, publisher, f"see {where}", key)
        if new:
            raise StateError(
                f"The topic {own.topic} ({key}) holds changes of pipeline.app_id "
                f"{own.app_id} ({where}), but the state is empty: facts would be published twice. "
                "Restore the state directory, or begin from nothing with: streamreasoner reset "
                "--config FILE"
            )


def _taken(own: Claim, other: str, where: str, key: TopicKey) -> StateError:
    return StateError(
        f"The application {other} publishes to the topic {own.topic} ({key}; "
        f"{where}). With {own.app_id} (pipeline.app_id) on the same topic, readers would count "
        f"facts twice. Choose another {key}. If {other} is retired and its changes "
        f"are no longer needed, delete the topic {own.topic} and recreate it."
    )


def _samples(kafka: KafkaConfig, topic: str, app_id: str) -> Iterator[Message]:
    """Committed changes of each partition: those near its end, or the oldest if there are none."""
    rights = on_topic(READ, topic), on_groups(app_id)
    group = f"{app_id}-claims"
    consumer = reader(kafka, group, auto_offset_reset="earliest", fetch_wait_max_ms=10)
    try:
        starts = {}
        for number in consumer.list_topics(topic, timeout=ANSWER_SECONDS).topics[topic].partitions:
            partition = TopicPartition(topic, number)
            low, high = consumer.get_watermark_offsets(partition, timeout=ANSWER_SECONDS)
            if low < high:
                starts[number] = max(low, high - _NEAR_THE_END)
        empty = set(starts)
        for message in _read(kafka, consumer, rights, starts):
            empty.discard(message.partition() or 0)
            yield message
        beginnings = dict.fromkeys(empty, OFFSET_BEGINNING)
        yield from _read(kafka, consumer, rights, beginnings, most=1)
    except KafkaException as error:
        raise no_answer(kafka, error, *rights) from None
    finally:
        consumer.close()


def _read(
    kafka: KafkaConfig,
    consumer: Consumer,
    rights: tuple[Right, Right],
    starts: Mapping[int, int],
    most: int = _NEAR_THE_END,
) -> Iterator[Message]:
    """Committed records of each partition from an offset on, at most `most` of each."""
    topic = rights[0].name
    remaining = dict.fromkeys(starts, most)
    partitions = [TopicPartition(topic, *start) for start in starts.items()]
    consumer.assign(partitions)
    consumer.resume(partitions)
    while remaining:
        message = consumer.poll(ANSWER_SECONDS)
        if message is None:
            raise unreachable(kafka, f"reading {topic}")
        number, error = message.partition() or 0, message.error()
        if number not in remaining:
            continue
        if error is None:
            remaining[number] -= 1
            yield message
        elif error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
            raise unreadable(kafka, topic, error, *rights)
        if error is not None or remaining[number] == 0:
            del remaining[number]
            consumer.pause([TopicPartition(topic, number)])
