"""Where the messages of later epochs begin. Invariant: no epoch has messages on both sides.

Epochs stand in a partition one behind the other, whether their transactions were committed or not:
an epoch is evaluated again before the next one begins, and Kafka takes nothing from a process that
was fenced. All messages of an epoch are in the log when its marker is visible. So the log is
searched as it is, without waiting for open transactions, and what comes later is of later epochs.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from streamreasoner.errors import BrokerError, DataError, StateError
from streamreasoner.io.kafka.access.roles import Role
from streamreasoner.io.kafka.owners.claims import HEADER
from streamreasoner.io.kafka.topics import consumer_of, read_all
from streamreasoner.state.record import EpochRecord

if TYPE_CHECKING:
    from pathlib import Path

    from kafka import KafkaConsumer, TopicPartition

    from streamreasoner.config.kafka import KafkaConfig

    Found = tuple[int, int] | None

_POLL_MILLISECONDS = 200
_SECONDS = 120.0
# The search reads single messages here and there.
_SEARCHING = {"isolation_level": "read_uncommitted", "max_partition_fetch_bytes": 1 << 16}


class Position(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The end of an epoch on an output topic.

    Attributes:
        application: The application that publishes to the topic.
        epoch: The epoch.
        offsets: Topic -> partition -> the offset where messages of later epochs begin.
        inherited: Which facts of hierarchies the snapshot has, see `OutputConfig`.
    """

    application: str
    epoch: int
    offsets: dict[str, dict[str, int]]
    inherited: str = "all"

    def to_json(self, inherited: str = "all") -> str:
        """The position as one line, of facts with all that are inherited, or the `direct` ones."""
        return msgspec.json.encode(msgspec.structs.replace(self, inherited=inherited)).decode()

    @staticmethod
    def read(path: Path) -> Position:
        """The position in a file.

        Raises:
            DataError: The file cannot be read, or holds no position.
        """
        try:
            return decode_position(path.read_bytes())
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror}).") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataError(
                f"{path}: is not what `streamreasoner snapshot --offsets` writes ({error})."
            ) from None

    def of(self, topic: str) -> dict[int, int]:
        """The offsets of a topic, by partition.

        Raises:
            DataError: The position has none.
        """
        if topic not in self.offsets:
            raise DataError(
                f"The offsets are of the topic {', '.join(self.offsets)}, not of {topic}."
            )
        try:
            return {int(number): offset for number, offset in self.offsets[topic].items()}
        except ValueError:
            raise DataError(f"The offsets of {topic} are not by number of partition.") from None


decode_position = msgspec.json.Decoder(Position).decode
"""The position in a text; raises msgspec.DecodeError."""


def last_published(kafka: KafkaConfig, app_id: str) -> int:
    """The last epoch whose marker is visible, -1 before the first.

    Raises:
        BrokerError: Kafka does not answer, lacks the topic, or refuses.
    """
    last = -1
    for message in read_all(kafka, kafka.progress_topic, Role.SNAPSHOT):
        if message.key == app_id.encode():
            value = message.value
            last = -1 if value is None else EpochRecord.from_marker(value).epoch
    return last


def after(
    kafka: KafkaConfig, app_id: str, epoch: int, published: int, number: int | None
) -> Position:
    """Where messages of epochs after one begin, in each partition of the output topic.

    Args:
        kafka: Cluster and topics.
        app_id: The application.
        epoch: The epoch.
        published: An epoch whose marker was visible before; not below *epoch*.
        number: The greatest `epoch` that messages up to there have, None if there are none.

    Raises:
        StateError: Messages of later epochs may have been deleted, or their numbers do not ascend.
        BrokerError: Kafka does not answer, lacks the topic, or refuses.
    """
    topic, offsets = kafka.output_topic, {}
    if number is not None and number < 0:
        raise StateError(
            f"At the end of epoch {epoch}, event time is before 1970, where the numbers of slots "
            "do not tell what was published first. Name a later epoch."
        )
    last = -1 if number is None else number
    search = consumer_of(kafka, topic, Role.SNAPSHOT, from_beginning=True, **_SEARCHING)
    with search as consumer:
        partitions = sorted(consumer.assignment())
        first, end = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
        for partition in partitions:
            log = _Log(consumer, partition, app_id, end[partition])
            low = first[partition]
            found = log.search(low, last)
            if found == low > 0 and (epoch < published or log.next(low) is not None):
                raise StateError(
                    f"The topic {topic} (kafka.output_topic) begins at offset {low} of partition "
                    f"{partition.partition}: messages of epochs after {epoch} may have been "
                    "deleted. Take a snapshot of a later epoch, or raise the topic's retention."
                )
            offsets[str(partition.partition)] = found
    return Position(app_id, epoch, {topic: offsets})


class _Log:
    """The log of one partition up to an end, with messages of transactions of any outcome."""

    def __init__(
        self, consumer: KafkaConsumer, partition: TopicPartition, app_id: str, end: int
    ) -> None:
        self._consumer, self._partition, self._end = consumer, partition, end
        self._application = app_id.encode()
        consumer.assign([partition])

    def search(self, low: int, epoch: int) -> int:
        """The least offset from *low* on behind which only later epochs are; by bisection."""
        high = self._end
        while low < high:
            middle = (low + high) // 2
            found = self.next(middle)
            if found is None or found[1] > epoch:
                high = middle
            else:
                low = found[0] + 1
        return low

    def next(self, offset: int) -> Found:
        """Offset and epoch of the first change at an offset or behind it; None if there is none."""
        self._consumer.seek(self._partition, offset)
        deadline = time.monotonic() + _SECONDS
        # The position passes records of transactions, which are not messages.
        while self._consumer.position(self._partition) < self._end:
            if time.monotonic() > deadline:
                raise BrokerError(
                    f"Kafka did not deliver offset {offset} of partition "
                    f"{self._partition.partition} of {self._partition.topic} within {_SECONDS:g} s."
                )
            polled = self._consumer.poll(timeout_ms=_POLL_MILLISECONDS, max_records=1)
            for message in polled.get(self._partition, ()):
                headers = dict(message.headers)
                if message.offset < self._end and headers.get(HEADER) == self._application:
                    return message.offset, int(headers["epoch"])
        return None
