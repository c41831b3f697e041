"""The port of a demo view. Invariant: the demo itself never prints.

A view is called from several threads; it does its own locking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from streamreasoner.demo.comparison import Verdict
    from streamreasoner.demo.producer import News
    from streamreasoner.demo.tally import Snapshot


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the start, from when it begins.

    Attributes:
        what: What is started, for people.
        began: Seconds from the start of the process.
        seconds: How long it took; None while it runs.
    """

    what: str
    began: float
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The run in numbers.

    Attributes:
        snapshot: The totals at its end.
        seconds: How long the stream ran.
        first_change: Seconds from the start of the process to the first derived change.
    """

    snapshot: Snapshot
    seconds: float
    first_change: float


class View(Protocol):
    """Shows a demo to people."""

    def step(self, step: Step) -> None:
        """A step of the start has begun or is done."""

    def stream(self) -> None:
        """The start is over; what follows is the stream."""

    def tell(self, news: News) -> None:
        """Something has happened at the university."""

    def show(self, snapshot: Snapshot, elapsed: float) -> None:
        """The totals after `elapsed` seconds of stream; called a few times a second."""

    def finish(self, reason: str) -> None:
        """The stream is over; what follows is the comparison."""

    def conclude(self, summary: Summary, verdict: Verdict) -> None:
        """The result."""

    def close(self) -> None:
        """Restore the terminal; may be called more than once."""
