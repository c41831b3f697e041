"""Observers that log and that limit. Invariant: no content of a message is logged."""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import TYPE_CHECKING

from streamreasoner.io.observer import PipelineObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

SUMMARY_SECONDS = 60.0
_log = logging.getLogger(__name__)


class RejectionLog(PipelineObserver):
    """Logs how many messages went to the dead-letter topic, and why.

    Args:
        dead_letter_topic: Name of the topic, for the log.
        every: Least seconds between summaries.
    """

    def __init__(self, dead_letter_topic: str, every: float = SUMMARY_SECONDS) -> None:
        self._topic = dead_letter_topic
        self._every = every
        self._reported: set[str] = set()
        self._pending: Counter[str] = Counter()
        self._last = time.monotonic()

    def published(
        self, changes: int, rejected: Mapping[str, int], latencies: NDArray[np.float64]
    ) -> None:
        """Log a new class at once, and a summary when due."""
        del changes, latencies
        self._pending.update(rejected)
        is_due = time.monotonic() >= self._last + self._every
        if self._pending and (is_due or not self._reported.issuperset(rejected)):
            _log.warning(
                "Rejected: %s. Reasons may quote messages, so they are not logged: those on the "
                "topic %s have them, and `streamreasoner consume --topic %s --from-beginning` with "
                "the configuration of this pipeline prints them.",
                ", ".join(f"{count} {name}" for name, count in sorted(self._pending.items())),
                self._topic,
                self._topic,
            )
            self._reported.update(rejected)
            self._pending.clear()
            self._last = time.monotonic()


class SizeMonitor(PipelineObserver):
    """Stops the query when the state exceeds its size limit, checked after each batch.

    Attributes:
        exceeded: Whether the state has become too large.

    Args:
        exceeds: Returns whether the state is too large.
        stop: Ends the query after the current batch.
    """

    def __init__(self, exceeds: Callable[[], bool], stop: Callable[[], None]) -> None:
        self._exceeds = exceeds
        self._stop = stop
        self.exceeded = False

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """Stop the query if the state is too large."""
        del epoch, seconds
        if self._exceeds():
            self.exceeded = True
            self._stop()
