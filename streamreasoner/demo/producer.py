"""Make messages of the university's updates at a steady rate.

Invariant: a schema change has an epoch of its own, so its consequences can be counted separately.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.counts import counted
from streamreasoner.demo.university import EventKind, university

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from streamreasoner.demo.tally import Tally, Totals
    from streamreasoner.demo.university import Change, Event

SCHEMA_SECONDS = 5.0
_MIN_UPDATES = 10
_SETTLE_SECONDS = 30.0
# If the producer is further behind, it resumes at the rate instead of catching up in a burst.
_MAX_LAG_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Producer:
    """Makes the stream, at the pace at which it is read.

    Attributes:
        seed: Seed of the university.
        rate: Updates per second once the departments have opened.
        tally: Counts the updates sent, and knows when all of them have been processed.
        announce: Called with each event, on the producer's thread.
        stop: Set it to end the stream.
    """

    seed: int
    rate: float
    tally: Tally
    announce: Callable[[EventKind, str], None]
    stop: threading.Event

    def messages(self) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values, each when it is due, until *stop* is set."""
        schema_every = max(_MIN_UPDATES, round(self.rate * SCHEMA_SECONDS))
        opening, due = True, 0.0
        for event in university(self.seed, schema_every):
            if opening and event.kind is not EventKind.OPENING:
                # Wait until the opening is processed, so that latencies include no backlog.
                self._wait_until_settled()
                self.tally.start_latencies()
                opening, due = False, time.monotonic()
            if event.kind is EventKind.SCHEMA:
                yield from self._send_schema_change(event)
                continue
            self.announce(event.kind, event.sentence)
            for update in event.updates:
                if event.kind is EventKind.EVERYDAY:
                    due = max(due + 1 / self.rate, time.monotonic() - _MAX_LAG_SECONDS)
                    self.stop.wait(max(0.0, due - time.monotonic()))
                if self.stop.is_set():
                    return
                yield self._send(update)

    def _send_schema_change(self, event: Event) -> Iterator[tuple[bytes, bytes]]:
        """Send a schema change, then announce how many derived facts it changed."""
        before = self._wait_until_settled()
        if self.stop.is_set():
            return
        for update in event.updates:
            yield self._send(update)
        effect = _effect(before, self._wait_until_settled())
        self.announce(event.kind, f"{event.sentence}: {effect}")

    def _send(self, update: Change) -> tuple[bytes, bytes]:
        """Count an update and return its message."""
        self.tally.sent(update.diff)
        subject, predicate, object_ = update.fact
        message = {"s": subject, "p": predicate, "o": object_, "diff": update.diff}
        message["ts"] = time.time_ns() // 1_000_000
        return subject.encode(), json.dumps(message, ensure_ascii=False).encode()

    def _wait_until_settled(self) -> Totals | None:
        """The totals once everything sent is processed; None at a deadline or the stream's end."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while not self.stop.is_set() and time.monotonic() < deadline:
            if settled := self.tally.await_settled(_MAX_LAG_SECONDS):
                return settled
        return None


def _effect(before: Totals | None, after: Totals | None) -> str:
    if before is None or after is None:
        return "its consequences are still being computed"
    if before.others != after.others:
        return "its consequences are not counted, as others send messages too"
    plus, minus = after.plus - before.plus, after.minus - before.minus
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
    return counted(count, "derived fact")
