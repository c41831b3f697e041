"""Tables of results. Invariant: every number is counted from outcomes."""

from __future__ import annotations

from collections import Counter, defaultdict
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeAlias

from conformance.outcome import OWN, Outcome, Verdict
from conformance.reasons import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Results: TypeAlias = "dict[str, dict[str, dict[str, Outcome]]]"
"""Outcomes by suite, system and case."""
_PREAMBLE = """# Conformance

What the official test suites say of streamreasoner, and of other systems in the same run.
`make conformance DIR=… ARGS=--publish` writes this page; `DIR` holds the suites as the W3C
publishes them. A cell has the cases that pass, and those that the system has an operation for.

- *continuous*: the query is added first, then the data is asserted, retracted and asserted again;
  its answers are compared as a set.
- *replayed*: triples are asserted one at a time in random order, then retracted in another one;
  after each step, facts and multiplicities are those of evaluation from scratch.
- *replayed on parts*: the same with the state divided among two other processes
  every few steps, and compared with evaluation from scratch in memory: so the two backends agree
  as well. These states fit the driver; tests at length have steps whose rows do not.
- The suites have no rules of shapes. Cases of the project's own are replayed in its tests, on both
  backends.
- *messages*: each document is the value of a message of an input topic.
- Numbers are compared by value, as the suites write computed numbers in several forms.

"""
_PEERS = ("pyoxigraph", "rdflib", "pyshacl", "owlrl")
_NO_REASON = "no reason is known"


def table(results: Results) -> str:
    """A row for each suite, with a column for each system."""
    systems = list(dict.fromkeys(name for each in results.values() for name in each))
    lines = [f"| suite | {' | '.join(systems)} |", f"|---|{'---:|' * len(systems)}"]
    for suite, by_system in results.items():
        cells = [_score(by_system.get(system, {}).values()) for system in systems]
        lines.append(f"| {suite} | {' | '.join(cells)} |")
    return "\n".join(lines)


def causes(results: Results, reasons: Mapping[str, str], system: str) -> str:
    """A row for each reason why a system does not pass cases; empty if it passes all."""
    found: dict[str, list[tuple[str, Verdict]]] = defaultdict(list)
    for by_system in results.values():
        for name, each in by_system.get(system, {}).items():
            if each.verdict is not Verdict.PASSED:
                why = reason_of(reasons, system, name) or _NO_REASON
                found[why].append((name, each.verdict))
    rows = []
    for why, cases in found.items():
        counts = Counter(verdict for _, verdict in cases)
        outcomes = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        rows.append(f"| {why} | {outcomes} | {', '.join(name for name, _ in cases)} |")
    return "\n".join(["| why | outcome | cases |", "|---|---|---|", *rows]) if rows else ""


def document(results: Results, reasons: Mapping[str, str], earl: Mapping[str, str]) -> str:
    """The page of conformance: the table, and why cases of ours do not pass.

    Args:
        results: The outcomes.
        reasons: Why a case does not pass.
        earl: The file of each report in EARL, by the name of the specification.
    """
    links = ", ".join(f"[{name}]({file})" for name, file in earl.items())
    versions = ", ".join(f"{name} {version(name)}" for name in _PEERS)
    parts = [_PREAMBLE, table(results), f"\n\nThe other systems are {versions}.\n"]
    parts.append(
        f"Outcomes of each test, in [EARL](https://www.w3.org/TR/EARL10-Schema/): {links}.\n"
    )
    parts += [
        f"\n## Where {system} differs\n\n{rows}\n"
        for system in OWN
        if (rows := causes(results, reasons, system))
    ]
    return "".join(parts)


def _score(outcomes: Iterable[Outcome]) -> str:
    counts = Counter(each.verdict for each in outcomes)
    total = sum(counts.values())
    return f"{counts[Verdict.PASSED]} of {total}" if total else ""
