"""Regular expressions in RE2 syntax. Invariant: a search takes time linear in the text.

Patterns come from programs and from data, so with a backtracking engine one message could stall a
pipeline. RE2 uses automata, and rejects patterns that they cannot express.
"""

from __future__ import annotations

from functools import lru_cache

import re2

_CACHED_PATTERNS = 128
_PATTERN_BYTES = 1 << 21
"""Maximum memory of a compiled pattern; the cache takes 256 MiB at most."""


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _PATTERN_BYTES
    options.log_errors = False
    # Only the existence of a match matters.
    options.never_capture = True
    return options


_OPTIONS = _options()


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


@lru_cache(maxsize=_CACHED_PATTERNS)
def _compiled(pattern: str) -> re2._Regexp | None:
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error:
        return None
