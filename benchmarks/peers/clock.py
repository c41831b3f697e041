"""What work takes: seconds of processor time, and of the clock alongside them. Invariant: processor
time counts all threads of this process, and child processes once they have ended.
"""  # noqa: D205

from __future__ import annotations

import resource
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long something took.

    Attributes:
        processor: User and system time. Engines are judged by it.
        wall: Time of the clock, which other processes on the machine lengthen.
    """

    processor: float
    wall: float


class Clock:
    """Starts when it is created."""

    def __init__(self) -> None:
        self._children = _of_children()
        self._wall = time.perf_counter()
        self._own = time.process_time()

    def seconds(self) -> Seconds:
        """What passed since the start, but for what this clock itself takes."""
        own = time.process_time() - self._own
        wall = time.perf_counter() - self._wall
        return Seconds(own + _of_children() - self._children, wall)


def processor() -> float:
    """Seconds of processor time of this process and of its children that have ended."""
    return time.process_time() + _of_children()


def _of_children() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def median(values: Iterable[Seconds]) -> Seconds | None:
    """The median of each; None if there are no values."""
    found = list(values)
    if not found:
        return None
    return Seconds(
        statistics.median(value.processor for value in found),
        statistics.median(value.wall for value in found),
    )
