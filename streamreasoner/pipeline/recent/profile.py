"""What the last epochs took. Invariant: a batch waits for no reader, and memory is bounded.

An epoch is made text when it is first asked for, on the thread that asks, and only once.
"""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.observer import PipelineObserver
from streamreasoner.pipeline.recent.rules import Others, Share, WrittenRules, dearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.program.checked import CheckedProgram

EPOCHS: Final = 256
"""Epochs that are remembered."""
STAGES: Final = ("read", "decode", "evaluate", "store", "publish")


@dataclass(slots=True)
class _Epoch:
    """An epoch; what is not known is None."""

    epoch: int
    input: int
    time: int = 0
    seconds: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)
    changes: int | None = None
    latency: float | None = None
    lag: int | None = None
    rules: tuple[Share, ...] = ()
    others: Others = field(default_factory=Others)
    text: str | None = None

    def document(self) -> str:
        """The epoch in JSON."""
        return json.dumps(
            {
                "epoch": self.epoch,
                "time": timestamps.iso(self.time),
                "seconds": _rounded(self.seconds),
                "steps": {stage: _rounded(self.stages.get(stage)) for stage in STAGES},
                "input": self.input,
                "changes": self.changes,
                "lag": self.lag,
                "latency": _rounded(self.latency),
                "rules": [*map(_described, self.rules)],
                "others": {"rules": self.others.rules, **_numbers(self.others)},
            },
            ensure_ascii=False,
        )


class Profile(PipelineObserver):
    """Remembers what each of the last epochs took."""

    def __init__(self) -> None:
        self._epochs: deque[_Epoch] = deque(maxlen=EPOCHS)
        self._current = _Epoch(0, 0)
        self._rules: WrittenRules | None = None
        self._work: list[tuple[WrittenRules, NDArray[np.int64], NDArray[np.int64]]] = []
        self._lag: Callable[[], int | None] = lambda: None
        self._waits = False

    def watch(self, lag: Callable[[], int | None]) -> None:
        """Ask from now on how many messages wait; called on the threads of readers."""
        self._lag = lag

    def batch_started(self, epoch: int, rows: int) -> None:
        """A batch of `rows` messages begins."""
        self._current, self._work = _Epoch(epoch, rows), []

    def stage(self, name: str, seconds: float) -> None:
        """A stage has taken this long; a batch that is evaluated twice repeats some."""
        stages = self._current.stages
        stages[name] = stages.get(name, 0.0) + seconds

    def epoch_evaluated(self, result: EpochResult, program: CheckedProgram) -> None:
        """The engine has applied the epoch, or a slot of it."""
        before, work = self._rules, result.work()
        if before is None or before.program is not program:
            rules = self._rules = WrittenRules(program)
        else:
            rules = before
        own, former = slice(work.rules), slice(work.rules, None)
        self._work.append((rules, work.firings[own], work.nanoseconds[own]))
        # Of the program before the first epoch of this process nothing is known.
        if before is not None and before is not rules:
            self._work.append((before, work.firings[former], work.nanoseconds[former]))

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """The epoch's transaction is committed."""
        del rejected
        self._current.changes = changes
        if len(latencies):
            self._current.latency = float(np.median(latencies))

    def waiting(self, reason: str | None) -> None:
        """While the batch waits for Kafka, readers do not ask Kafka for the lag."""
        self._waits = reason is not None

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """All durable steps of the batch are done."""
        del epoch
        self._current.seconds = seconds
        if self._work:
            self._current.rules, self._current.others = dearest(self._work)
        self._current.time = time.time_ns() // 1_000_000
        self._epochs.append(self._current)

    def document(self, query: Mapping[str, str]) -> str:
        """The last `epochs` epochs in JSON, oldest first; may be called on any thread.

        The lag is measured now, for the last of them.
        """
        lag = None if self._waits else self._lag()
        epochs = list(self._epochs.copy())[-int(query["epochs"]) :]
        if epochs:
            epochs[-1].lag = lag
        texts = [*map(_final, epochs[:-1]), *(each.document() for each in epochs[-1:])]
        return f'{{"epochs": [{", ".join(texts)}]}}\n'


def _final(epoch: _Epoch) -> str:
    """The JSON of an epoch that is not the last, and does not change any more."""
    if epoch.text is None:
        epoch.text = epoch.document()
    return epoch.text


def _described(share: Share) -> dict[str, object]:
    return {**share.rules.described(share.number), **_numbers(share)}


def _numbers(share: Share | Others) -> dict[str, object]:
    return {"firings": share.firings, "seconds": share.nanoseconds / 1e9}


def _rounded(seconds: float | None) -> float | None:
    """To nanoseconds."""
    return None if seconds is None else round(seconds, 9)
