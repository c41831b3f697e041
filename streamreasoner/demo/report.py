"""The run and its verdict as text. Invariant: every view prints the same lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from streamreasoner.demo.tally import Totals
    from streamreasoner.demo.verdict import StateComparison
    from streamreasoner.demo.view import Summary


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
        f"  {snapshot.facts:,} facts asserted, {snapshot.derived:,} derived,"
        f" {snapshot.terms:,} terms"
        f"  epoch {snapshot.epoch}, {snapshot.iterations} iterations"
    )


def summary_lines(summary: Summary) -> Iterator[str]:
    """The run in a few lines."""
    totals = summary.snapshot
    yield (
        f"{summary.seconds:.0f} s of stream: {totals.updates_in:,} updates in"
        f" ({totals.asserted_in:,} asserted, {totals.retracted_in:,} retracted),"
        f" {totals.plus + totals.minus:,} derived changes out"
        f" (+{totals.plus:,} -{totals.minus:,}), {totals.epoch + 1:,} epochs."
    )
    yield (
        f"Latency after the opening, from Kafka's append of an input to the receipt of what it"
        f" derives: {percentiles(totals.all)}."
    )
    yield f"The first derived change came {summary.first_change:.1f} s after the start."


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
    yield conclusion(verdict)


def conclusion(verdict: StateComparison) -> str:
    """The result in a sentence."""
    if verdict.equal:
        return "The closure kept up to date is equal to the evaluation from scratch."
    return "The closure kept up to date DIFFERS from the evaluation from scratch."
