"""A graph of shapes. Invariant: everything is in the order of the text, so names are stable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyoxigraph

from streamreasoner.rdf import nesting
from streamreasoner.rdf.terms import canonical
from streamreasoner.rdf.vocabulary import RDF

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SH = "http://www.w3.org/ns/shacl#"
_FIRST, _REST, _NIL = (f"<{RDF}{name}>" for name in ("first", "rest", "nil"))


def iri(name: str) -> str:
    """The canonical term of a name of SHACL."""
    return f"<{SH}{name}>"


@dataclass(frozen=True, slots=True)
class Graph:
    """The triples of a file, as canonical terms.

    Attributes:
        triples: Subject -> predicate -> objects.
        prefixes: Prefix name to IRI.
    """

    triples: Mapping[str, Mapping[str, list[str]]]
    prefixes: Mapping[str, str]

    def objects(self, subject: str, predicate: str) -> list[str]:
        """The objects of a subject and predicate."""
        return self.triples.get(subject, {}).get(predicate, [])

    def members(self, head: str) -> list[str] | None:
        """The members of a list, None if it is not a well-formed one."""
        members: list[str] = []
        seen = set()
        while head != _NIL:
            first, rest = self.objects(head, _FIRST), self.objects(head, _REST)
            if len(first) != 1 or len(rest) != 1 or head in seen:
                return None
            seen.add(head)
            members += first
            (head,) = rest
        return members

    def used(self, subject: str) -> Iterator[str]:
        """The names of SHACL that are predicates of a subject."""
        start = f"<{SH}"
        for predicate in self.triples.get(subject, {}):
            if predicate.startswith(start):
                yield predicate[len(start) : -1]


def read_graph(text: str) -> Graph:
    """Read Turtle.

    Raises:
        SyntaxError: It is not Turtle, with the line.
        TermError: A term is not RDF 1.1.
    """
    triples: dict[str, dict[str, list[str]]] = {}
    encoded = text.encode()
    if nesting.Nesting(nesting.TRIPLE_TERMS).is_too_deep(encoded):
        raise SyntaxError(nesting.TOO_DEEP)
    parser = pyoxigraph.parse(encoded, format=pyoxigraph.RdfFormat.TURTLE)
    for quad in parser:
        subject, predicate, value = (
            canonical(str(term)) for term in (quad.subject, quad.predicate, quad.object)
        )
        objects = triples.setdefault(subject, {}).setdefault(predicate, [])
        if value not in objects:
            objects.append(value)
    return Graph(triples, dict(parser.prefixes))
