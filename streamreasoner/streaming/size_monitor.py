"""Stop a query whose state outgrows memory. Invariant: the batch that exceeds it is finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.streaming.ports import PipelineObserver

if TYPE_CHECKING:
    from collections.abc import Callable


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
