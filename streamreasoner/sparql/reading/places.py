"""Places of words in a query. Invariant: a word that the query has is found where it stands.

The parser reports no positions, so words are looked up in the order in which the query is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamreasoner.lang.diagnostic import Diagnostic, refuse
from streamreasoner.lang.places import Places
from streamreasoner.lang.statements import blank

if TYPE_CHECKING:
    from streamreasoner.errors import ProgramError
    from streamreasoner.lang.ast import Span

_TOKEN = re.compile(
    r"""
      \#[^\n]*
    | \"{3}(?:[^"\\]|\\.|"(?!""))*\"{3} | '{3}(?:[^'\\]|\\.|'(?!''))*'{3}
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    | <[^<>"\s{}|^`\\]*>
    | (?P<variable>[?$]\w+)
    | (?P<prefix>[^\W\d_](?:[\w.\-]*[\w\-])?)?:
    | (?P<word>[A-Za-z_]+)
    | \S
    """,
    re.VERBOSE | re.DOTALL,
)


class QueryPlaces:
    """Finds words in the text of a query.

    Args:
        text: The query.
        source: Name of the text in diagnostics.
    """

    def __init__(self, text: str, source: str) -> None:
        self._text, self._source = text, source
        self._places = Places(source, text)
        self._found: dict[str, list[Span]] = {}
        for token in _TOKEN.finditer(text):
            if token["word"] or token["variable"]:
                name = token[0].upper() if token["word"] else f"?{token[0][1:]}"
                self._found.setdefault(name, []).append(self._places.span(*token.span()))
            elif token[0].endswith(":"):
                self._found.setdefault(token[0], []).append(self._places.span(*token.span()))

    def next(self, *words: str) -> Span:
        """Where one of some words stands that was not asked for yet; else its last place."""
        for word in words:
            if spans := self._found.get(word):
                return spans.pop(0) if len(spans) > 1 else spans[0]
        return self.at(0)

    def first(self, word: str) -> Span:
        """Where a word stands first; the beginning of the query if nowhere."""
        spans = self._found.get(word)
        return spans[0] if spans else self.at(0)

    def at(self, offset: int) -> Span:
        """The token at an offset, or the last one."""
        last = None
        for token in _TOKEN.finditer(self._text):
            if token[0].startswith("#"):
                continue
            last = token
            if token.end() > offset:
                break
        return self._places.span(*(last.span() if last else (0, 1)))

    def range(self, start: int, end: int) -> Span:
        """The place between two offsets."""
        return self._places.span(start, end)

    def without_texts(self) -> str:
        """The query with blanks for its comments and strings."""
        text = self._text
        for token in _TOKEN.finditer(self._text):
            if token[0][0] in "#\"'":
                text = blank(text, *token.span())
        return text

    def token(self, span: Span) -> str:
        """The text of a place."""
        return self._text[span.start : span.end]

    def refusal(self, code: str, message: str, span: Span, hint: str | None = None) -> ProgramError:
        """The error that refuses the query."""
        return refuse([Diagnostic(code, message, span, hint)], {self._source: self._text})
