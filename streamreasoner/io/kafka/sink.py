"""Durable step 2: one Kafka transaction per epoch.

Invariant: changes, violations, dead letters and the marker of an epoch become visible together or
never.

The outcome of a failed transaction is unknown, so it is not retried: the process exits, and the
next one fences it with `init_transactions` and then reads the marker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from confluent_kafka import KafkaError, KafkaException, Producer

from streamreasoner.errors import BrokerError
from streamreasoner.io.codec.encode import ANY_PARTITION
from streamreasoner.io.kafka.access.rights import WRITE, on_topic, on_transactions
from streamreasoner.io.kafka.claims import HEADER
from streamreasoner.io.kafka.clients import (
    ANSWER_SECONDS,
    librdkafka,
    refused_option,
    refused_right,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.config import KafkaConfig
    from streamreasoner.io.codec.encode import Message, Outgoing
    from streamreasoner.io.kafka.claims import Claim
    from streamreasoner.state.record import EpochRecord

_INIT_SECONDS = 60.0
# Above the client's default of 1 MB: the topic's limit decides.
_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_POLL_EVERY = 10_000
_WRONG_CLOCK = (
    "The clock of this machine is an hour or more ahead of that of the broker: set it, and restart "
    "the process. Topics with message.timestamp.type=LogAppendTime take messages whatever it says; "
    "`streamreasoner topics create` makes such topics."
)


@dataclass(frozen=True, slots=True)
class Publication:
    """Everything that becomes visible with an epoch.

    Attributes:
        changes: Changes for the output topic.
        dead_letters: Rejected messages for the dead-letter topic.
        marker: The record of the epoch, for the progress topic.
        violations: Violations that came or went, for their topic, one item per constraint.
    """

    changes: Iterable[Outgoing]
    dead_letters: Iterable[Message]
    marker: EpochRecord
    violations: Iterable[Outgoing] = ()


class Sink:
    """The transactional producer of one application.

    Args:
        kafka: Cluster and topics.
        app_id: Application id, also the transactional id and the key of the marker.
        transaction_timeout: Seconds after which Kafka aborts an open transaction.
    """

    def __init__(self, kafka: KafkaConfig, app_id: str, transaction_timeout: float) -> None:
        self._kafka = kafka
        self._app_id = app_id
        try:
            self._producer = Producer(
                librdkafka(
                    kafka,
                    transactional_id=app_id,
                    transaction_timeout_ms=int(transaction_timeout * 1000),
                    linger_ms=5,
                    queue_buffering_max_messages=1_000_000,
                    message_max_bytes=_MAX_MESSAGE_BYTES,
                    # The Java clients' partitioner: every client maps a key to the same partition.
                    partitioner="murmur2_random",
                )
            )
        except KafkaException as error:
            raise (refused_option(error) or BrokerError(str(error.args[0]))) from None

    def start(self) -> None:
        """Fence every earlier process of this application.

        Raises:
            BrokerError: Kafka does not answer or refuses.
        """
        try:
            self._producer.init_transactions(_INIT_SECONDS)
        except KafkaException as error:
            raise self._error("open transactions", error) from None

    def partitions(self) -> int:
        """How many partitions the output topic has.

        Raises:
            BrokerError: Kafka does not answer or refuses.
        """
        topic = self._kafka.output_topic
        try:
            return len(self._producer.list_topics(topic, ANSWER_SECONDS).topics[topic].partitions)
        except KafkaException as error:
            raise self._error(f"read the partitions of {topic}", error) from None

    def claim(self, claim: Claim) -> None:
        """Record that this application publishes to a topic.

        Raises:
            BrokerError: The transaction failed; the process must exit.
        """
        try:
            self._producer.begin_transaction()
            self._produce(self._kafka.progress_topic, msgspec.json.encode(claim), claim.key, [])
            self._producer.commit_transaction(-1)
        except KafkaException as error:
            raise self._error(f"claim the topic {claim.topic}", error) from None

    def publish(self, publication: Publication) -> int:
        """Write one epoch in one transaction; committed on return, and visible soon after.

        Returns:
            Number of changes written to the output topic.

        Raises:
            BrokerError: The transaction failed; whether it is visible is unknown, so the process
                must exit.
        """
        producer, published = self._producer, 0
        try:
            producer.begin_transaction()
            for part in publication.changes:
                self._produce_changes(self._kafka.output_topic, part)
                published += part.updates
            for part in publication.violations:
                self._produce_changes(self._kafka.violations_topic, part)
            for letter in publication.dead_letters:
                self._produce(
                    self._kafka.dead_letter_topic, letter.value, letter.key, letter.headers
                )
            marker = publication.marker.to_marker()
            self._produce(self._kafka.progress_topic, marker, self._app_id.encode(), [])
            # librdkafka bounds the commit by the transaction timeout; a shorter wait loses it.
            producer.commit_transaction(-1)
        except KafkaException as error:
            raise self._error(f"publish epoch {publication.marker.epoch}", error) from None
        return published

    def close(self) -> None:
        """Close the connection; the next start or Kafka aborts an open transaction."""
        self._producer.purge()

    def _produce_changes(self, topic: str, part: Outgoing) -> None:
        headers = [*part.headers, (HEADER, self._app_id.encode())]
        for index, (value, key) in enumerate(zip(part.values, part.keys, strict=True), start=1):
            self._produce(topic, value, key, headers, part.partition)
            if index % _POLL_EVERY == 0:
                self._producer.poll(0)

    def _produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: list[Any],
        partition: int = ANY_PARTITION,
    ) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, partition, headers=headers)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def _error(self, what: str, error: KafkaException) -> BrokerError:
        cause = error.args[0]
        fenced = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)  # noqa: SLF001
        if cause.code() in fenced:
            return BrokerError(
                f"Cannot {what}: another process with pipeline.app_id {self._app_id} has taken "
                "over. Only one may run. Stop the other, or set another app_id here."
            )
        kafka = self._kafka
        topics = (
            kafka.output_topic,
            kafka.violations_topic,
            kafka.dead_letter_topic,
            kafka.progress_topic,
        )
        rights = on_transactions(self._app_id), *(on_topic(WRITE, topic) for topic in topics)
        if (refusal := refused_right(kafka, cause, *rights)) is not None:
            return refusal
        # The error of a transaction quotes the first one of its messages.
        is_wrong_time = KafkaError(KafkaError.INVALID_TIMESTAMP).str() in cause.str()
        way_out = _WRONG_CLOCK if is_wrong_time else "Restart the process once Kafka is available."
        return BrokerError(
            f"Cannot {what} at {self._kafka.bootstrap_servers}: {cause.str()}. Nothing is lost. "
            f"{way_out}"
        )
