"""Consumer lag: how far the input topics are ahead. Invariant: a query never blocks for long."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException, TopicPartition

from streamreasoner.io.kafka.clients import librdkafka

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.config.kafka import KafkaConfig
    from streamreasoner.state.record import Offsets

_ANSWER_SECONDS = 1.0


class Lag:
    """Counts messages that no finished batch has read; thread-safe.

    Args:
        kafka: The cluster.
        app_id: Application id.
        position: Gives the input range of the last finished epoch, None before the first.
    """

    def __init__(
        self, kafka: KafkaConfig, app_id: str, position: Callable[[], Offsets | None]
    ) -> None:
        self._position = position
        self._lock = threading.Lock()
        self._closed = False
        self._consumer = Consumer(
            librdkafka(kafka, group_id=f"{app_id}-lag", enable_auto_commit=False)
        )

    def __call__(self) -> dict[tuple[str, str], int]:
        """(topic, partition) -> messages; partitions that do not answer are omitted."""
        lag: dict[tuple[str, str], int] = {}
        with self._lock:
            # A scrape may arrive while the pipeline shuts down.
            if self._closed:
                return lag
            for topic, partitions in (self._position() or {}).items():
                for partition, (_, end) in partitions.items():
                    last = self._last(topic, int(partition))
                    if last is not None:
                        lag[topic, partition] = max(last - end, 0)
        return lag

    def total(self) -> int | None:
        """Messages of all partitions; None unless each of them answers."""
        position = self._position() or {}
        lag = self()
        answered = bool(lag) and len(lag) == sum(map(len, position.values()))
        return sum(lag.values()) if answered else None

    def close(self) -> None:
        """Close the connection; later calls return nothing."""
        with self._lock:
            self._closed = True
            self._consumer.close()

    def _last(self, topic: str, partition: int) -> int | None:
        try:
            watermarks = self._consumer.get_watermark_offsets(
                TopicPartition(topic, partition), timeout=_ANSWER_SECONDS
            )
        except KafkaException:
            return None
        return None if watermarks is None else watermarks[1]
