"""The outcome of a message. Invariant: an answer comes from a published epoch.

An epoch's dead letters and its marker become visible together, so a message within the range of a
marker was applied unless a dead letter for it is visible by then.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from streamreasoner.errors import BrokerError, StreamReasonerError
from streamreasoner.io.kafka.access.python_client import kafka_python
from streamreasoner.io.kafka.access.rights import READ, on_topic
from streamreasoner.io.kafka.access.roles import Role
from streamreasoner.io.kafka.clients import unreachable
from streamreasoner.io.kafka.topics import no_topic, refused_command
from streamreasoner.state.record import EpochRecord

if TYPE_CHECKING:
    from typing import Self

    from kafka.consumer.fetcher import ConsumerRecord

    from streamreasoner.config.kafka import KafkaConfig

_POLL_MS = 200


class ControlOutcomes:
    """Outcomes of messages sent after construction: `with ControlOutcomes(...) as answers`.

    Args:
        kafka: Cluster and topics.
        app_id: Application id of the pipeline.

    Raises:
        BrokerError: Kafka does not answer, or denies access.
    """

    def __init__(self, kafka: KafkaConfig, app_id: str) -> None:
        self._kafka = kafka
        self._key = app_id.encode()
        try:
            self._consumer = KafkaConsumer(
                **kafka_python(kafka), isolation_level="read_committed", enable_auto_commit=False
            )
        except KafkaError as error:
            raise unreachable(kafka, error) from None
        try:
            self._partitions = self._assign()
        except KafkaError as error:
            self._consumer.close()
            raise unreachable(kafka, error) from None
        except BrokerError:
            self._consumer.close()
            raise
        self._letters: list[dict[str, bytes]] = []
        self._marker: EpochRecord | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def why_rejected(self, topic: str, offset: int, timeout: float) -> str | None:
        """Wait for the epoch of a message of partition 0; returns why it was rejected, else None.

        Args:
            topic: Topic of the message.
            offset: Its offset.
            timeout: Seconds to wait.

        Raises:
            BrokerError: Kafka cannot be read.
            StreamReasonerError: The timeout has passed.
        """
        deadline = time.monotonic() + timeout
        try:
            while not self._is_published(topic, offset):
                if time.monotonic() >= deadline:
                    raise StreamReasonerError(
                        f"The pipeline has not read offset {offset} of {topic} within {timeout:g} "
                        "s. Check that it runs, or wait longer with --timeout. The message "
                        "stays in the topic and will be read in order."
                    )
                self._read()
            self._read_to_the_end()
        except KafkaError as error:
            topics = self._kafka.dead_letter_topic, self._kafka.progress_topic
            rights = [on_topic(READ, each) for each in topics]
            raise refused_command(self._kafka, error, rights, Role.RULES) or BrokerError(
                f"Cannot read from Kafka: {error}."
            ) from None
        origin = {"topic": topic.encode(), "partition": b"0", "offset": str(offset).encode()}
        for letter in self._letters:
            if origin.items() <= letter.items():
                return f"{letter['class'].decode()}: {letter['reason'].decode()}"
        return None

    def _assign(self) -> list[TopicPartition]:
        """Read from the ends of the topics on."""
        topics = self._kafka.dead_letter_topic, self._kafka.progress_topic
        numbers = {topic: self._consumer.partitions_for_topic(topic) for topic in topics}
        for topic in topics:
            if not numbers[topic]:
                raise no_topic(self._kafka, topic, on_topic(READ, topic))
        partitions = [TopicPartition(each, number) for each in topics for number in numbers[each]]
        self._consumer.assign(partitions)
        for partition, end in self._consumer.end_offsets(partitions).items():
            self._consumer.seek(partition, end)
        return partitions

    def _is_published(self, topic: str, offset: int) -> bool:
        if self._marker is None:
            return False
        _, after = self._marker.offsets.get(topic, {}).get("0", (0, 0))
        return offset < after

    def _read(self) -> None:
        for partition, messages in self._consumer.poll(timeout_ms=_POLL_MS).items():
            for message in cast("list[ConsumerRecord]", messages):
                if partition.topic == self._kafka.dead_letter_topic:
                    self._letters.append(dict(message.headers))
                elif message.key == self._key and message.value is not None:
                    self._marker = EpochRecord.from_marker(message.value)

    def _read_to_the_end(self) -> None:
        ends = self._consumer.end_offsets(self._partitions)
        while any(self._consumer.position(partition) < end for partition, end in ends.items()):
            self._read()
