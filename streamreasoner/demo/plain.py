"""The demo as lines of text, and a view for logs and pipes that prints nothing else.

Invariant: every view ends with the same lines. A view is called from several threads.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.counts import counted
from streamreasoner.demo.tally import History
from streamreasoner.demo.university import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from streamreasoner.demo.page import PageAddress
    from streamreasoner.demo.tally import Totals
    from streamreasoner.demo.verdict import StateComparison

_PROGRESS_SECONDS = 10.0


def percentiles(seconds: NDArray[np.float64]) -> str:
    """Median and 95th percentile in milliseconds."""
    if not len(seconds):
        return "p50 - p95 -"
    median, high = np.percentile(seconds, (50, 95)) * 1000
    return f"p50 {median:,.0f} ms p95 {high:,.0f} ms"


def status(snapshot: Totals, elapsed: float, rate: float) -> str:
    """The totals on one line."""
    return (
        f"{elapsed:4.0f} s  in {snapshot.updates_in:,} ({rate:+,.0f}/s)"
        f"  derived +{snapshot.plus:,} -{snapshot.minus:,}"
        f"  latency {percentiles(snapshot.recent)}"
        f"  {counted(snapshot.facts, 'fact')} asserted, {snapshot.derived:,} derived,"
        f" {counted(snapshot.terms, 'term')}"
        f"  epoch {snapshot.epoch}, {counted(snapshot.iterations, 'iteration')}"
    )


def summary_lines(totals: Totals, seconds: float, first_change: float) -> Iterator[str]:
    """The run in a few lines.

    Args:
        totals: The final totals.
        seconds: How long the stream ran.
        first_change: Seconds from the start of the process to the first derived change.
    """
    yield (
        f"{seconds:.0f} s of stream: {counted(totals.updates_in, 'update')} in"
        f" ({totals.asserted_in:,} asserted, {totals.retracted_in:,} retracted),"
        f" {counted(totals.plus + totals.minus, 'derived change')} out"
        f" (+{totals.plus:,} -{totals.minus:,}), {counted(totals.epoch + 1, 'epoch')}."
    )
    yield (
        f"Latency after the opening, from Kafka's append of an input to the receipt of what it"
        f" derives: {percentiles(totals.all)}."
    )
    yield f"The first derived change came {first_change:.1f} s after the start."


def verdict_lines(verdict: StateComparison) -> Iterator[str]:
    """The comparison, its first differences and the result."""
    yield (
        f"Evaluated from scratch: {verdict.asserted:,} asserted facts"
        f" in {verdict.seconds * 1000:,.0f} ms."
    )
    for result in verdict.comparisons:
        outcome = "equal" if result.equal else "DIFFERENT"
        yield (
            f"  {result.what:26} {result.incremental:>9,} rows"
            f"   from scratch {result.scratch:>9,}   {outcome}"
        )
        yield from (f"    {difference}" for difference in result.differences)
    is_or_differs = "is equal to" if verdict.equal else "DIFFERS from"
    yield f"The closure kept up to date {is_or_differs} the evaluation from scratch."


class PlainView:
    """Prints to standard output."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._history = History()
        self._told = 0.0

    def step(self, what: str, now: float, seconds: float | None = None) -> None:
        """Print a step when it starts and when it ends; a first run may take minutes.

        Args:
            what: What is started.
            now: Seconds from the start of the process.
            seconds: How long the step took; None when it starts.
        """
        self._print(f"{now:6.1f} s  {what}{' ...' if seconds is None else f': {seconds:.1f} s'}")

    def progress(self, what: str, now: float, done: int, total: int) -> None:
        """Print how many parts of a step are done, every ten seconds."""
        if now >= self._told + _PROGRESS_SECONDS:
            self._told = now
            self._print(f"{now:6.1f} s  {what}: {done} of {total} ...")

    def open(self, address: PageAddress, configuration: Path) -> None:
        """Print where the page is, a fact to watch there, and how to take part."""
        self._print(f"          Open {address.url} while it runs. A fact to watch:")
        self._print(f"          {address.watched}")
        self._print(f"          To take part: streamreasoner ... --config {configuration}")

    def stream(self) -> None:
        """Begin a new paragraph."""
        self._print("")

    def announce(self, kind: EventKind, sentence: str) -> None:
        """Print all but everyday events."""
        if kind is not EventKind.EVERYDAY:
            self._print(f"        {kind.value}: {sentence}")

    def show(self, snapshot: Totals, elapsed: float) -> None:
        """Print the totals when a second has passed."""
        if self._history.add(snapshot, elapsed):
            self._print(status(snapshot, elapsed, self._history.updates[-1]))

    def finish(self, reason: str) -> None:
        """Print why the stream has ended."""
        self._print(f"\n{reason}")

    def conclude(self, lines: Iterable[str], *, equal: bool) -> None:
        """Print the run and the result, which says itself whether it is equal."""
        del equal
        for line in lines:
            self._print(line)

    def stop(self, what: str) -> None:
        """Print what is stopped, as nothing else is printed until it is."""
        self._print(f"\n{what}")

    def close(self) -> None:
        """Do nothing: the view holds no resources."""

    def _print(self, line: str) -> None:
        with self._lock:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
