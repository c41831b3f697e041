"""Startup of the demo. Invariant: a view sees every step begin, and end unless it fails.

The broker (Java) starts while the kernels (Python) are compiled.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from streamreasoner.demo.background import background
from streamreasoner.demo.view import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from streamreasoner.demo.view import View


class Startup:
    """Times the steps of the startup, measured from the start of the process.

    Args:
        view: Notified of each step.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._process_start = _process_start()

    def elapsed(self) -> float:
        """Seconds since the process began."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) - self._process_start

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Show a step and measure its duration."""
        began = self.elapsed()
        self._view.step(Step(what, began))
        yield
        self._view.step(Step(what, began, self.elapsed() - began))

    def in_background(self, what: str, work: Callable[[], None]) -> Future[None]:
        """Run a step on another thread."""

        def run() -> None:
            with self.step(what):
                work()

        return background(what, run)


def _process_start() -> float:
    """When this process began, in seconds since the machine booted; see proc_pid_stat(5)."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")
