r"""The text of a query and its places. Invariant: a place is one of the text as it was given.

Codepoint escapes may stand anywhere (SPARQL 1.1, section 19.2). Those of strings and IRIs are read
with these, so that `"\u0022"` is a quotation mark; others become their characters before.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from streamreasoner.lang.diagnostic import Diagnostic, refuse
from streamreasoner.lang.places import Places

if TYPE_CHECKING:
    from streamreasoner.errors import ProgramError
    from streamreasoner.lang.ast import Span

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
_PART = re.compile(
    r"""
      \#[^\r\n]*
    | \"{3}(?:[^"\\]|\\.|"(?!""))*\"{3} | '{3}(?:[^'\\]|\\.|'(?!''))*'{3}
    | "(?:[^"\\\r\n]|\\.)*" | '(?:[^'\\\r\n]|\\.)*'
    | <[^<>"{}|^`\x00-\x20]*>
    | (?P<escape>\\u[0-9A-Fa-f]{4} | \\U[0-9A-Fa-f]{8})
    """,
    re.VERBOSE | re.DOTALL,
)
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def character(digits: str) -> str | None:
    r"""The character of the digits of `\uXXXX` or `\UXXXXXXXX`; None if it is none."""
    code = int(digits, 16)
    return None if code > _LAST_CODE_POINT or code in _SURROGATES else chr(code)


class Source:
    """The text of a query or update.

    Attributes:
        plain: The text as the grammar reads it.
        language: What the text is to be.

    Args:
        text: The text as it was given.
        name: Its name in diagnostics.
        language: What the text is to be.
        code: The code of diagnostics of the text.
    """

    def __init__(self, text: str, name: str, language: str = "SPARQL", code: str = "SR260") -> None:
        self._text, self._name, self._code = text, name, code
        self.language = language
        self._places = Places(name, text)
        # Where the plain text goes on after an escape, and where the given one does.
        self._after: list[int] = [0]
        self._given: list[int] = [0]
        self.plain = self._unescaped(text)

    def span(self, start: int, end: int) -> Span:
        """The place of a range of the plain text."""
        return self._places.span(self._offset(start), self._offset(end))

    def refusal(
        self, message: str, place: tuple[int, int] | Span, hint: str | None = None
    ) -> ProgramError:
        """The error that refuses the text."""
        span = self.span(*place) if isinstance(place, tuple) else place
        return refuse([Diagnostic(self._code, message, span, hint)], {self._name: self._text})

    def _offset(self, plain: int) -> int:
        index = bisect_right(self._after, plain) - 1
        return self._given[index] + plain - self._after[index]

    def _unescaped(self, text: str) -> str:
        if text.startswith("\ufeff"):  # a byte order mark
            text = f" {text[1:]}"
        if _ESCAPE.search(text) is None:
            return text
        parts: list[str] = []
        end = length = 0
        for part in _PART.finditer(text):
            if part["escape"] is None:
                continue
            read = character(part["escape"][2:])
            if read is None:
                span = self._places.span(*part.span())
                raise self.refusal(f"the escape {part[0]} is not a character", span)
            parts += [text[end : part.start()], read]
            length += part.start() - end + 1
            end = part.end()
            self._after.append(length)
            self._given.append(end)
        parts.append(text[end:])
        return "".join(parts)
