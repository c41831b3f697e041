"""Manifests of the W3C. Invariant: each entry is read once, in the order of its manifest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyoxigraph import Term

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a manifest, as a node of its graph.

    Attributes:
        path: The file of the manifest.
        graph: Its triples.
        node: The node.
    """

    path: Path
    graph: Store
    node: NamedNode | BlankNode

    @property
    def kind(self) -> str:
        """The local name of its class."""
        return _local(self.one(RDF + "type"))

    @property
    def test(self) -> str:
        """Its IRI, which can be one of a file."""
        return str(self.node.value)

    @property
    def name(self) -> str:
        """Folder of the manifest and local name of the entry."""
        return f"{self.path.parent.name}/{_local(self.node)}"

    def each(self, predicate: str) -> list[Term]:
        """The values of a property."""
        found = self.graph.quads_for_pattern(self.node, NamedNode(predicate), None)
        return [quad.object for quad in found]

    def one(self, predicate: str) -> Term | None:
        """The value of a property; None if it has none."""
        return next(iter(self.each(predicate)), None)

    def text(self, predicate: str) -> str:
        """The text of a property; an IRI is a text, too."""
        found = self.one(predicate)
        return found.value if isinstance(found, NamedNode | Literal) else ""

    def file(self, predicate: str) -> Path | None:
        """The file that is the value of a property."""
        found = self.one(predicate)
        return as_file(found.value) if isinstance(found, NamedNode) else None

    def files(self, predicate: str) -> list[Path]:
        """The files that are values of a property."""
        return [as_file(each.value) for each in self.each(predicate) if isinstance(each, NamedNode)]

    def part(self, predicate: str) -> Entry | None:
        """The node that is the value of a property."""
        return next(iter(self.parts(predicate)), None)

    def parts(self, predicate: str) -> list[Entry]:
        """The nodes that are values of a property."""
        return [
            Entry(self.path, self.graph, each)
            for each in self.each(predicate)
            if isinstance(each, NamedNode | BlankNode)
        ]

    def members(self, predicate: str) -> Iterator[Entry]:
        """The members of the list that is the value of a property."""
        rest = self.part(predicate)
        while rest is not None and rest.node != NamedNode(RDF + "nil"):
            yield from rest.parts(RDF + "first")
            rest = rest.part(RDF + "rest")


def entries(path: Path) -> Iterator[Entry]:
    """The entries of a manifest and of those that it includes."""
    manifest = _manifest(path)
    for included in [*manifest.parts(MF + "include"), *manifest.members(MF + "include")]:
        if isinstance(included.node, NamedNode):
            yield from entries(as_file(included.node.value))
    yield from manifest.members(MF + "entries")


def base_of(path: Path) -> str | None:
    """The address that a manifest assumes of its folder."""
    return _manifest(path).text(MF + "assumedTestBase") or None


def as_file(iri: str) -> Path:
    """The path of a `file:` IRI."""
    return Path(unquote(urlsplit(iri).path))


def _manifest(path: Path) -> Entry:
    """The node of a manifest, which some suites call by another IRI than its file."""
    graph = _graph(path)
    found = graph.quads_for_pattern(None, NamedNode(RDF + "type"), NamedNode(MF + "Manifest"))
    nodes = [each.subject for each in found]
    return Entry(path, graph, nodes[0] if len(nodes) == 1 else NamedNode(path.as_uri()))


@cache
def _graph(path: Path) -> Store:
    graph = Store()
    graph.load(path=path, format=RdfFormat.TURTLE, base_iri=path.as_uri())
    return graph


def _local(term: Term | None) -> str:
    value = term.value if isinstance(term, NamedNode | BlankNode) else ""
    return value.rpartition("#")[2].rpartition("/")[2]
