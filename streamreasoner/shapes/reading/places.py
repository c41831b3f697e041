"""Places of names in a Turtle text. Invariant: a place is where the name stands, or a shape begins.

The parser of Turtle reports no positions of triples, so a name is looked up in the text from where
its shape begins: nested shapes follow the ones that have them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from streamreasoner.lang.places import Places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.lang.ast import Span

_TOKEN = re.compile(
    r"""
      \#[^\n]* | \"{3}(?:[^"\\]|\\.|"(?!""))*\"{3} | '{3}(?:[^'\\]|\\.|'(?!''))*'{3}
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    | (?P<iri><[^<>"\s]*>)
    | (?P<prefix>[^\W\d_]?[\w.\-]*):(?P<local>[\w:%\-](?:[\w:%.\-]*[\w:%\-])?)
    """,
    re.VERBOSE | re.DOTALL,
)


class ShapePlaces:
    """Finds names in texts.

    Args:
        texts: Name of a file to its text, in Turtle.
        prefixes: The prefixes of each.
    """

    def __init__(self, texts: Mapping[str, str], prefixes: Mapping[str, Mapping[str, str]]) -> None:
        self._places = {source: Places(source, text) for source, text in texts.items()}
        self._found: dict[str, dict[str, list[tuple[int, int]]]] = {}
        self._statements: dict[str, tuple[str, tuple[int, int]]] = {}
        self._source = next(iter(texts))
        for source, text in texts.items():
            self._found[source] = {}
            self._scan(source, text, prefixes[source])

    def _scan(self, source: str, text: str, prefixes: Mapping[str, str]) -> None:
        found = self._found[source]
        end, begins = 0, True
        for token in _TOKEN.finditer(text):
            if between := text[end : token.start()].strip():
                begins = between.endswith(".")
            end = token.end()
            term = token["iri"]
            if token["prefix"] in prefixes:
                term = f"<{prefixes[token['prefix']]}{token['local']}>"
            if term is not None:
                found.setdefault(term, []).append(token.span())
                if begins:
                    self._statements.setdefault(term, (source, token.span()))
            begins = begins and token[0].startswith("#")

    def find(self, term: str, after: Span) -> Span:
        """Where an IRI stands from the beginning of a span on, the span itself if nowhere."""
        spans = self._found[after.source].get(term, [])
        index = bisect_left(spans, (after.start, 0))
        return after if index == len(spans) else self._places[after.source].span(*spans[index])

    def first(self, term: str) -> Span:
        """Where a statement about an IRI begins, or where it stands first; else the beginning."""
        if term in self._statements:
            source, span = self._statements[term]
            return self._places[source].span(*span)
        for source, found in self._found.items():
            if term in found:
                return self._places[source].span(*found[term][0])
        return self._places[self._source].span(0, 1)
