"""Logs rejected messages: the first of a class at once, the others in summaries.

Invariant: no content of a message is logged.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import TYPE_CHECKING

from streamreasoner.streaming.ports import PipelineObserver

if TYPE_CHECKING:
    from collections.abc import Mapping

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
                "Rejected: %s. For the reasons, see the headers of the messages on %s: "
                "streamreasoner consume --topic %s --from-beginning --headers "
                "--config CONFIG.",
                ", ".join(f"{count} {name}" for name, count in sorted(self._pending.items())),
                self._topic,
                self._topic,
            )
            self._reported.update(rejected)
            self._pending.clear()
            self._last = time.monotonic()
