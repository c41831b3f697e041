"""JSON-LD as pyoxigraph reads all of it. Invariant: the same data set, mistakes at the same lines.

pyoxigraph reads integers from 10^20 on as doubles, although only those from 10^21 on are (JSON-LD
1.1 API, section 8.2.2), and refuses null where a value object may have it (JSON-LD 1.1, section
9.5). So such an integer is replaced by a marker, a smaller one that the text does not have, and
such a null is removed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING

from streamreasoner.rdf.vocabulary import RDF_JSON

if TYPE_CHECKING:
    from collections.abc import Iterator

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_MAY_BE_LARGE = re.compile(rb"[0-9]{20}|[eE]\+?[12]?[0-9]")
_NUMBER = re.compile(
    _STRING + rb"|(?P<number>-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)", re.DOTALL
)
_LARGE = range(10**19, 10**21)
_LONGEST_NUMBER = 40
_MAY_BE_NULL = re.compile(rb'"@(?:language|type|direction|value)"\s*:\s*null')
_TOKEN = re.compile(
    rb'(?P<no_value>"@value"\s*:\s*null)|(?P<null>"@(?:language|type|direction)"\s*:\s*null)|'
    rb"(?P<key>" + _STRING + rb")(?=\s*:)|" + _STRING + rb"|(?P<bracket>[{}\[\]])",
    re.DOTALL,
)
_COMMA = re.compile(rb"\s*,")
_CONTEXT, _VALUE = b'"@context"', b'"@value"'
_LANGUAGES = (b'"@language"', b'"@direction"')
_REMOTE = re.compile(
    rb'"@(?:context|import)"\s*:\s*(?:\[\s*)?"([^"\\]*)"|\}\s*,\s*"([^"\\:]*:[^"\\]*)"\s*[,\]]'
)
_NEW_KEYWORD = re.compile(rb'"(@(?:annotation|reifier|reifies|triple))"')
_COUNTER_DIGITS = 5
_FIRST_PREFIX = 123_456_789_012


@dataclass(frozen=True, slots=True)
class JsonLdText:
    """A text for pyoxigraph, and what its literals stand for.

    Attributes:
        text: The text.
        prefix: Digits with which each marker begins.
        meant: The integer of each marker.
    """

    text: bytes
    prefix: str = ""
    meant: dict[str, int] = field(default_factory=dict)

    def lexical(self, found: str, datatype: str) -> str:
        """The lexical form of a literal that was read from the text."""
        if datatype == RDF_JSON:
            return re.sub(rf"{self.prefix}[0-9]{{{_COUNTER_DIGITS}}}1", self._in_json, found)
        negative, digits = found.startswith("-"), found.lstrip("-")
        for marker, meant in self.meant.items() if self.prefix in digits.replace(".", "") else ():
            for write in (str, _double):
                if digits == write(int(marker)):
                    return "-" * negative + write(meant)
        return found

    def _in_json(self, marker: re.Match[str]) -> str:
        # JSON canonicalization writes the digits that tell a double from others.
        return f"{Decimal(repr(float(self.meant[marker[0]]))):f}"


def prepared(text: bytes) -> JsonLdText:
    """A document as pyoxigraph reads all of it."""
    if _MAY_BE_NULL.search(text):
        text = _without_nulls(text)
    return _with_markers(text) if _MAY_BE_LARGE.search(text) else JsonLdText(text)


def remote_context(text: bytes) -> str:
    """The address of a context that is elsewhere; empty if none is found."""
    found = _REMOTE.search(text)
    return (found[1] or found[2] or b"").decode("utf-8", "replace") if found else ""


def new_keywords(text: bytes) -> list[str]:
    """Strings of a text that may be keywords of JSON-LD-star or of proposals for RDF 1.2."""
    return sorted({found.decode() for found in _NEW_KEYWORD.findall(text)})


def _double(value: int) -> str:
    """Canonical lexical form of xsd:double, with all digits."""
    text = str(value)
    digits = text.rstrip("0")
    return f"{digits[0]}.{digits[1:] or '0'}E{len(text) - 1}"


def _with_markers(text: bytes) -> JsonLdText:
    prefix = next(str(each) for each in count(_FIRST_PREFIX) if str(each).encode() not in text)
    markers: dict[int, str] = {}

    def marked(found: re.Match[bytes]) -> bytes:
        number = found["number"]
        if number is None or len(number) > _LONGEST_NUMBER:
            return found[0]
        value = Decimal(number.decode())
        if value.adjusted() > len(str(_LARGE.stop)) or value % 1 or abs(int(value)) not in _LARGE:
            return found[0]
        # Its last digit is not 0, so that a double has all of its digits too.
        marker = f"{prefix}{len(markers):0{_COUNTER_DIGITS}}1"
        marker = markers.setdefault(abs(int(value)), marker)
        return b"-" * (value < 0) + marker.encode()

    text = _NUMBER.sub(marked, text)
    return JsonLdText(text, prefix, {marker: value for value, marker in markers.items()})


def _without_nulls(text: bytes) -> bytes:
    """The text without such entries of value objects, and null for those without a value.

    Line breaks stay. What is in a context is not a value object.
    """
    parts, done = [], 0
    for start, end, instead in sorted(_edits(text)):
        if start >= done:
            parts += [text[done:start], instead, b"\n" * text.count(b"\n", start, end)]
            done = end
    return b"".join((*parts, text[done:]))


def _edits(text: bytes) -> Iterator[tuple[int, int, bytes]]:
    """What to replace, by what."""
    stack: list[_Open] = []
    key = b""
    for token in _TOKEN.finditer(text):
        match token["bracket"]:
            case b"{" | b"[" as bracket:
                in_context = key == _CONTEXT or bool(stack and stack[-1].in_context)
                is_object = bracket == b"{" and not in_context
                stack.append(_Open(token.start(), is_object, in_context))
            case b"}" | b"]" if stack:
                yield from stack.pop().edits(text, token.end(), is_inner=bool(stack))
            case _ if stack:
                stack[-1].take(token)
        key = token["key"] or (key if token["bracket"] == b"[" else b"")


@dataclass(slots=True)
class _Open:
    """A bracket that is open."""

    start: int
    may_be_value: bool
    in_context: bool
    nulls: list[tuple[int, int]] = field(default_factory=list)
    has_value: bool = False
    has_no_value: bool = False
    has_language: bool = False

    def take(self, token: re.Match[bytes]) -> None:
        """Note a key, or an entry that is null."""
        self.has_no_value |= token["no_value"] is not None
        self.has_value |= token["key"] == _VALUE
        self.has_language |= token["key"] in _LANGUAGES
        if token["null"]:
            self.nulls.append(token.span())

    def edits(self, text: bytes, end: int, *, is_inner: bool) -> list[tuple[int, int, bytes]]:
        """What to replace where it is closed."""
        if self.may_be_value and self.has_no_value and self.has_language and is_inner:
            return [(self.start, end, b"null")]
        return _removals(text, self.nulls) if self.may_be_value and self.has_value else []


def _removals(text: bytes, entries: list[tuple[int, int]]) -> list[tuple[int, int, bytes]]:
    """Entries of an object, each with one comma."""
    found: list[tuple[int, int, bytes]] = []
    done = 0
    for start, end in entries:
        before = start
        while text[before - 1 : before].isspace():
            before -= 1
        if text[before - 1 : before] == b"," and before > done:
            found.append((before - 1, end, b""))
        else:
            comma = _COMMA.match(text, end)
            found.append((start, comma.end() if comma else end, b""))
        done = found[-1][1]
    return found
