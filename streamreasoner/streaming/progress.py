"""The progress topic: each application's last published batch and its claims to output topics.

Invariant: the marker of the last visible epoch is the last record with its application's key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from confluent_kafka import Consumer, KafkaError, TopicPartition

from streamreasoner.errors import BrokerError, StateError
from streamreasoner.state_version import StateVersion
from streamreasoner.streaming.claims import Claim, read_claim
from streamreasoner.streaming.clients import ANSWER_SECONDS, librdkafka, refused_right, unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import Message

    from streamreasoner.config import KafkaConfig


class Marker(msgspec.Struct, frozen=True):
    """The record on the progress topic: the last published batch of one application.

    Attributes:
        batch: Its id, which is its epoch.
        offsets: Its input range: topic -> partition -> [first, next].
        program_hash: Hash of the canonical program that evaluated it.
        format: Format of its state; a marker without one has the oldest.
        semantics: Semantics of its state.
    """

    batch: int
    offsets: dict[str, dict[str, list[int]]]
    program_hash: str
    format: int = StateVersion().format
    semantics: int = StateVersion().semantics

    @property
    def version(self) -> StateVersion:
        """The version of the state it belongs to."""
        return StateVersion(self.format, self.semantics)


class Progress:
    """Reads the markers of one application and the claims of all, without fencing.

    Args:
        kafka: Cluster and topics.
        app_id: Application id, the key of its markers.
    """

    def __init__(self, kafka: KafkaConfig, app_id: str) -> None:
        self._kafka = kafka
        self._app_id = app_id
        self._last: bytes | None = None
        self._next_offset = 0
        self._claims: list[Claim] = []
        self._consumer = Consumer(
            librdkafka(
                kafka,
                group_id=f"{app_id}-progress",
                isolation_level="read_committed",
                enable_auto_commit=False,
                enable_partition_eof=True,
                auto_offset_reset="earliest",
                # How long Kafka holds a fetch before it reports the end of the partition.
                fetch_wait_max_ms=10,
            )
        )

    def read(self) -> None:
        """Read on to the end of the visible records.

        Raises:
            BrokerError: Kafka does not answer or refuses.
        """
        # The end of a partition is reported once for each assignment.
        self._consumer.assign([TopicPartition(self._kafka.progress_topic, 0, self._next_offset)])
        while (message := self._next()) is not None:
            self._next_offset = (message.offset() or 0) + 1
            key, value = message.key(), message.value()
            if key == self._app_id.encode():
                self._last = value
            elif (claim := read_claim(key, value)) is not None:
                self._claims.append(claim)

    @property
    def claims(self) -> Sequence[Claim]:
        """The claims of all applications, oldest first."""
        return self._claims

    def marker(self) -> Marker | None:
        """The last marker of this application, None before the first.

        Raises:
            StateError: The record is not a marker.
        """
        if self._last is None:
            return None
        try:
            return msgspec.json.decode(self._last, type=Marker)
        except msgspec.DecodeError as error:
            raise StateError(
                f"The record of {self._app_id} on {self._kafka.progress_topic} is not a "
                f"valid marker: {error}."
            ) from None

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def _next(self) -> Message | None:
        """The next record, None at the end or before an open transaction."""
        message = self._consumer.poll(ANSWER_SECONDS)
        if message is None:
            raise unreachable(self._kafka, f"reading {self._kafka.progress_topic}")
        error = message.error()
        if error is None:
            return message
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
            return None
        raise refused_right(self._kafka, error) or BrokerError(
            f"Cannot read the topic {self._kafka.progress_topic}: {error.str()}."
        )
