"""A graph of shapes. Invariant: everything is in the order of the text, so names are stable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph

from streamreasoner.errors import TermError
from streamreasoner.rdf import nesting
from streamreasoner.rdf.terms import canonical, of_oxigraph
from streamreasoner.rdf.triple_terms import renamed
from streamreasoner.rdf.vocabulary import RDF, RDFS_SUB_CLASS_OF, SH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

SHAPES_GRAPH = "<urn:streamreasoner:shapes>"
"""The name of the graph of the shapes in queries."""

_FIRST, _REST, _NIL = (f"<{RDF}{name}>" for name in ("first", "rest", "nil"))
_SUB_CLASS = f"<{RDFS_SUB_CLASS_OF}>"


def iri(name: str) -> str:
    """The canonical term of a name of SHACL."""
    return f"<{SH}{name}>"


class TurtleError(Exception):
    """A file is not Turtle; `str` says why.

    Attributes:
        source: The file.
        line: Where, counted from 1.
    """

    def __init__(self, source: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.source, self.line = source, line or 1


@dataclass(frozen=True, slots=True)
class Graph:
    """The triples of shapes, as canonical terms.

    Attributes:
        triples: Subject -> predicate -> objects.
        prefixes: Prefix name to IRI, by file.
    """

    triples: Mapping[str, Mapping[str, list[str]]]
    prefixes: Mapping[str, Mapping[str, str]]

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

    def classes_below(self, top: Iterable[str]) -> frozenset[str]:
        """Classes and their subclasses, as the graph says."""
        found = list(top)
        below: dict[str, list[str]] = {}
        for subject, predicates in self.triples.items():
            for above in predicates.get(_SUB_CLASS, ()):
                below.setdefault(above, []).append(subject)
        for each in found:
            found += (other for other in below.get(each, ()) if other not in found)
        return frozenset(found)

    def used(self, subject: str) -> Iterator[str]:
        """The names of SHACL that are predicates of a subject."""
        start = f"<{SH}"
        for predicate in self.triples.get(subject, {}):
            if predicate.startswith(start):
                yield predicate[len(start) : -1]


def _named(label: str, node: str) -> str:
    return f"_:{label}{node[2:]}"


def _term(name: Callable[[str], str], text: str) -> str:
    """The canonical term of a text, with the name of a blank node."""
    return renamed(canonical(text), name)


def read_graph(texts: Mapping[str, str]) -> Graph:
    """Read files in Turtle as one graph.

    Args:
        texts: Name of a file to its text; relative IRIs are resolved against its address.

    Raises:
        TurtleError: One is not Turtle.
    """
    triples: dict[str, dict[str, dict[str, None]]] = {}
    prefixes: dict[str, dict[str, str]] = {}
    for number, (source, text) in enumerate(texts.items()):
        # A label of a blank node is that of its file.
        name = partial(_named, f"f{number}." if number else "")
        term_of = cache(partial(_term, name))
        encoded = text.encode()
        if nesting.Nesting(nesting.TRIPLE_TERMS).is_too_deep(encoded):
            raise TurtleError(source, nesting.TOO_DEEP)
        try:
            parser = pyoxigraph.parse(
                encoded, format=pyoxigraph.RdfFormat.TURTLE, base_iri=_address(source)
            )
            for quad in parser:
                subject, predicate, value = map(
                    term_of, map(of_oxigraph, (quad.subject, quad.predicate, quad.object))
                )
                triples.setdefault(subject, {}).setdefault(predicate, {})[value] = None
        except SyntaxError as error:
            raise TurtleError(source, str(error.msg), error.lineno) from None
        except TermError as error:
            raise TurtleError(source, str(error)) from None
        prefixes[source] = dict(parser.prefixes)
    lists = {
        subject: {predicate: list(values) for predicate, values in predicates.items()}
        for subject, predicates in triples.items()
    }
    return Graph(lists, prefixes)


def _address(source: str) -> str:
    """The address of a file; of a text without one, that of a file in the working directory."""
    return Path(source).absolute().as_uri()
