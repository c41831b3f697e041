"""What the shell says. Invariant: a line has no line break, and its text says all; tones add none.

Commands return lines; a script writes their text, the prompt colours them by their tone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from streamreasoner.errors import ProgramError, StreamReasonerError


class Tone(Enum):
    """What a line is about."""

    PLAIN = "plain"
    PRESENT = "present"
    """A fact became present."""
    ABSENT = "absent"
    """A fact became absent."""
    NOTE = "note"
    """Said about other lines."""
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text."""

    text: str
    tone: Tone = Tone.PLAIN


def lines(text: str, tone: Tone = Tone.PLAIN) -> list[Line]:
    """The lines of a text."""
    return [Line(line, tone) for line in text.splitlines()]


def count(number: int, one: str, many: str) -> str:
    """`1 fact`, `2,000 facts`."""
    return f"{number:,} {one if number == 1 else many}"


def error_lines(error: StreamReasonerError) -> list[Line]:
    """What to say about an error; diagnostics speak for themselves."""
    text = str(error)
    placed = isinstance(error, ProgramError) and error.diagnostics
    return lines(text if placed else f"error: {text}", Tone.ERROR)
