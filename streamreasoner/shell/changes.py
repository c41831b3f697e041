"""The changes of an epoch, as lines. Invariant: the `+` and `-` lines sum to the present facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.query.facts import sort_key
from streamreasoner.shell.facts import fact_of
from streamreasoner.shell.line import Line, Tone, count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.api.updates import Diff, Update
    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.query.facts import Fact
    from streamreasoner.shell.facts import FactPrinter


def changes(diff: Diff, printer: FactPrinter) -> tuple[list[Line], str]:
    """A line for each fact that changed, and the totals.

    `# asserted` and `# retracted` mark changes of the input; all others are derived. A line with
    `=` is a fact that stays present but changes between asserted and derived.
    """
    closure, derived = _signs(diff.changes), _signs(diff.derived)
    lines = [
        _line(printer.text(fact), closure.get(fact, 0), derived.get(fact, 0))
        for fact in sorted({**closure, **derived}, key=sort_key)
    ]
    derived_count = sum(fact in derived for fact in closure)
    derived_part = f", {derived_count:,} derived" if closure else ""
    return lines, _summary(len(closure), derived_part, diff.iterations)


def totals(result: EpochResult) -> tuple[list[Line], str]:
    """A line for each predicate with the number of its changes, and the totals."""
    lines = []
    for part in sorted(result.closure, key=lambda part: part.predicate):
        present = int((part.multiplicity > 0).sum())
        signed = (("+", present), ("-", len(part.multiplicity) - present))
        numbers = " ".join(f"{sign}{number:,}" for sign, number in signed if number)
        if numbers:
            lines.append(Line(f"{part.predicate}: {numbers}"))
    total = sum(len(part.multiplicity) for part in result.closure)
    return lines, _summary(total, "", result.iterations)


def _signs(updates: Iterable[Update]) -> dict[Fact, int]:
    return {fact_of(update): update.multiplicity for update in updates}


def _line(fact: str, closure: int, derived: int) -> Line:
    """One fact with the signs of its changes; 0 means no change."""
    match closure, derived:
        case 1, 0:
            return Line(f"+ {fact}  # asserted", Tone.PRESENT)
        case 1, _:
            return Line(f"+ {fact}", Tone.PRESENT)
        case -1, 0:
            return Line(f"- {fact}  # retracted", Tone.ABSENT)
        case -1, _:
            return Line(f"- {fact}", Tone.ABSENT)
        case _, 1:
            return Line(f"= {fact}  # retracted, still derived", Tone.NOTE)
        case _:
            return Line(f"= {fact}  # asserted, was derived", Tone.NOTE)


def _summary(total: int, derived: str, iterations: int) -> str:
    changed = count(total, "change", "changes")
    return f"{changed}{derived}; {count(iterations, 'iteration', 'iterations')}"
