"""How many messages the next batch may have, from what the last ones took.

Invariant: a limit is from 1 to `most`, and at most four times as much as a batch has had.

Back-pressure is a matter of the reader: what is not read stays in Kafka. The limit begins so low
that the longest messages fit, and follows the measured time and bytes of a message from then on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamreasoner.system.memory import physical_memory

GROWTH = 4
"""How many times as many messages as the last batch the next one may have."""
_SHARE_OF_MEMORY = 64
# A 32nd of the memory that Spark's JVM has by default: it holds a batch several times.
_MOST_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class BatchLimit:
    """The limit of the next batch, and what bounds it.

    After *n* messages of *b* bytes in *s* seconds, the limit *m* becomes

        min(m, max(first, n × target / s))  if the batch was too slow, or else
        max(m, n × min(target / s, 4)),     and in any case
        n × max_bytes / b                   at most.

    Attributes:
        most: Most messages in a batch.
        max_bytes: Bytes that a batch should have at most.
        target: Seconds that a batch should take.
        first: Messages in the first batch; slowness alone never lowers the limit below it.
        messages: Most messages in the next batch.
    """

    most: int
    max_bytes: int
    target: float
    first: int
    messages: int

    @classmethod
    def start(cls, most: int, max_bytes: int, target: float, message_bytes: int) -> BatchLimit:
        """The limit of the first batch, whose messages may all be the longest.

        Args:
            most: Most messages in a batch.
            max_bytes: Bytes that a batch should have at most.
            target: Seconds that a batch should take.
            message_bytes: Bytes of the longest message.
        """
        first = min(most, max(1, max_bytes // message_bytes))
        return cls(most, max_bytes, target, first, first)

    def at_most(self, messages: int) -> BatchLimit:
        """The same with a next batch of at most this many messages."""
        return replace(self, messages=min(self.messages, messages))

    def most_next(self, messages: int, size: int) -> int:
        """Most messages in the next batch, whatever time this one takes.

        Args:
            messages: Messages in this batch; none tell nothing.
            size: Their bytes.
        """
        if messages == 0:
            return self.messages
        return min(max(self.messages, messages * GROWTH), self._most_after(messages, size))

    def after(self, messages: int, size: int, seconds: float) -> BatchLimit:
        """The limit of the next batch.

        Args:
            messages: Messages in the last batch; none tell nothing.
            size: Their bytes.
            seconds: What it took, above 0.
        """
        if messages == 0:
            return self
        in_time = messages * min(self.target / seconds, GROWTH)
        if seconds > self.target:
            # Fixed costs alone may exceed the target: fewer messages would then gain nothing.
            limit = min(self.messages, max(self.first, in_time))
        else:
            limit = max(self.messages, in_time)
        following = max(1, min(int(limit), self._most_after(messages, size)))
        return replace(self, messages=following)

    def _most_after(self, messages: int, size: int) -> int:
        """How many messages fit, if they are as long as these."""
        fitting = int(messages * self.max_bytes / size) if size > 0 else self.most
        return max(1, min(self.most, fitting))


def default_max_bytes() -> int:
    """Bytes of a batch that fit this process and its JVM."""
    return min(physical_memory() // _SHARE_OF_MEMORY, _MOST_BYTES)
