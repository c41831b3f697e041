"""Boundaries of statements. Invariant: the spans cover the text without gaps.

Used for error recovery: a broken statement is blanked and the rest parsed again, so that all
mistakes of a file are reported at once.
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
_COMMENT = r"(?:\#|//|%)[^\n]*"
_BLANK = re.compile(rf"(?:\s|{_COMMENT})*")
_TOKEN = re.compile(
    r"""
      \"{3}(?:[^"\\]|\\.|"(?!""))*\"{3} | '{3}(?:[^'\\]|\\.|'(?!''))*'{3}
    | (?P<open>\"{3}|'{3})
    | "(?:[^"\\\n]|\\[^\n])*" | '(?:[^'\\\n]|\\[^\n])*'
    | <[^<>\s"]*>
    | (?<=[\w)\]}])[ \t]*%  # the operator, as it follows an operand
    | (?:\#|//|%)[^\n]*
    """,
    re.VERBOSE | re.DOTALL,
)


def statements(text: str) -> list[tuple[int, int]]:
    """Return (start, end) offsets of statements; blanks and comments belong to the next one."""
    spans = []
    start = 0
    at_start = True
    position = 0
    while (piece := _PIECE.search(text, position)) is not None:
        position = piece.end()
        if piece["percent"] is not None and not at_start:
            position = piece.start() + 1
        elif piece["dot"] is not None:
            spans.append((start, position))
            start = position
            at_start = True
        elif piece["comment"] is None and piece["percent"] is None:
            at_start = False
    if start < len(text) or not spans:
        spans.append((start, len(text)))
    return spans


def blank(text: str, start: int, end: int) -> str:
    """Return `text` with `text[start:end]` blanked, keeping offsets and lines."""
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def is_blank(text: str) -> bool:
    """Whether a text consists of white space and comments only."""
    return _BLANK.fullmatch(text) is not None


def is_terminated(text: str) -> bool:
    """Whether a text of the rule language ends with the dot that terminates a statement."""
    # If the text ends with a statement's dot, the added letter is the only text after it.
    extended = f"{text}\nx"
    start, _ = statements(extended)[-1]
    return start > 0 and is_blank(extended[start:-1])


def is_open(text: str) -> bool:
    """Whether a parenthesis, a bracket, a brace or a list is open at the end of a text."""
    rest = _TOKEN.sub(" ", text)
    depth = sum(rest.count(mark) for mark in "([{") - sum(rest.count(mark) for mark in ")]}")
    return depth > 0 or rest.rstrip().endswith(",")


def is_unfinished(text: str) -> bool:
    """Whether a long string is open at the end of a text."""
    return any(piece["open"] for piece in _TOKEN.finditer(text))
