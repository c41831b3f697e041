"""Where a command ends. Invariant: the inputs of a text, joined by line breaks, are the text.

A command is one line, unless something in it is open: a parenthesis, a list after a comma, or a
statement that needs its dot. A blank line always ends it; in a script, so does a line that begins
with the name of a command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamreasoner.lang.statements import statements
from streamreasoner.shell.command import ALIASES, CATALOGUE, Takes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WORD = re.compile(r"\s*(@?[A-Za-z](?:\w|-(?=\w))*)")
_BEGIN = re.compile(r"@?[A-Za-z][\w-]*(?:\s|\.?$)")
_COMMENT = r"(?:\#|//|%)[^\n]*"
_NOTHING = re.compile(rf"(?:\s|{_COMMENT})*")
_PIECE = re.compile(
    r"""
      \"{3}(?:[^"\\]|\\.|"(?!""))*\"{3} | '{3}(?:[^'\\]|\\.|'(?!''))*'{3}
    | (?P<open>\"{3}|'{3})
    | "(?:[^"\\\n]|\\[^\n])*" | '(?:[^'\\\n]|\\[^\n])*'
    | <[^<>\s"]*>
    | (?:\#|//|%)[^\n]*
    """,
    re.VERBOSE | re.DOTALL,
)


def first_word(text: str) -> tuple[str, int]:
    """The command that a text begins with, aliases resolved, and the offset of the rest.

    An unknown word is returned unchanged; the word is empty if the text begins with none.
    """
    match = _WORD.match(text)
    if match is None:
        return "", len(text) - len(text.lstrip())
    return ALIASES.get(match[1], match[1]), match.end()


def is_silent(text: str) -> bool:
    """Whether a text has only white space and comments."""
    return _NOTHING.fullmatch(text) is not None


def is_ended(text: str) -> bool:
    """Whether a text of the rule language ends with the dot of a statement."""
    # If the text ends with a statement's dot, the added letter is the only text after it.
    extended = f"{text}\nx"
    start, _ = statements(extended)[-1]
    return start > 0 and is_silent(extended[start:-1])


def is_open(text: str) -> bool:
    """Whether a parenthesis, a bracket or a list is open at the end of a text."""
    rest = _PIECE.sub(" ", text)
    depth = sum(rest.count(mark) for mark in "([") - sum(rest.count(mark) for mark in ")]")
    return depth > 0 or rest.rstrip().endswith(",")


def is_complete(text: str) -> bool:
    """Whether a command is complete, so that it can be executed."""
    if text.rpartition("\n")[2].strip() == "" or is_silent(text):
        return True
    word, end = first_word(text)
    takes = CATALOGUE[word].takes if word in CATALOGUE else Takes.NOTHING
    rest = text[end:]
    if takes in (Takes.NOTHING, Takes.WORD):
        return True
    # A dot inside an unfinished long string ends nothing.
    if any(piece["open"] for piece in _PIECE.finditer(rest)):
        return False
    match takes:
        case Takes.RULES:
            return is_ended(rest)
        case Takes.FACTS:
            return is_ended(rest) or not (is_silent(rest) or is_open(rest))
        case _:
            return is_ended(rest) or not is_open(rest)


def inputs(lines: Iterable[str]) -> Iterator[str]:
    """Commands, comments and blank lines, each without the line break at its end."""
    held: list[str] = []
    for line in (line.rstrip("\r\n") for line in lines):
        if held and _BEGIN.match(line) and first_word(line)[0] in CATALOGUE:
            # An unfinished command must not swallow the commands after it.
            yield "\n".join(held)
            held = []
        if not is_silent(line):
            held.append(line)
            if not is_complete("\n".join(held)):
                continue
        elif held and line.strip():
            held.append(line)
            continue
        if held:
            yield "\n".join(held)
        if is_silent(line):
            yield line
        held = []
    if held:
        yield "\n".join(held)
