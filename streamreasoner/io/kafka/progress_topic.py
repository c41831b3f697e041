"""The progress topic: each application's last published batch and its claims to output topics.

Invariant: the marker of the last visible epoch is the last record with its application's key.

Applications may share the topic. Kafka shows no committed record that is behind an open transaction
of any of them, and a transaction that was just committed may still count as open.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import msgspec
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from streamreasoner.errors import BrokerError, StateError
from streamreasoner.io.kafka.access.rights import READ, on_groups, on_topic
from streamreasoner.io.kafka.clients import (
    ANSWER_SECONDS,
    no_answer,
    reader,
    unreachable,
    unreadable,
)
from streamreasoner.io.kafka.owners.claims import Claim, read_claim
from streamreasoner.io.kafka.topic_checks import admin_client
from streamreasoner.state.record import EpochRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from confluent_kafka import Message

    from streamreasoner.config.kafka import KafkaConfig

# Kafka ends a transaction after 15 minutes, unless `transaction.max.timeout.ms` is larger.
_MAX_OPEN_SECONDS = 16 * 60
_POLL_SECONDS = 0.05
_log = logging.getLogger(__name__)


class ProgressTopic:
    """Reads the markers of one application and the claims of all, without fencing.

    Args:
        kafka: Cluster and topics.
        app_id: Application id, the key of its markers.
    """

    def __init__(self, kafka: KafkaConfig, app_id: str) -> None:
        self._kafka = kafka
        self._app_id = app_id
        self._rights = on_topic(READ, kafka.progress_topic), on_groups(app_id)
        self._last: dict[bytes, bytes | None] = {}
        self._next_offset = 0
        self._claims: list[Claim] = []
        self._consumer = reader(
            kafka,
            f"{app_id}-progress",
            auto_offset_reset="earliest",
            # How long Kafka holds a fetch before it reports the end of the partition.
            fetch_wait_max_ms=10,
        )

    def read(self) -> None:
        """Read on to the end of the visible records.

        Raises:
            BrokerError: Kafka does not answer or refuses.
        """
        # The end of a partition is reported once for each assignment.
        self._consumer.assign([TopicPartition(self._kafka.progress_topic, 0, self._next_offset)])
        for message in self._visible():
            key, value = message.key(), message.value()
            if key is not None:
                self._last[key] = value
            if (claim := read_claim(key, value)) is not None:
                self._claims.append(claim)

    def read_all(self) -> None:
        """Read on to the end of the topic, and wait for the open transactions before it.

        Raises:
            BrokerError: Kafka does not answer or refuses, or a transaction is not ended.
        """
        end, started, waiting = self._end(), time.monotonic(), False
        self.read()
        while self._next_offset < end:
            waited = time.monotonic() - started
            if waited > _MAX_OPEN_SECONDS:
                raise BrokerError(
                    f"A transaction on the topic {self._kafka.progress_topic} "
                    f"(kafka.progress_topic) has been open for {waited:.0f} s and hides later "
                    "records. Find it with Kafka's command `kafka-transactions.sh find-hanging` "
                    "and abort it."
                )
            if waited > 1 and not waiting:
                waiting = True
                _log.info(
                    "Waiting for an open transaction on %s, probably of another application that "
                    "shares the topic.",
                    self._kafka.progress_topic,
                )
            time.sleep(_POLL_SECONDS)
            self.read()

    @property
    def claims(self) -> Sequence[Claim]:
        """The claims of all applications, oldest first."""
        return self._claims

    def marker(self) -> EpochRecord | None:
        """The last marker of this application, None before the first.

        Raises:
            StateError: The record is not a marker.
        """
        value = self._last.get(self._app_id.encode())
        return None if value is None else self._marker(value)

    def _marker(self, value: bytes) -> EpochRecord:
        try:
            return EpochRecord.from_marker(value)
        except msgspec.DecodeError as error:
            raise StateError(
                f"The record of {self._app_id} on {self._kafka.progress_topic} is not a "
                f"valid marker: {error}."
            ) from None

    def markers_from(self, first: int) -> dict[int, EpochRecord]:
        """The markers of this application that the topic still has, from an epoch on, by epoch.

        Raises:
            BrokerError: Kafka does not answer or refuses.
            StateError: A record is not a marker.
        """
        found: dict[int, EpochRecord] = {}
        self._consumer.assign([TopicPartition(self._kafka.progress_topic, 0, 0)])
        for message in self._visible():
            value = message.value()
            if message.key() == self._app_id.encode():
                marker = None if value is None else self._marker(value)
                if marker is None:
                    found.clear()
                elif marker.epoch >= first:
                    found[marker.epoch] = marker
        return found

    def keys(self) -> dict[str, list[bytes]]:
        """The keys of the records that count, by application."""
        found: dict[str, list[bytes]] = {}
        for key, value in self._last.items():
            if value is not None:
                claim = read_claim(key, value)
                name = key.decode(errors="replace") if claim is None else claim.app_id
                found.setdefault(name, []).append(key)
        return found

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def _visible(self) -> Iterator[Message]:
        """The records from the next offset to the end, or to an open transaction."""
        while True:
            message = self._consumer.poll(ANSWER_SECONDS)
            if message is None:
                raise unreachable(self._kafka, f"reading {self._kafka.progress_topic}")
            error, offset = message.error(), message.offset() or 0
            if error is None:
                self._next_offset = offset + 1
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                self._next_offset = offset
                return
            else:
                raise unreadable(self._kafka, self._kafka.progress_topic, error, *self._rights)

    def _end(self) -> int:
        """The offset behind the last record, visible or not."""
        partition = TopicPartition(self._kafka.progress_topic, 0)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        admin = admin_client(self._kafka)  # a client that is dropped does not answer
        answers = admin.list_offsets({partition: latest}, request_timeout=ANSWER_SECONDS)
        try:
            end: int = answers[partition].result().offset
        except KafkaException as error:
            raise no_answer(self._kafka, error, *self._rights) from None
        return end
