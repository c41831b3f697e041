"""The tokens of RDF Patch, line by line. Invariant: what is read does not depend on line breaks.

Apache Jena writes terms as Turtle does, with numbers and booleans abbreviated, blank nodes as
`<_:label>`, and reads all strings of Turtle. A row may go over lines, and a line have several.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from streamreasoner.errors import DataError

_LONG_QUOTES = ('"""', "'''")
_TOKEN = re.compile(
    r"""[ \t\r\n]+ | \#[^\r\n]*
    | (?P<long>\"{3}|'{3})
    | (?P<string>"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+"|'[^'\\\r\n]*+(?:\\.[^'\\\r\n]*+)*+')
    | (?P<opening><<\()
    | (?P<closing>\)>>)
    | (?P<iri><[^<>\r\n]*>)
    | (?P<node>_:[^ \t\r\n<>"'\#]*?(?=\.*(?:[ \t\r\n<>"'\#]|\)>>|\Z)))
    | (?P<language>@[a-zA-Z][a-zA-Z0-9-]*)
    | (?P<marker>\^\^)
    | (?P<double>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+)
    | (?P<decimal>[+-]?[0-9]*\.[0-9]+)
    | (?P<integer>[+-]?[0-9]+)
    | (?P<name>(?:[^\W\d_](?:[\w.-]*[\w-])?)?:
        (?:[^\s<>"'\#\\]|\\.)*?(?=\.*(?:[\s<>"'\#]|\)>>|\Z)))
    | (?P<word>[A-Za-z][A-Za-z0-9_-]*)
    | (?P<dot>\.)""",
    re.VERBOSE,
)


class Kind(Enum):
    """What a token is."""

    STRING = "string"
    OPENING = "opening"
    CLOSING = "closing"
    IRI = "iri"
    NODE = "node"
    LANGUAGE = "language"
    MARKER = "marker"
    DOUBLE = "double"
    DECIMAL = "decimal"
    INTEGER = "integer"
    NAME = "name"
    WORD = "word"
    DOT = "dot"


@dataclass(frozen=True, slots=True)
class Token:
    """A token; a string in any quotes has the text between double ones, as in N-Triples.

    Attributes:
        kind: What it is.
        text: Its text.
        column: The character of its line at which it begins, from 1.
    """

    kind: Kind
    text: str
    column: int


class Tokens:
    """Reads the tokens of lines, in their order."""

    def __init__(self) -> None:
        self._quotes = ""
        self._parts: list[str] = []
        self._column = 0

    @property
    def is_open(self) -> bool:
        """Whether a string goes on in the next line."""
        return bool(self._quotes)

    def of(self, line: str) -> list[Token]:
        """The tokens that end in a line.

        Raises:
            DataError: There is something else; has the character.
        """
        found: list[Token] = []
        position = self._closed(line, 0, found) if self._quotes else 0
        while position < len(line):
            match = _TOKEN.match(line, position)
            if match is None:
                raise DataError(_unknown(line, position))
            position = match.end()
            if match.lastgroup == "long":
                self._quotes, self._column = match[0], match.start() + 1
                position = self._closed(line, position, found)
            elif match.lastgroup is not None:
                text = _quoted(match[0][1:-1]) if match["string"] else match[0]
                found.append(Token(Kind(match.lastgroup), text, match.start() + 1))
        return found

    def reset(self) -> None:
        """Forget a string that is open."""
        self._quotes, self._parts = "", []

    def _closed(self, line: str, position: int, found: list[Token]) -> int:
        """Go on with a long string; returns where what follows it begins."""
        end = position
        while end < len(line) and not line.startswith(self._quotes, end):
            end += 2 if line[end] == "\\" else 1
        if end >= len(line):
            self._parts += [line[position:], "\n"]
            return len(line)
        # Quotation marks before the last three are of the string.
        while line.startswith(self._quotes, end + 1):
            end += 1
        self._parts.append(line[position:end])
        found.append(Token(Kind.STRING, _quoted("".join(self._parts)), self._column))
        self.reset()
        return end + len(_LONG_QUOTES[0])


_TO_ESCAPE = re.compile(r'\\.|"|\n|\r', re.DOTALL)
_ESCAPES = {'"': r"\"", "\n": r"\n", "\r": r"\r"}


def _quoted(text: str) -> str:
    """A string as N-Triples quotes it; its own escapes stay."""
    escaped = _TO_ESCAPE.sub(lambda match: _ESCAPES.get(match[0], match[0]), text)
    return f'"{escaped}"'


def _unknown(line: str, position: int) -> str:
    """What is not a token."""
    at = f"At character {position + 1}"
    if line.startswith("<<", position):
        return (
            f"{at} '<<' begins no term. A triple term is written <<( subject predicate object )>>."
        )
    if line[position] in "\"'":
        return f"{at} a literal begins that has no closing quotation mark."
    if line[position] == "<":
        return f"{at} an IRI begins that has no closing '>'."
    return f"{at} {line[position : position + 40]!r} is neither a term nor the end of a row."
