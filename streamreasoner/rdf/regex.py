"""Regular expressions in RE2's syntax. Invariant: a search takes time linear in the text.

Patterns come from programs and from data, so a backtracking engine would let one message stop a
pipeline. RE2 runs automata, and refuses what they cannot express.
"""

from __future__ import annotations

from functools import lru_cache

import re2

_PATTERNS = 128
_BYTES = 1 << 21
"""Memory of one compiled pattern; all that are cached take 256 MiB at most."""


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _BYTES
    options.log_errors = False
    # Only the existence of a match matters.
    options.never_capture = True
    return options


_OPTIONS = _options()


class PatternError(ValueError):
    """Text that is not an RE2 regular expression, or one that takes too much memory.

    Attributes:
        reason: What is wrong.
        part: The part of the pattern that is wrong; empty if it cannot be told.
    """

    def __init__(self, reason: str, part: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.part = part


def check(pattern: str) -> None:
    """Accept a pattern.

    Raises:
        PatternError: It is no regular expression, or too large.
    """
    try:
        re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        reason, _, part = error.args[0].decode(errors="replace").partition(": ")
        raise PatternError(reason, part) from None


def search(pattern: str, text: str) -> bool | None:
    """Whether a pattern matches somewhere in a text; None if `check` refuses it."""
    compiled = _compiled(pattern)
    return None if compiled is None else compiled.search(text) is not None


@lru_cache(maxsize=_PATTERNS)
def _compiled(pattern: str) -> re2._Regexp | None:
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error:
        return None
