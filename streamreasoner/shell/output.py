"""What the shell prints. Invariant: a line has no line break, and a printed fact reads as the fact.

Commands return lines; a script writes their text, the prompt colours them by tone. The tone carries
no information.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.api.shown import signed_counts
from streamreasoner.counts import counted
from streamreasoner.errors import ProgramError, StreamReasonerError
from streamreasoner.facts import Fact, sort_key
from streamreasoner.lang.ast import NOWHERE, Atom, Constant
from streamreasoner.lang.printer import print_expression, print_literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from streamreasoner.api.results import Diff
    from streamreasoner.api.updates import Update
    from streamreasoner.engine.epoch import EpochResult


class Tone(Enum):
    """The role of a line, which determines its colour."""

    PLAIN = "plain"
    PRESENT = "present"
    """A fact became present."""
    ABSENT = "absent"
    """A fact became absent."""
    NOTE = "note"
    """A remark about other lines, such as a total."""
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text."""

    text: str
    tone: Tone = Tone.PLAIN


def lines(text: str, tone: Tone = Tone.PLAIN) -> list[Line]:
    """The lines of a text."""
    return [Line(line, tone) for line in text.splitlines()]


def error_lines(error: StreamReasonerError) -> list[Line]:
    """The lines of an error; rendered diagnostics need no `error:` before them."""
    text = str(error)
    rendered = isinstance(error, ProgramError) and error.diagnostics
    return lines(text if rendered else f"error: {text}", Tone.ERROR)


@dataclass(frozen=True, slots=True)
class FactPrinter:
    """Prints facts in the rule language.

    Attributes:
        prefixes: Prefix name to IRI; IRIs are shortened by them.
    """

    prefixes: Mapping[str, str]
    _constants: dict[str, Constant] = field(default_factory=dict)

    def text(self, fact: Fact) -> str:
        """`path(ex:a, 5)`, without a dot."""
        arguments = tuple(self._constant(term) for term in fact.arguments)
        return print_literal(Atom(fact.predicate, arguments, NOWHERE), self.prefixes)

    def bindings(self, names: Iterable[str], terms: Iterable[str]) -> str:
        """`?x = ex:a, ?y = 5`; `true` if there is no variable."""
        values = (print_expression(self._constant(term), self.prefixes) for term in terms)
        equal = (f"?{name} = {value}" for name, value in zip(names, values, strict=True))
        return ", ".join(equal) or "true"

    def _constant(self, term: str) -> Constant:
        return self._constants.setdefault(term, Constant(term, NOWHERE))


def fact_of(update: Update) -> Fact:
    """The fact of an update."""
    return Fact(update.predicate, tuple(map(to_ntriples, update.args)))


def changes(diff: Diff, printer: FactPrinter) -> tuple[list[Line], str]:
    """A line for each fact that changed, and the totals; `+` and `-` lines sum to what is present.

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


def totals(result: EpochResult, shown: Collection[str]) -> tuple[list[Line], str]:
    """A line for each predicate that is shown with the number of its changes, and the totals."""
    parts = [part for part in result.closure if part.predicate in shown]
    lines = [Line(f"{name}: {numbers}") for name, numbers in signed_counts(parts).items()]
    total = sum(len(part.multiplicity) for part in parts)
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
    changed = counted(total, "change")
    return f"{changed}{derived}; {counted(iterations, 'iteration')}"
