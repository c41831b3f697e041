"""A state that outgrows memory. Invariant: the batch that makes it too large is finished first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.streaming.ports import NullObserver

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.backends.choice import Limit


class Growth(NullObserver):
    """Looks at the size of the state after each batch.

    Attributes:
        exceeded: Whether the state has become too large.

    Args:
        size: Tells its size in bytes.
        limit: How large it may be.
        stop: Ends the query after the batch that runs.
    """

    def __init__(self, size: Callable[[], int], limit: Limit, stop: Callable[[], None]) -> None:
        self._size = size
        self._limit = limit
        self._stop = stop
        self.exceeded = False

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """Ask for the end when it is time."""
        del epoch, seconds
        if self._limit.exceeded(self._size()):
            self.exceeded = True
            self._stop()
