"""A state that outgrows memory. Invariant: the batch that makes it too large is finished first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.streaming.ports import NullObserver

if TYPE_CHECKING:
    from collections.abc import Callable


class Growth(NullObserver):
    """Looks at the size of the state after each batch.

    Attributes:
        exceeded: Whether the state has become too large.

    Args:
        exceeds: Tells whether it is too large.
        stop: Ends the query after the batch that runs.
    """

    def __init__(self, exceeds: Callable[[], bool], stop: Callable[[], None]) -> None:
        self._exceeds = exceeds
        self._stop = stop
        self.exceeded = False

    def batch_finished(self, epoch: int, seconds: float) -> None:
        """Ask for the end when it is time."""
        del epoch, seconds
        if self._exceeds():
            self.exceeded = True
            self._stop()
