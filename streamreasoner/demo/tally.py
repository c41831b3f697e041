"""Count what the demo has sent and received, and know when all of it is evaluated.

Invariant: `plus` and `minus` count only changes that a read_committed consumer has received; a
latency runs from Kafka's timestamp of an input to the receipt of its epoch's last change. What
others send is told from what the demo sends by its offsets.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.io.observer import PipelineObserver
from streamreasoner.io.spark.offsets import parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.demo.university import Change
    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.service.assemble import Pipeline


_LATEST = 100
_RECENT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals at one point in time.

    Attributes:
        asserted_in: Assertions sent.
        retracted_in: Retractions sent.
        others: Messages of others evaluated; exact where everything sent is settled.
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
    others: int = 0
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
    """An epoch that is not both finished and completely received; either may come first."""

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
        pipeline: Gives its position and the state's size, on the thread that runs batches.

    Args:
        topic: The topic to which the demo sends.
    """

    def __init__(self, topic: str) -> None:
        self.first_change = threading.Event()
        self.pipeline: Pipeline | None = None
        self._topic = topic
        self._changed = threading.Condition()
        self._totals = Totals()
        self._acknowledged = 0
        self._last: dict[int, int] = {}
        self._ends: dict[tuple[str, str], int] = {}
        self._appended, self._expected = np.empty(0), 0
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

    def acknowledged(self, partition: int, offset: int) -> None:
        """Record where Kafka has put an update that the producer sent."""
        with self._changed:
            self._acknowledged += 1
            self._last[partition] = max(offset, self._last.get(partition, offset))

    def epoch_evaluated(self, result: EpochResult, program: CheckedProgram) -> None:
        """Record the iterations of the epoch."""
        del program
        with self._changed:
            self._totals = replace(self._totals, iterations=result.iterations)

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """Remember what the epoch has published, until it is finished."""
        del rejected
        self._appended, self._expected = time.time() - latencies, changes

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """Expect the epoch's changes at the consumer, and record position and size of the state."""
        del seconds
        facts = present = terms = 0
        ends: dict[tuple[str, str], int] = {}
        if self.pipeline is not None:
            session = self.pipeline.session
            ends = {each[:2]: each[3] for each in parts(self.pipeline.position or {})}
            statistics = session.engine.statistics()
            facts, present = statistics.asserted, statistics.present
            terms = len(session.dictionary)
        with self._changed:
            self._ends = ends
            waiting = self._waiting.setdefault(epoch, _Epoch())
            waiting.appended, waiting.expected = self._appended, self._expected
            self._settle(epoch)
            self._totals = replace(
                self._totals,
                epoch=epoch,
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

    def await_settled(self, seconds: float) -> Totals | None:
        """Wait until everything sent is evaluated, and everything evaluated received.

        Returns:
            The totals of that moment; None if it has not come in time.
        """
        with self._changed:
            return self.snapshot() if self._changed.wait_for(self._settled, seconds) else None

    def snapshot(self) -> Totals:
        """The current totals."""
        earliest = time.time() - _RECENT_SECONDS
        with self._changed:
            recent = [seconds for receipt, seconds in self._latencies if receipt >= earliest]
            return replace(
                self._totals,
                others=sum(self._ends.values()) - self._acknowledged,
                recent=np.concatenate([np.empty(0), *recent]),
                all=np.concatenate([np.empty(0), *(seconds for _, seconds in self._latencies)]),
                latest=tuple(self._latest),
            )

    def _settled(self) -> bool:
        is_read = all(
            offset < self._ends.get((self._topic, str(partition)), 0)
            for partition, offset in self._last.items()
        )
        is_sent = self._acknowledged == self._totals.updates_in
        return is_sent and is_read and not self._waiting

    def _settle(self, number: int) -> None:
        """Record the latencies of an epoch's inputs once its last change has been received."""
        epoch = self._waiting[number]
        if epoch.appended is not None and epoch.received == epoch.expected:
            del self._waiting[number]
            if epoch.expected:
                self._latencies.append((epoch.receipt, epoch.receipt - epoch.appended))
            self._changed.notify_all()
