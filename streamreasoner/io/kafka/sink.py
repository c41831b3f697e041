"""Durable step 2: one Kafka transaction per epoch.

Invariant: changes, violations, dead letters and the marker of an epoch become visible together or
never.

The outcome of a failed transaction is unknown, so it is not retried: a new producer, of this
process or the next, ends it with `init_transactions`, and then the marker is read.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from confluent_kafka import KafkaError, KafkaException, Producer

from streamreasoner.config.kafka import topic_keys
from streamreasoner.errors import BrokerError, BrokerUnavailableError
from streamreasoner.io.codec.encode import ANY_PARTITION
from streamreasoner.io.kafka.access.rights import WRITE, on_topic, on_transactions
from streamreasoner.io.kafka.access.topic_needs import NEEDS
from streamreasoner.io.kafka.clients import ANSWER_SECONDS, librdkafka, not_created, refused_right
from streamreasoner.io.kafka.owners.claims import HEADER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from streamreasoner.config.kafka import KafkaConfig
    from streamreasoner.io.codec.encode import Message, Outgoing
    from streamreasoner.io.kafka.owners.claims import Claim
    from streamreasoner.state.record import EpochRecord

MOST_TRANSACTION_SECONDS = 900.0
"""How long a transaction may be open, by default (`transaction.max.timeout.ms` of brokers)."""
_INIT_SECONDS = 60.0
# Between two attempts the pipeline may be stopped.
_REOPEN_SECONDS = 10.0
# What waits while Kafka takes nothing; the client's default is 1 GiB.
_QUEUE_KIB = 64 * 1024
_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)  # noqa: SLF001
_REFUSING = (KafkaError._FATAL, KafkaError._STATE)  # noqa: SLF001
# Kafka, or a partition, is away: a later attempt may succeed.
_UNAVAILABLE = (
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001
    KafkaError._MSG_TIMED_OUT,  # noqa: SLF001
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
    KafkaError.CONCURRENT_TRANSACTIONS,
)
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
        longest_timeout: The most that it is raised to for epochs that take longer to publish.
        rivals: Names the processes that use the application id too.
    """

    def __init__(
        self,
        kafka: KafkaConfig,
        app_id: str,
        transaction_timeout: float,
        longest_timeout: float = 0.0,
        rivals: Callable[[], str] = lambda: "another process",
    ) -> None:
        self._kafka = kafka
        self._app_id = app_id
        self._timeout = transaction_timeout
        self._longest = max(transaction_timeout, longest_timeout)
        self._rivals = rivals
        self._began = time.monotonic()
        self._sent = 0
        self._failures: list[KafkaError] = []
        self._producer = self._open()

    def _open(self) -> Producer:
        settings = librdkafka(
            self._kafka,
            transactional_id=self._app_id,
            transaction_timeout_ms=int(self._timeout * 1000),
            linger_ms=5,
            queue_buffering_max_messages=1_000_000,
            queue_buffering_max_kbytes=_QUEUE_KIB,
            delivery_report_only_error=True,
            message_max_bytes=_MAX_MESSAGE_BYTES,
            # The Java clients' partitioner: every client maps a key to the same partition.
            partitioner="murmur2_random",
        )
        try:
            return Producer({**settings, "on_delivery": self._not_delivered})
        except KafkaException as error:
            raise not_created(error) from None

    def start(self) -> None:
        """Fence every earlier process of this application.

        Raises:
            BrokerError: Kafka does not answer or refuses.
        """
        try:
            self._producer.init_transactions(_INIT_SECONDS)
        except KafkaException as error:
            raise self._error("open transactions", error) from None

    def reopen(self) -> None:
        """End a transaction that failed, with a producer in place of the one that it left behind.

        Raises:
            BrokerUnavailableError: Kafka does not answer yet.
            BrokerError: It refuses.
        """
        self._producer.purge()
        self._producer = self._open()
        self._sent = 0
        self._failures.clear()
        try:
            self._producer.init_transactions(_REOPEN_SECONDS)
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
            BrokerUnavailableError: Kafka did not take it in time. Whether it is visible is unknown:
                `reopen`, and read the marker.
            BrokerError: The transaction failed; the process must exit.
        """
        producer, published = self._producer, 0
        self._began, self._sent = time.monotonic(), 0
        self._failures.clear()
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
            # Without a bound it waits until the broker is back; a shorter one would lose it.
            producer.commit_transaction(self._timeout)
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
                self._sent += 1
                return

    def _not_delivered(self, error: KafkaError, _: object) -> None:
        self._failures.append(error)

    def _behind(self, error: KafkaError) -> KafkaError:
        """The error after which the client takes no message; only transactions tell it."""
        try:
            self._producer.abort_transaction(ANSWER_SECONDS)
        except KafkaException as refused:
            fatal: KafkaError = refused.args[0]
            return fatal
        return error

    def _error(self, what: str, error: KafkaException) -> BrokerError:
        with suppress(KafkaException):  # a fatal error is raised once more
            self._producer.poll(0)
        raised: KafkaError = error.args[0]
        if raised.code() in _REFUSING:
            raised = self._behind(raised)
        # The first failure is the cause; what follows says that the transaction has failed.
        cause = self._failures[0] if self._failures else raised
        # A fenced client drops what it has not sent, and reports that first.
        is_fenced = any(each.code() in _FENCED for each in (cause, raised, *self._failures))
        # Kafka fences a transaction that it ends, like one that another process ends.
        has_expired = time.monotonic() - self._began >= self._timeout
        if cause.code() in _UNAVAILABLE or (has_expired and is_fenced):
            if has_expired and len(self._failures) < self._sent:
                # A part was taken, so the time was too short for the whole.
                self._timeout = min(2 * self._timeout, self._longest)
            return BrokerUnavailableError(
                f"Cannot {what} at {self._kafka.bootstrap_servers}: {cause.str()}. Check that the "
                "brokers are running, that the partitions of the output topics have enough "
                "replicas, and that no quota holds them back."
            )
        if is_fenced:
            return BrokerError(
                f"Cannot {what}: pipeline.app_id {self._app_id} was taken by {self._rivals()}. "
                "Only one process may use it. Stop the other and restart this one, or start this "
                "one from scratch with another pipeline.app_id and state.directory."
            )
        kafka = self._kafka
        topics = (name for name, key in topic_keys(kafka, None) if NEEDS[key].written)
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
