"""Ticks for idle partitions. Invariant: one that has unread messages gets none.

A tick is a message without updates whose header has a time. Any pipeline reads it, and one whose
epochs are slots raises the watermark of its partition. It has a key, for topics that need one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.io.codec.encode import Message
from streamreasoner.io.codec.envelope import TIME_HEADER
from streamreasoner.io.formats.registry import JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamreasoner.state.record import Offsets

KEY = b"streamreasoner:tick"
"""In a topic with keys it has no facts, and the next tick replaces it."""


def tick(time: int) -> Message:
    """A tick; *time* is in milliseconds since 1970."""
    content_type = JSON.content_types[0].encode()
    return Message(b"[]", KEY, [("content-type", content_type), (TIME_HEADER, str(time).encode())])


class IdlePartitions:
    """Sends ticks to the partitions that had no message since the last time.

    Args:
        position: The input range of the last finished epoch, None before the first.
        lag: Messages not yet read, by topic and partition; those that do not answer are omitted.
        send: Sends a message to a partition, and returns its offset.
    """

    def __init__(
        self,
        position: Callable[[], Offsets | None],
        lag: Callable[[], Mapping[tuple[str, str], int]],
        send: Callable[[str, int, Message], int],
    ) -> None:
        self._position = position
        self._lag = lag
        self._send = send
        self._ends: dict[tuple[str, str], int] = {}

    def send(self, time: int) -> None:
        """Send a tick of this time to each idle partition.

        Raises:
            BrokerError: Kafka does not answer or refuses.
        """
        ends = {
            (topic, partition): end
            for topic, partitions in (self._position() or {}).items()
            for partition, (_, end) in partitions.items()
        }
        lag = self._lag()
        before, self._ends = self._ends, ends
        for place, end in ends.items():
            # What was read since may be a tick of the last time.
            if before.get(place) == end and lag.get(place) == 0:
                topic, partition = place
                self._ends[place] = self._send(topic, int(partition), tick(time)) + 1
