"""Constant regular expressions. Invariant: those of a checked program can be compiled."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Call, Constant, walk
from streamreasoner.lang.constants import plain_value
from streamreasoner.lang.diagnostic import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Program, Span

_HINT = "patterns are those of Python's `re`; in a string, a backslash is written `\\`"


def invalid_patterns(program: Program) -> Iterator[Diagnostic]:
    """Report constant patterns of `matches` that are no regular expressions."""
    for rule in program.rules:
        for literal in rule.body:
            for node in walk(literal):
                match node:
                    case Call("matches", (_, Constant(term) as constant)) if term.startswith('"'):
                        yield from _compiled(plain_value(constant), constant, program.text)
                    case _:
                        pass


def _compiled(pattern: str, constant: Constant, text: str) -> Iterator[Diagnostic]:
    try:
        with warnings.catch_warnings():
            # Python warns about the style of some patterns that it compiles.
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except re.error as error:
        position = error.pos or 0
        where = f"at character {position + 1} of the pattern"
        message = f"not a regular expression: {error.msg} {where}"
        yield Diagnostic("SR243", message, _inside(constant.span, pattern, position, text), _HINT)
    except (OverflowError, RecursionError) as error:
        yield Diagnostic("SR243", f"not a regular expression: {error}", constant.span, _HINT)


def _inside(span: Span, pattern: str, position: int, text: str) -> Span:
    """Return the place of one character of the pattern, or of all if its string has escapes."""
    if text[span.start + 1 : span.end - 1] != pattern:
        return span
    offset = min(position, max(len(pattern) - 1, 0)) + 1
    column, start = span.column + offset, span.start + offset
    return replace(span, column=column, start=start, end_column=column + 1, end=start + 1)
