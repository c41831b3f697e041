"""Tables of results. Invariant: every number is counted from outcomes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from conformance.outcome import CONTINUOUS, MESSAGES, OURS, Outcome, Verdict
from conformance.reasons import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Results: TypeAlias = "dict[str, dict[str, dict[str, Outcome]]]"
"""Outcomes by suite, system and case."""
_PREAMBLE = """# Conformance

What the official test suites say of streamreasoner, and of other systems in the same run.
`make conformance DIR=… ARGS=--publish` writes this page; `DIR` holds the suites as the W3C
publishes them. A cell has the cases that pass, and those that the system has an operation for.

- *continuous*: the query is added first, and then the data; its answers are compared as a set.
- *messages*: each document is the value of a message of an input topic.
- Numbers are compared by value, as the suites write computed numbers in several forms.

"""


def table(results: Results) -> str:
    """A row for each suite, with a column for each system."""
    systems = list(dict.fromkeys(name for each in results.values() for name in each))
    lines = [f"| suite | {' | '.join(systems)} |", f"|---|{'---:|' * len(systems)}"]
    for suite, by_system in results.items():
        cells = [_score(by_system.get(system, {}).values()) for system in systems]
        lines.append(f"| {suite} | {' | '.join(cells)} |")
    return "\n".join(lines)


def document(results: Results, reasons: Mapping[str, str]) -> str:
    """The page of conformance: the table, and each case of ours that does not pass, with why."""
    parts = [_PREAMBLE, table(results), "\n"]
    for system in (OURS, CONTINUOUS, MESSAGES):
        rows = [
            f"| {suite} | {name} | {found.verdict} | {reason_of(reasons, system, name) or ''} |"
            for suite, by_system in results.items()
            for name, found in by_system.get(system, {}).items()
            if found.verdict is not Verdict.PASSED
        ]
        if rows:
            parts.append(f"\n## Where {system} differs\n\n")
            parts.append("| suite | case | outcome | why |\n|---|---|---|---|\n")
            parts.append("\n".join(rows) + "\n")
    return "".join(parts)


def _score(outcomes: Iterable[Outcome]) -> str:
    counts = Counter(each.verdict for each in outcomes)
    total = sum(counts.values())
    return f"{counts[Verdict.PASSED]} of {total}" if total else ""
