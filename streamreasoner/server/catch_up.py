"""When the lag will be worked off, at the present rates. Invariant: a lag of 0 takes no time."""

from __future__ import annotations

import math
import threading
import time
from collections import deque

_BATCHES = 8
_WINDOW_SECONDS = 60.0
# Two scrapes in quick succession would measure the size of one batch of the producer.
_LEAST_SECONDS = 1.0


class CatchUp:
    """Estimates the time from the last batches and from the growth of the input; thread-safe.

    With a lag of *n* messages, *p* of which are processed and *a* of which arrive in a second, the
    lag is gone after n / (p - a) seconds, and never if a is not below p.

    Args:
        interval: Seconds from one batch's start to the next, at least.
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._lock = threading.Lock()
        self._batches: deque[tuple[int, float]] = deque(maxlen=_BATCHES)
        self._read = 0
        self._ends: deque[tuple[float, int]] = deque()

    def batch(self, messages: int, seconds: float) -> None:
        """A batch has taken this long."""
        if messages == 0:
            return
        with self._lock:
            self._read += messages
            self._batches.append((messages, max(seconds, self._interval)))

    def seconds(self, lag: int, now: float | None = None) -> float | None:
        """The expected time; infinite if the lag does not shrink, None if that is not known yet.

        Args:
            lag: Messages that no batch has read yet.
            now: Time of a clock that never goes back; None means the present.
        """
        now = time.monotonic() if now is None else now
        with self._lock:
            arriving = self._arriving(lag, now)
            messages = sum(messages for messages, _ in self._batches)
            taken = sum(seconds for _, seconds in self._batches)
        if lag == 0:
            return 0.0
        if arriving is None or messages == 0:
            return None
        shrinking = messages / taken - arriving
        return lag / shrinking if shrinking > 0 else math.inf

    def _arriving(self, lag: int, now: float) -> float | None:
        """Messages appended in a second, None before the second scrape."""
        end = self._read + lag
        ends = self._ends
        # The last one before the window begins it.
        while len(ends) > 1 and ends[1][0] <= now - _WINDOW_SECONDS:
            ends.popleft()
        if not ends or now - ends[-1][0] >= _LEAST_SECONDS:
            ends.append((now, end))
        began, first = ends[0]
        return max(end - first, 0) / (now - began) if now - began >= _LEAST_SECONDS else None
