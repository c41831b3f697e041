"""The interface of a view. Invariant: the demo prints only through its view.

A view is called from several threads; it does its own locking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from streamreasoner.demo.producer import Announcement
    from streamreasoner.demo.tally import Totals
    from streamreasoner.demo.verdict import StateComparison


@dataclass(frozen=True, slots=True)
class StartupStep:
    """A step of the startup, running or done.

    Attributes:
        what: What is started, for display.
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
        snapshot: The final totals.
        seconds: How long the stream ran.
        first_change: Seconds from the start of the process to the first derived change.
    """

    snapshot: Totals
    seconds: float
    first_change: float


class View(Protocol):
    """Shows the progress of a demo."""

    def step(self, step: StartupStep) -> None:
        """Show a step of the startup that has begun or is done."""

    def stream(self) -> None:
        """Switch to the stream; the startup is complete."""

    def announce(self, announcement: Announcement) -> None:
        """Show an event at the university."""

    def show(self, snapshot: Totals, elapsed: float) -> None:
        """Show the totals after `elapsed` seconds of stream; called a few times a second."""

    def finish(self, reason: str) -> None:
        """Show why the stream has ended; the comparison follows."""

    def conclude(self, summary: Summary, verdict: StateComparison) -> None:
        """Show the summary and the result of the comparison."""

    def close(self) -> None:
        """Restore the terminal; may be called more than once."""
