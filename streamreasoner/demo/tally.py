"""Count what the demo has sent, evaluated and received.

Invariant: `plus` and `minus` count only changes that a read_committed consumer has received; a
latency runs from Kafka's timestamp of an input to the receipt of its epoch's last change.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.pipeline.observers import PipelineObserver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.demo.university import Change
    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.program.checked import CheckedProgram


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

    asserted_in: int = 0
    retracted_in: int = 0
    evaluated: int = 0
    plus: int = 0
    minus: int = 0
    epoch: int = -1
    iterations: int = 0
    facts: int = 0
    derived: int = 0
    terms: int = 0
    recent: NDArray[np.float64] = field(default_factory=partial(np.empty, 0))
    all: NDArray[np.float64] = field(default_factory=partial(np.empty, 0))
    latest: tuple[Change, ...] = ()

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


_HISTORY_SECONDS = 120


class History:
    """Rates and latencies of each of the last seconds.

    Attributes:
        updates: Updates sent per second.
        changes: Derived changes received per second.
        medians: Median latencies in milliseconds.
    """

    def __init__(self) -> None:
        self.updates: deque[float] = deque(maxlen=_HISTORY_SECONDS)
        self.changes: deque[float] = deque(maxlen=_HISTORY_SECONDS)
        self.medians: deque[float] = deque(maxlen=_HISTORY_SECONDS)
        self._last: tuple[float, int, int] | None = None

    def add(self, snapshot: Totals, elapsed: float) -> bool:
        """Record the totals; return whether a second has passed and each series grew by a value."""
        now = (elapsed, snapshot.updates_in, snapshot.plus + snapshot.minus)
        if self._last is None:
            self._last = now
        seconds, updates, changes = (new - old for new, old in zip(now, self._last, strict=True))
        if seconds < 1:
            return False
        self._last = now
        self.updates.append(updates / seconds)
        self.changes.append(changes / seconds)
        recent = snapshot.recent
        self.medians.append(float(np.median(recent)) * 1000 if len(recent) else 0.0)
        return True


class Tally(PipelineObserver):
    """Counts on three threads: the producer's, the one that runs batches, and the consumer's.

    Attributes:
        first_change: Set when the first derived change has been received.
        reasoner: Gives the state's size; read only on the thread that runs batches.
    """

    def __init__(self) -> None:
        self.first_change = threading.Event()
        self.reasoner: Reasoner | None = None
        self._changed = threading.Condition()
        self._totals = Totals()
        self._current, self._rows = -1, 0
        self._waiting: dict[int, _Epoch] = {}
        self._latencies: list[tuple[float, NDArray[np.float64]]] = []
        self._latest: deque[Change] = deque(maxlen=_LATEST)

    def start_latencies(self) -> None:
        """Discard the latencies so far: the first epoch includes warm-up."""
        with self._changed:
            self._latencies = []

    def sent(self, diff: int) -> None:
        """Count an update that the producer sends."""
        with self._changed:
            if diff > 0:
                self._totals = replace(self._totals, asserted_in=self._totals.asserted_in + 1)
            else:
                self._totals = replace(self._totals, retracted_in=self._totals.retracted_in + 1)

    def batch_started(self, epoch: int, rows: int) -> None:
        """Remember the epoch that the following calls belong to."""
        self._current, self._rows = epoch, rows

    def epoch_evaluated(self, result: EpochResult, program: CheckedProgram) -> None:
        """Record the iterations of the epoch."""
        del program
        with self._changed:
            self._totals = replace(self._totals, iterations=result.iterations)

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
        facts = present = terms = 0
        if self.reasoner is not None:
            statistics = self.reasoner.engine.statistics()
            facts, present = statistics.asserted, statistics.present
            terms = len(self.reasoner.dictionary)
        with self._changed:
            self._totals = replace(
                self._totals,
                epoch=epoch,
                evaluated=self._totals.evaluated + self._rows,
                facts=facts,
                derived=present - facts,
                terms=terms,
            )
            self._changed.notify_all()

    def received(self, changes: Sequence[Change]) -> None:
        """Count changes that the consumer has received."""
        now = time.time()
        with self._changed:
            for change in changes:
                epoch = self._waiting.setdefault(change.epoch, _Epoch())
                epoch.received += 1
                epoch.receipt = now
            plus = sum(change.diff > 0 for change in changes)
            self._totals = replace(
                self._totals,
                plus=self._totals.plus + plus,
                minus=self._totals.minus + len(changes) - plus,
            )
            for number in {change.epoch for change in changes}:
                self._settle(number)
            self._latest.extend(changes)
        if changes:
            self.first_change.set()

    def await_settled(self, seconds: float) -> bool:
        """Wait until everything sent is evaluated and received; return whether it is."""
        with self._changed:
            return self._changed.wait_for(self._settled, seconds)

    def snapshot(self) -> Totals:
        """The current totals."""
        earliest = time.time() - _RECENT_SECONDS
        with self._changed:
            recent = [seconds for receipt, seconds in self._latencies if receipt >= earliest]
            return replace(
                self._totals,
                recent=np.concatenate([np.empty(0), *recent]),
                all=np.concatenate([np.empty(0), *(seconds for _, seconds in self._latencies)]),
                latest=tuple(self._latest),
            )

    def _settled(self) -> bool:
        return self._totals.evaluated == self._totals.updates_in and not self._waiting

    def _settle(self, number: int) -> None:
        """Record the latencies of an epoch's inputs once its last change has been received."""
        epoch = self._waiting[number]
        if epoch.appended is not None and epoch.received == epoch.expected:
            del self._waiting[number]
            if epoch.expected:
                self._latencies.append((epoch.receipt, epoch.receipt - epoch.appended))
            self._changed.notify_all()
