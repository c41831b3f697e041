"""The text of a query and its places. Invariant: a place is one of the text as it was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.diagnostic import Diagnostic, refuse
from streamreasoner.lang.places import Places

if TYPE_CHECKING:
    from streamreasoner.errors import ProgramError
    from streamreasoner.lang.ast import Span

_BYTE_ORDER_MARK = "\ufeff"
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
        self.plain = f" {text[1:]}" if text.startswith(_BYTE_ORDER_MARK) else text

    def span(self, start: int, end: int) -> Span:
        """The place of a range of the text."""
        return self._places.span(start, end)

    def refusal(
        self, message: str, place: tuple[int, int] | Span, hint: str | None = None
    ) -> ProgramError:
        """The error that refuses the text."""
        span = self.span(*place) if isinstance(place, tuple) else place
        return refuse([Diagnostic(self._code, message, span, hint)], {self._name: self._text})
