"""Parse a line of N-Triples or N-Quads. Invariant: a line is accepted as a whole or not at all.

White space, blank lines, comments and line ends follow RDF 1.1 N-Triples, section 7, and RDF 1.1
N-Quads, section 4, which agree: a carriage return alone also ends a line. Terms are those of RDF
1.2, and a line `VERSION "1.2"` has no triple.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from streamreasoner.errors import DataError, TermError
from streamreasoner.rdf.term_kind import is_literal, is_triple_term
from streamreasoner.rdf.terms import canonical

_CACHED_NODES = 1 << 16

_BLANKS = re.compile(r"[ \t]*")
_IRI = r"<[^>]*>"
_SUBJECT = re.compile(rf'{_IRI}|_:[^ \t<"]*')
_PREDICATE = re.compile(_IRI)
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SUFFIXED = rf"{_STRING}(?:[ \t]*@[a-zA-Z0-9-]+|[ \t]*\^\^[ \t]*{_IRI})?"
# A label may contain dots, but not end with one: its end depends on what follows.
_LAST_LABEL = r'_:[^ \t<"]*?(?=[ \t]*\.[ \t]*(?:#|$))'
_TRIPLE_TERM = (
    rf"(?:<<\([ \t]*(?:_:[^ \t<]*|{_IRI})[ \t]*{_IRI}[ \t]*)+"
    rf'(?:{_IRI}|{_SUFFIXED}|_:[^ \t<")]*)(?:[ \t]*\)>>)+'
)
_OBJECT = re.compile(
    rf"{_TRIPLE_TERM}|{_IRI}|{_SUFFIXED}"
    rf'|{_LAST_LABEL}|_:[^ \t<"]*(?=[ \t]*<|[ \t]+_:)'
)
_GRAPH = re.compile(rf"{_IRI}|{_LAST_LABEL}")
_END = re.compile(r"\.[ \t]*(?:#.*)?", re.DOTALL)

_LITERAL = re.compile(_STRING)
_EMPTY = re.compile(r"""[ \t]*(?:VERSION[ \t]*(?:"[^"\\]*"|'[^'\\]*')[ \t]*)?(?:#.*)?""", re.DOTALL)
_OTHER = re.compile(r"[^ \t.]+")

_TRIPLE = (
    (_SUBJECT, "subject", "an <IRI> or a _:blankNode"),
    (_PREDICATE, "predicate", "an <IRI>"),
    (_OBJECT, "object", 'an <IRI>, a _:blankNode, a "literal" or a <<( triple term )>>'),
)


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that does not conform to the format of its document.

    Attributes:
        line: Number of the line, from 1.
        reason: One sentence.
    """

    line: int
    reason: str


def triples(line: bytes) -> list[tuple[str, ...]]:
    """Canonical triples of a line of N-Triples, without its line feed; several if it contains CR.

    Raises:
        DataError: The reason, in one sentence.
    """
    parsed = []
    for text in parts(line):
        terms, position = _terms(text)
        _check_end(text, position, "the dot that ends a triple is missing")
        parsed.append(terms)
    return parsed


def quads(line: bytes) -> list[tuple[str, ...]]:
    """Canonical terms of a line of N-Quads, without its line feed; several tuples if it has CR.

    A tuple is a subject, a predicate, an object and a graph; without a graph, three terms of the
    default graph.

    Raises:
        DataError: The reason, in one sentence.
    """
    parsed = []
    for text in parts(line):
        terms, position = _terms(text)
        graph = _GRAPH.match(text, position)
        if graph is not None:
            terms += (_term(graph[0], "graph", position),)
            position = _skip_blanks(text, graph.end())
        expected = "" if graph is not None else "the graph, an <IRI> or a _:blankNode, or "
        _check_end(text, position, f"{expected}the dot that ends a quad is missing")
        parsed.append(terms)
    return parsed


def parts(line: bytes) -> list[str]:
    """The parts of a line between carriage returns, except blank parts and comments."""
    text = decoded(line)
    return [part for part in text.split("\r") if _EMPTY.fullmatch(part) is None]


def decoded(line: bytes) -> str:
    """The text of a line.

    Raises:
        DataError: It is not UTF-8.
    """
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"Byte {error.start + 1} of the line is not UTF-8.") from None


def _terms(text: str) -> tuple[tuple[str, ...], int]:
    """Subject, predicate and object, and the position after them."""
    position = _skip_blanks(text, 0)
    terms: tuple[str, ...] = ()
    for pattern, role, allowed in _TRIPLE:
        match = pattern.match(text, position)
        if match is None or (role != "object" and is_triple_term(match[0])):
            raise DataError(
                f"At character {position + 1} {_missing(text, position, role, allowed)}"
            )
        terms += (_term(match[0], role, position),)
        position = _skip_blanks(text, match.end())
    return terms, position


def _missing(text: str, position: int, role: str, allowed: str) -> str:
    """What there is where a term should be."""
    found = f"the {role} is missing: {allowed}"
    if text.startswith("<<", position) and role == "object":
        found = "a triple term begins that is not written <<( subject predicate object )>>"
    elif text.startswith("<<", position):
        found = f"a triple term begins, but the {role} is {allowed}"
    elif text.startswith('"', position) and _LITERAL.match(text, position) is None:
        found = "a literal begins that has no closing quotation mark"
    elif text.startswith('"', position):
        found = f"there is a literal, but the {role} is {allowed}"
    elif text.startswith("<", position) and ">" not in text[position:]:
        found = "an IRI begins that has no closing '>'"
    elif text.startswith("_:", position):
        found = f"there is a blank node, but the {role} is {allowed}"
    elif text.startswith("'", position):
        found = 'a literal begins with a single quotation mark; write it in double ones, "…"'
    elif other := _OTHER.match(text, position):
        found = (
            f"{other[0][:100]!r} is not a term, such as {allowed}. Abbreviations are of Turtle: use"
            " the suffix .ttl for it, or the content type text/turtle"
        )
    return f"{found}."


def _term(text: str, role: str, position: int) -> str:
    try:
        # Literals may be long and rarely repeat.
        return canonical(text) if is_literal(text) else _node(text)
    except TermError as error:
        raise DataError(f"The {role} at character {position + 1}: {error}") from None


@lru_cache(_CACHED_NODES)
def _node(text: str) -> str:
    return canonical(text)


def _check_end(text: str, position: int, message: str) -> None:
    if not text.startswith(".", position):
        if text.startswith("^^", position):
            message = "a datatype begins that is not an <IRI>"
        raise DataError(f"At character {position + 1} {message}.")
    if _END.fullmatch(text, position) is None:
        raise DataError(f"After the dot at character {position + 1} only a comment may follow.")


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position
