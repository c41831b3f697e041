"""The university, sent to the input topic at a steady rate.

Invariant: a schema change has an epoch of its own, so its consequences can be counted separately.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.demo.university import Kind, university
from streamreasoner.streaming.topics import produce

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from streamreasoner.config import KafkaConfig
    from streamreasoner.demo.tally import Tally
    from streamreasoner.demo.university import Event, TripleUpdate

SCHEMA_SECONDS = 5.0
_LEAST_UPDATES = 10
_SETTLE_SECONDS = 30.0
# If the producer is further behind, it resumes at the rate instead of catching up in a burst.
_MOST_BEHIND = 0.5


@dataclass(frozen=True, slots=True)
class News:
    """What has happened, in a sentence."""

    kind: Kind
    sentence: str


@dataclass(frozen=True, slots=True)
class Producer:
    """Sends the stream.

    Attributes:
        kafka: The cluster; the first input topic is written to.
        seed: Of the university.
        rate: Updates per second once the departments have opened.
        tally: Counts what is sent, and knows when it is all through.
        tell: Called with what happens, on the producer's thread.
        stop: Set it, and the stream ends within a moment.
    """

    kafka: KafkaConfig
    seed: int
    rate: float
    tally: Tally
    tell: Callable[[News], None]
    stop: threading.Event

    def run(self) -> None:
        """Send until told to stop; what was sent is delivered when it returns.

        Raises:
            BrokerError: Kafka does not take a message.
        """
        for _ in produce(self.kafka, self.kafka.input_topics[0], self._messages()):
            pass

    def _messages(self) -> Iterator[tuple[bytes, bytes]]:
        every = max(_LEAST_UPDATES, round(self.rate * SCHEMA_SECONDS))
        opening, due = True, 0.0
        for event in university(self.seed, every):
            if opening and event.kind is not Kind.OPENING:
                # Life begins when the opening is through: no latency is a backlog's.
                self._settled()
                self.tally.start_latencies()
                opening, due = False, time.monotonic()
            if event.kind is Kind.SCHEMA:
                yield from self._alone(event)
                continue
            self.tell(News(event.kind, event.sentence))
            for update in event.updates:
                if event.kind is Kind.LIFE:
                    due = max(due + 1 / self.rate, time.monotonic() - _MOST_BEHIND)
                    self.stop.wait(max(0.0, due - time.monotonic()))
                if self.stop.is_set():
                    return
                yield self._send(update)

    def _alone(self, event: Event) -> Iterator[tuple[bytes, bytes]]:
        """The updates of a schema change, and what they have derived once that is known."""
        known = self._settled()
        if self.stop.is_set():
            return
        before = self.tally.changes()
        for update in event.updates:
            yield self._send(update)
        effect = "its consequences are still being worked out"
        if self._settled() and known:
            plus, minus = (
                now - then for now, then in zip(self.tally.changes(), before, strict=True)
            )
            effect = _effect(plus, minus)
        self.tell(News(event.kind, f"{event.sentence}: {effect}"))

    def _send(self, update: TripleUpdate) -> tuple[bytes, bytes]:
        """Count an update and give its message."""
        self.tally.sent(update.diff)
        subject, predicate, object_ = update.triple
        message = {"s": subject, "p": predicate, "o": object_, "diff": update.diff}
        message["ts"] = time.time_ns() // 1_000_000
        return subject.encode(), json.dumps(message, ensure_ascii=False).encode()

    def _settled(self) -> bool:
        """Whether all is through, before a deadline and before the end of the stream."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while not self.stop.is_set() and time.monotonic() < deadline:
            if self.tally.await_settled(_MOST_BEHIND):
                return True
        return False


def _effect(plus: int, minus: int) -> str:
    match plus, minus:
        case 0, 0:
            return "nothing derived changes"
        case _, 0:
            return f"{_facts(plus)} {'comes' if plus == 1 else 'come'}"
        case 0, _:
            return f"{_facts(minus)} {'goes' if minus == 1 else 'go'}"
        case _:
            return f"{_facts(minus)} {'goes' if minus == 1 else 'go'}, {plus:,} come"


def _facts(count: int) -> str:
    return f"{count:,} derived {'fact' if count == 1 else 'facts'}"
