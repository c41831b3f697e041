"""Lines of shell output. Invariant: a line has no line break, and tones carry no information.

Commands return lines; a script writes their text, the prompt colours them by tone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from streamreasoner.errors import ProgramError, StreamReasonerError


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


def count(number: int, singular: str, plural: str) -> str:
    """`1 fact`, `2,000 facts`."""
    return f"{number:,} {singular if number == 1 else plural}"


def error_lines(error: StreamReasonerError) -> list[Line]:
    """The lines of an error; rendered diagnostics need no `error:` before them."""
    text = str(error)
    rendered = isinstance(error, ProgramError) and error.diagnostics
    return lines(text if rendered else f"error: {text}", Tone.ERROR)
