"""The flags of REGEX and REPLACE, written into the pattern (XPath and XQuery functions, 5.6.1.1).

Invariant: a pattern with its flags is one for RE2, which has `i`, `m` and `s` but not `q` and `x`.
"""

from __future__ import annotations

import re
from typing import Final

FLAGS: Final = frozenset("imqsx")
"""Case does not matter; `^` and `$` match at lines; literal text; `.` matches line ends; spaces."""

_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")
_SPACES = "\t\n\r "


def flagged(pattern: str, flags: str) -> str | None:
    """The pattern of RE2 for a pattern and its flags; None if there is no such flag."""
    if not FLAGS.issuperset(flags):
        return None
    kept = set(flags) & {"i"} if "q" in flags else set(flags) - {"x"}
    if "q" in flags:
        pattern = _SPECIAL.sub(r"\\\g<0>", pattern)
    elif "x" in flags:
        pattern = _compact(pattern)
    return f"(?{''.join(sorted(kept))}){pattern}" if kept else pattern


def flagged_replacement(replacement: str, flags: str) -> str:
    r"""The replacement of REPLACE, in which `$` and `\` are characters with the flag `q`."""
    return re.sub(r"[\\$]", r"\\\g<0>", replacement) if "q" in flags else replacement


def _compact(pattern: str) -> str:
    """A pattern without white space, except in classes such as `[a b]`."""
    kept = []
    depth, is_escaped = 0, False
    for character in pattern:
        if depth or character not in _SPACES:
            kept.append(character)
        elif not is_escaped:
            continue
        if not is_escaped:
            depth += (character == "[") - (character == "]" and depth > 0)
        is_escaped = character == "\\" and not is_escaped
    return "".join(kept)
