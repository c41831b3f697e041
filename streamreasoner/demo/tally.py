"""Count what the demo has sent, evaluated and received.

Invariant: `plus` and `minus` count only changes that a read_committed consumer has received; a
latency runs from Kafka's timestamp of an input to the receipt of its epoch's last change.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.pipeline.observers import PipelineObserver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.engine.epoch import EpochResult


@dataclass(frozen=True, slots=True)
class Change:
    """A fact and how its multiplicity or its presence changes.

    Attributes:
        fact: Subject, predicate and object in N-Triples syntax.
        diff: Its signed multiplicity.
        epoch: The epoch that derived it; -1 for input.
    """

    fact: tuple[str, ...]
    diff: int
    epoch: int


_LATEST = 100
_RECENT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals at one point in time.

    Attributes:
        asserted_in: Assertions sent.
        retracted_in: Retractions sent.
        evaluated: Updates whose epoch is published.
        plus: Derived changes +1 received.
        minus: Derived changes -1 received.
        epoch: Last epoch published, -1 before the first.
        iterations: Iterations of that epoch.
        facts: Facts currently asserted.
        derived: Facts currently derived.
        terms: Terms in the dictionary.
        recent: Latencies of the last seconds, seconds.
        all: Latencies since `start_latencies`, seconds.
        latest: The newest changes, oldest first.
    """

    asserted_in: int
    retracted_in: int
    evaluated: int
    plus: int
    minus: int
    epoch: int
    iterations: int
    facts: int
    derived: int
    terms: int
    recent: NDArray[np.float64]
    all: NDArray[np.float64]
    latest: tuple[Change, ...]

    @property
    def updates_in(self) -> int:
        """Updates sent."""
        return self.asserted_in + self.retracted_in


@dataclass(slots=True)
class _Epoch:
    """An epoch that is not both published and completely received; either may come first."""

    appended: NDArray[np.float64] | None = None
    expected: int = 0
    received: int = 0
    receipt: float = 0.0


@dataclass(slots=True)
class _Size:
    facts: int = 0
    derived: int = 0
    terms: int = 0


@dataclass(slots=True)
class _Latencies:
    recent: deque[tuple[float, NDArray[np.float64]]] = field(default_factory=deque)
    all: list[NDArray[np.float64]] = field(default_factory=list)

    def add(self, now: float, seconds: NDArray[np.float64]) -> None:
        self.recent.append((now, seconds))
        self.all.append(seconds)

    def since(self, moment: float) -> NDArray[np.float64]:
        while self.recent and self.recent[0][0] < moment:
            self.recent.popleft()
        return _concatenated([seconds for _, seconds in self.recent])


class Tally(PipelineObserver):
    """Counts on three threads: the producer's, the one that runs batches, and the consumer's."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._asserted_in = self._retracted_in = self._evaluated = 0
        self._plus = self._minus = 0
        self._epoch, self._iterations, self._rows = -1, 0, 0
        self._current = -1
        self._waiting: dict[int, _Epoch] = {}
        self._size = _Size()
        self._latencies = _Latencies()
        self._latest: deque[Change] = deque(maxlen=_LATEST)
        self._reasoner: Reasoner | None = None
        self.first_change = threading.Event()
        """Set when the first derived change has been received."""

    def watch(self, reasoner: Reasoner) -> None:
        """Read the state's size from this reasoner, on the thread that runs batches."""
        self._reasoner = reasoner

    def start_latencies(self) -> None:
        """Discard the latencies so far: the first epoch includes warm-up."""
        with self._changed:
            self._latencies = _Latencies()

    def sent(self, diff: int) -> None:
        """Count an update that the producer sends."""
        with self._changed:
            if diff > 0:
                self._asserted_in += 1
            else:
                self._retracted_in += 1

    def batch_started(self, epoch: int, rows: int) -> None:
        """Remember the epoch that the following calls belong to."""
        self._current, self._rows = epoch, rows

    def epoch_evaluated(self, result: EpochResult) -> None:
        """Record the iterations of the epoch."""
        self._iterations = result.iterations

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """Expect the epoch's changes at the consumer."""
        del rejected
        appended = time.time() - latencies
        with self._changed:
            epoch = self._waiting.setdefault(self._current, _Epoch())
            epoch.appended, epoch.expected = appended, changes
            self._settle(self._current)

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """Record the size of the state; only this thread may use the reasoner."""
        del seconds
        size = _Size()
        if self._reasoner is not None:
            statistics = self._reasoner.engine.statistics()
            size.facts = statistics.asserted
            size.derived = statistics.present - statistics.asserted
            size.terms = len(self._reasoner.dictionary)
        with self._changed:
            self._size, self._epoch = size, epoch
            self._evaluated += self._rows
            self._changed.notify_all()

    def received(self, changes: Sequence[Change]) -> None:
        """Count changes that the consumer has received."""
        now = time.time()
        with self._changed:
            for change in changes:
                if change.diff > 0:
                    self._plus += 1
                else:
                    self._minus += 1
                epoch = self._waiting.setdefault(change.epoch, _Epoch())
                epoch.received += 1
                epoch.receipt = now
            for number in {change.epoch for change in changes}:
                self._settle(number)
            self._latest.extend(changes)
        if changes:
            self.first_change.set()

    def await_settled(self, seconds: float) -> bool:
        """Wait until everything sent is evaluated and received; return whether it is."""
        with self._changed:
            return self._changed.wait_for(self._settled, seconds)

    def changes(self) -> tuple[int, int]:
        """Derived changes received so far, +1 and -1."""
        with self._changed:
            return self._plus, self._minus

    def snapshot(self) -> Totals:
        """The current totals."""
        with self._changed:
            return Totals(
                asserted_in=self._asserted_in,
                retracted_in=self._retracted_in,
                evaluated=self._evaluated,
                plus=self._plus,
                minus=self._minus,
                epoch=self._epoch,
                iterations=self._iterations,
                facts=self._size.facts,
                derived=self._size.derived,
                terms=self._size.terms,
                recent=self._latencies.since(time.time() - _RECENT_SECONDS),
                all=_concatenated(self._latencies.all),
                latest=tuple(self._latest),
            )

    def _settled(self) -> bool:
        sent = self._asserted_in + self._retracted_in
        return self._evaluated == sent and not self._waiting

    def _settle(self, number: int) -> None:
        """Record the latencies of an epoch's inputs once its last change has been received."""
        epoch = self._waiting[number]
        if epoch.appended is not None and epoch.received == epoch.expected:
            del self._waiting[number]
            if epoch.expected:
                self._latencies.add(epoch.receipt, epoch.receipt - epoch.appended)
            self._changed.notify_all()


def _concatenated(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate(parts) if parts else np.empty(0)
