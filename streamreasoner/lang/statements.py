"""Where statements begin and end. Invariant: the spans cover the text without a gap.

Used to go on after a syntax mistake: the broken statement is blanked and the rest read again, so
that one reading reports all mistakes of a file.
"""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""
      (?P<comment>(?:\#|//)[^\n]*)
    | (?P<percent>%[^\n]*)
    | \"{3}(?:[^"\\]|\\.|"(?!""))*\"{3} | '{3}(?:[^'\\]|\\.|'(?!''))*'{3}
    | "(?:[^"\\\n]|\\[^\n])*" | '(?:[^'\\\n]|\\[^\n])*'
    | <[^<>\s"]*>
    | [\w:?@](?:[\w:.\-]*[\w:\-])?
    | \.[0-9]+
    | (?P<dot>\.)
    | (?P<other>\S)
    """,
    re.VERBOSE | re.DOTALL,
)


def statements(text: str) -> list[tuple[int, int]]:
    """Return (start, end) offsets of the statements; blanks and comments belong to the next one."""
    spans = []
    start = 0
    fresh = True
    position = 0
    while (piece := _PIECE.search(text, position)) is not None:
        position = piece.end()
        if piece["percent"] is not None and not fresh:
            position = piece.start() + 1
        elif piece["dot"] is not None:
            spans.append((start, position))
            start = position
            fresh = True
        elif piece["comment"] is None and piece["percent"] is None:
            fresh = False
    if start < len(text) or not spans:
        spans.append((start, len(text)))
    return spans


def blank(text: str, start: int, end: int) -> str:
    """Return `text` with blanks for `text[start:end]`; offsets and lines stay the same."""
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
