"""Plain-text view for logs and pipes. Invariant: about one line of totals per second."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from streamreasoner.demo.report import status, summary_lines, verdict_lines
from streamreasoner.demo.university import EventKind

if TYPE_CHECKING:
    from streamreasoner.demo.producer import Announcement
    from streamreasoner.demo.tally import Totals
    from streamreasoner.demo.verdict import StateComparison
    from streamreasoner.demo.view import StartupStep, Summary


class PlainView:
    """Prints to standard output."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: tuple[float, int] | None = None

    def step(self, step: StartupStep) -> None:
        """Print a step when it starts and when it ends; a first run may take minutes."""
        if step.seconds is None:
            self._print(f"{step.began:6.1f} s  {step.what} ...")
        else:
            self._print(f"{step.began + step.seconds:6.1f} s  {step.what}: {step.seconds:.1f} s")

    def stream(self) -> None:
        """Begin a new paragraph."""
        self._print("")

    def announce(self, announcement: Announcement) -> None:
        """Print all but everyday events."""
        if announcement.kind is not EventKind.EVERYDAY:
            self._print(f"        {announcement.kind.value}: {announcement.sentence}")

    def show(self, snapshot: Totals, elapsed: float) -> None:
        """Print the totals when a second has passed."""
        if self._last is None:
            self._last = (elapsed, snapshot.updates_in)
        then, updates = self._last
        if elapsed - then >= 1:
            self._last = (elapsed, snapshot.updates_in)
            self._print(
                status(snapshot, elapsed, (snapshot.updates_in - updates) / (elapsed - then))
            )

    def finish(self, reason: str) -> None:
        """Print why the stream has ended."""
        self._print(f"\n{reason}")

    def conclude(self, summary: Summary, verdict: StateComparison) -> None:
        """Print the run and the result."""
        for line in (*summary_lines(summary), "", *verdict_lines(verdict)):
            self._print(line)

    def close(self) -> None:
        """Do nothing: the view holds no resources."""

    def _print(self, line: str) -> None:
        with self._lock:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
