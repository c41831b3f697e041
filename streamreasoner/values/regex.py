"""Regular expressions in RE2 syntax. Invariant: a search takes time linear in the text.

Patterns come from programs and from data, so with a backtracking engine one message could stall a
pipeline. RE2 uses automata, and rejects patterns that they cannot express.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import re2

if TYPE_CHECKING:
    from collections.abc import Iterator

_CACHED_PATTERNS = 128
_PATTERN_BYTES = 1 << 21
"""Maximum memory of a compiled pattern; the cache takes 256 MiB at most."""


MAX_REPLACED = 1 << 16
"""Maximum number of characters in which parts are replaced: each match is a search of its own."""

_REPLACEMENT = re.compile(r"[^$\\]+|\\[$\\]|\$[0-9]+")


def _options(*, never_capture: bool) -> re2.Options:
    options = re2.Options()
    options.max_mem = _PATTERN_BYTES
    options.log_errors = False
    options.never_capture = never_capture
    return options


# For a test only the existence of a match matters.
_OPTIONS = _options(never_capture=True)
_CAPTURING = _options(never_capture=False)


class PatternError(ValueError):
    """Text that is not an RE2 regular expression, or one that takes too much memory.

    Attributes:
        reason: What is wrong.
        part: The part of the pattern that is wrong; empty if unknown.
    """

    def __init__(self, reason: str, part: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.part = part


def check(pattern: str) -> None:
    """Check that a pattern compiles.

    Raises:
        PatternError: It is not a regular expression, or too large.
    """
    try:
        re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        reason, _, part = error.args[0].decode(errors="replace").partition(": ")
        raise PatternError(reason, part) from None


def search(pattern: str, text: str) -> bool | None:
    """Whether a pattern matches anywhere in a text; None if `check` rejects the pattern."""
    compiled = _compiled(pattern)
    return None if compiled is None else compiled.search(text) is not None


def replaced(pattern: str, text: str, replacement: str) -> str | None:
    r"""A text with every match of a pattern replaced, as XPath's `fn:replace`.

    `$1` is what the first group matched, `$0` the match, `\$` and `\\` are characters.

    Returns:
        None if `check` rejects the pattern, it matches the empty text, the replacement is
        malformed, or the text has more than `MAX_REPLACED` characters.
    """
    compiled = _compiled(pattern, captures=True)
    if compiled is None or len(text) > MAX_REPLACED or compiled.search("") is not None:
        return None
    parts = list(_parts(replacement, compiled.groups))
    if None in parts:
        return None

    def expanded(match: re2._Match) -> str:
        return "".join((match[p] or "") if isinstance(p, int) else p or "" for p in parts)

    return str(compiled.sub(expanded, text))


def _parts(replacement: str, groups: int) -> Iterator[str | int | None]:
    """The texts and the groups of a replacement; None where it is malformed.

    A group has the longest number that the pattern has; a number of one digit that it has not is
    the empty text.
    """
    at = 0
    while at < len(replacement):
        token = _REPLACEMENT.match(replacement, at)
        if token is None:
            yield None
            return
        at = token.end()
        if not token[0].startswith("$"):
            yield token[0].removeprefix("\\") if len(token[0]) == len("\\$") else token[0]
            continue
        digits = token[0][1:]
        size = next((n for n in range(len(digits), 1, -1) if int(digits[:n]) <= groups), 1)
        yield number if (number := int(digits[:size])) <= groups else ""
        yield digits[size:]


@lru_cache(maxsize=_CACHED_PATTERNS)
def _compiled(pattern: str, *, captures: bool = False) -> re2._Regexp | None:
    try:
        return re2.compile(pattern, _CAPTURING if captures else _OPTIONS)
    except re2.error:
        return None
