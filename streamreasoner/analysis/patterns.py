"""Constant regular expressions. Invariant: all of them in a checked program compile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Call, Constant
from streamreasoner.lang.constants import plain_value
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.traversal import walk
from streamreasoner.rdf.term_kind import is_literal
from streamreasoner.values import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Program, Span

_SYNTAX = "patterns have the syntax of RE2; in a string, a backslash is written `\\\\`"
_LOOK_AROUND = "RE2 has no look-around: write a second `matches` or `not matches`"
_HINTS = (
    *((start, _LOOK_AROUND) for start in ("(?=", "(?!", "(?<")),
    *((f"\\{digit}", "RE2 has no back-references") for digit in range(1, 10)),
    ("{", "a repetition count is at most 1,000; nested counts multiply"),
    ("\\Z", "the end of the text is written `$` or `\\\\z`"),
)
"""Hints, by the start of the offending part."""


def invalid_patterns(program: Program) -> Iterator[Diagnostic]:
    """Report constant patterns that are not regular expressions."""
    for rule in program.rules:
        for literal in (*rule.heads, *rule.body):
            for node in walk(literal):
                match node:
                    case Call("matches" | "replace", (_, Constant(term) as constant, *_)) if (
                        is_literal(term)
                    ):
                        yield from _check(plain_value(constant), constant, program.text)
                    case _:
                        pass


def _check(pattern: str, constant: Constant, text: str) -> Iterator[Diagnostic]:
    try:
        regex.check(pattern)
    except regex.PatternError as error:
        message = f"not a regular expression: {error.reason}"
        if error.part:
            message += f": `{error.part}`"
        span = _span_of(constant.span, pattern, error.part, text)
        yield Diagnostic("SR243", message, span, _hint(error.part))


def _hint(part: str) -> str:
    return next((hint for start, hint in _HINTS if part.startswith(start)), _SYNTAX)


def _span_of(span: Span, pattern: str, part: str, text: str) -> Span:
    """Return the span of a part of the pattern, or of the constant if that is ambiguous."""
    if text[span.start + 1 : span.end - 1] != pattern or not part or pattern.count(part) != 1:
        return span
    offset = pattern.index(part) + 1
    column, start = span.column + offset, span.start + offset
    return replace(
        span, column=column, start=start, end_column=column + len(part), end=start + len(part)
    )
