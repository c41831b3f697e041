"""Constant regular expressions. Invariant: those of a checked program compile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Call, Constant, walk
from streamreasoner.lang.constants import plain_value
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.rdf import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Program, Span

_SYNTAX = "patterns have the syntax of RE2; in a string, a backslash is written `\\\\`"
_LOOKING = "RE2 has no look-around: write a second `matches` or `not matches`"
_HINTS = (
    *((start, _LOOKING) for start in ("(?=", "(?!", "(?<")),
    *((f"\\{digit}", "RE2 has no back-references") for digit in range(1, 10)),
    ("{", "a repetition counts to at most 1,000; counts of nested repetitions multiply"),
    ("\\Z", "the end of the text is written `$` or `\\\\z`"),
)
"""What to do, by the start of the part that is wrong."""


def invalid_patterns(program: Program) -> Iterator[Diagnostic]:
    """Report constant patterns of `matches` that are no regular expressions."""
    for rule in program.rules:
        for literal in rule.body:
            for node in walk(literal):
                match node:
                    case Call("matches", (_, Constant(term) as constant)) if term.startswith('"'):
                        yield from _refused(plain_value(constant), constant, program.text)
                    case _:
                        pass


def _refused(pattern: str, constant: Constant, text: str) -> Iterator[Diagnostic]:
    try:
        regex.check(pattern)
    except regex.PatternError as error:
        message = f"not a regular expression: {error.reason}"
        if error.part:
            message += f": `{error.part}`"
        span = _inside(constant.span, pattern, error.part, text)
        yield Diagnostic("SR243", message, span, _hint(error.part))


def _hint(part: str) -> str:
    return next((hint for start, hint in _HINTS if part.startswith(start)), _SYNTAX)


def _inside(span: Span, pattern: str, part: str, text: str) -> Span:
    """Return the place of a part of the pattern; of all of it if that cannot be told."""
    if text[span.start + 1 : span.end - 1] != pattern or not part or pattern.count(part) != 1:
        return span
    offset = pattern.index(part) + 1
    column, start = span.column + offset, span.start + offset
    return replace(
        span, column=column, start=start, end_column=column + len(part), end=start + len(part)
    )
