"""Ticks: time goes on without input. Invariant: only a message moves the frontier, never a clock.

A tick is a message with the present time. The epoch that reads it lets facts expire, and a replay
of that epoch reads the same time. Where a batch is an epoch, it is a control message. Where slots
are, it is one of the partition whose watermark it raises: messages of another topic have no order
with those of the partition, so which of them came after it would depend on how both were read.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from streamreasoner.errors import StreamReasonerError
from streamreasoner.io.observer import PipelineObserver

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger(__name__)


class Ticker(PipelineObserver):
    """Sends a tick whenever there was no batch for some time and something waits for time.

    Args:
        idle: Seconds without a batch, or between two ticks if it is not told of batches.
        is_awaited: Whether facts or updates wait for time; thread-safe.
        send: Sends a tick, given the present time in milliseconds since 1970.
    """

    def __init__(
        self, idle: float, is_awaited: Callable[[], bool], send: Callable[[int], object]
    ) -> None:
        self._idle = idle
        self._is_awaited = is_awaited
        self._send = send
        self._last = time.monotonic()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ticker", daemon=True)

    def start(self) -> None:
        """Begin to watch for idleness."""
        self._last = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """Send no more; returns when the last tick is sent."""
        self._stopped.set()
        self._thread.join()

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """Start counting again."""
        del epoch, seconds
        self._last = time.monotonic()

    def _run(self) -> None:
        while not self._stopped.wait(max(self._last + self._idle - time.monotonic(), 0.01)):
            if time.monotonic() < self._last + self._idle:
                continue
            self._last = time.monotonic()
            if not self._is_awaited():
                continue
            try:
                self._send(time.time_ns() // 1_000_000)
            except StreamReasonerError as error:
                _log.warning("No tick was sent, so event time stands still: %s", error)
