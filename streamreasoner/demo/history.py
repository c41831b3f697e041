"""Time series for sparklines. Invariant: each series has one value per second."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.demo.tally import Snapshot

_SECONDS = 120
_BARS = "▁▂▃▄▅▆▇█"


class History:
    """Rates and latencies of each of the last seconds.

    Attributes:
        updates: Updates sent per second.
        changes: Derived changes received per second.
        medians: Median latencies in milliseconds.
    """

    def __init__(self) -> None:
        self.updates: deque[float] = deque(maxlen=_SECONDS)
        self.changes: deque[float] = deque(maxlen=_SECONDS)
        self.medians: deque[float] = deque(maxlen=_SECONDS)
        self._last: tuple[float, int, int] | None = None

    def add(self, snapshot: Snapshot, elapsed: float) -> None:
        """Record the totals; each series grows by one value per second."""
        received = snapshot.plus + snapshot.minus
        if self._last is None:
            self._last = (elapsed, snapshot.updates_in, received)
        then, updates, changes = self._last
        if elapsed - then < 1:
            return
        self._last = (elapsed, snapshot.updates_in, received)
        self.updates.append((snapshot.updates_in - updates) / (elapsed - then))
        self.changes.append((received - changes) / (elapsed - then))
        recent = snapshot.recent
        self.medians.append(float(np.median(recent)) * 1000 if len(recent) else 0.0)


def spark(series: Sequence[float], width: int) -> str:
    """The last values as bars; a square-root scale keeps small ones visible beside a burst."""
    shown = list(series)[-width:]
    highest = max(shown, default=0.0) or 1.0
    steps = len(_BARS) - 1
    return "".join(_BARS[round((max(value, 0.0) / highest) ** 0.5 * steps)] for value in shown)
