"""Places of names in a Turtle text. Invariant: a place is where the name stands, or a shape begins.

The parser of Turtle reports no positions of triples, so a name is looked up in the text from where
its shape begins: nested shapes follow the ones that have them.
"""

from __future__ import annotations

import re
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
    """Finds names in a text.

    Args:
        source: Name of the text in diagnostics.
        text: Turtle.
        prefixes: Its prefixes.
    """

    def __init__(self, source: str, text: str, prefixes: Mapping[str, str]) -> None:
        self._places = Places(source, text)
        self._found: dict[str, list[tuple[int, int]]] = {}
        self._statements: dict[str, tuple[int, int]] = {}
        end, begins = 0, True
        for token in _TOKEN.finditer(text):
            if between := text[end : token.start()].strip():
                begins = between.endswith(".")
            end = token.end()
            term = token["iri"]
            if token["prefix"] in prefixes:
                term = f"<{prefixes[token['prefix']]}{token['local']}>"
            if term is not None:
                self._found.setdefault(term, []).append(token.span())
                if begins:
                    self._statements.setdefault(term, token.span())
            begins = begins and token[0].startswith("#")

    def find(self, term: str, after: Span) -> Span:
        """Where an IRI stands from the beginning of a span on, the span itself if nowhere."""
        spans = self._found.get(term, [])
        first = next((span for span in spans if span[0] >= after.start), None)
        return after if first is None else self._places.span(*first)

    def first(self, term: str) -> Span:
        """Where a statement about an IRI begins, or where it stands first; else the beginning."""
        first = self._statements.get(term) or self._found.get(term, [(0, 1)])[0]
        return self._places.span(*first)
