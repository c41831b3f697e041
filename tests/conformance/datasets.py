"""The data of a case, as each system holds it. Invariant: each system gets the same files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import rdflib
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, RdfFormat, Store, Triple
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

from streamreasoner import Reasoner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from conformance.rows import Row

FORMATS = {
    ".nt": RdfFormat.N_TRIPLES,
    ".nq": RdfFormat.N_QUADS,
    ".ttl": RdfFormat.TURTLE,
    ".trig": RdfFormat.TRIG,
    ".rdf": RdfFormat.RDF_XML,
    ".jsonld": RdfFormat.JSON_LD,
}
_RDFLIB = {
    RdfFormat.N_TRIPLES: "nt",
    RdfFormat.N_QUADS: "nquads",
    RdfFormat.TURTLE: "turtle",
    RdfFormat.TRIG: "trig",
    RdfFormat.RDF_XML: "xml",
}


@dataclass(frozen=True, slots=True)
class Dataset:
    """Files of a default graph and of named graphs.

    Attributes:
        default: Those of the default graph.
        named: Those of each named graph, by its IRI.
    """

    default: tuple[Path, ...] = ()
    named: Mapping[str, Path] = field(default_factory=dict)


QUADS = "@output triple, quad/4 ."
"""Rules without consequences, for datasets."""


def reasoner(dataset: Dataset, rules: str = QUADS) -> Reasoner:
    """A reasoner that has the facts of a dataset."""
    found = Reasoner.from_rules(rules)
    if dataset.default:
        found.load(*dataset.default)
    for number, (name, path) in enumerate(dataset.named.items()):
        graph = Reasoner.from_rules("")
        graph.load(path)
        # A label is a node of its document, and the reasoner keeps labels as they are written.
        columns = {
            column: [_relabelled(term, number) for term in terms]
            for column, terms in graph.facts().to_arrow().to_pydict().items()
        }
        columns["g"] = [f"<{name}>"] * len(columns["s"])
        found.apply_arrow(pa.table(columns), "quad")
    return found


def change(of: Reasoner, rows: Iterable[Row], sign: int) -> None:
    """Assert triples and quads, or retract them, in an epoch for each kind."""
    for predicate, names in (("triple", "spo"), ("quad", "spog")):
        chosen = [row for row in rows if len(row) == len(names)]
        columns = dict(zip(names, zip(*chosen, strict=True), strict=False))
        if columns:
            of.apply_arrow(pa.table({**columns, "multiplicity": [sign] * len(chosen)}), predicate)


def store(dataset: Dataset) -> Store:
    """A store of pyoxigraph that has a dataset."""
    found = Store()
    for path in dataset.default:
        _load(found, path, None)
    for name, path in dataset.named.items():
        _load(found, path, NamedNode(name))
    return found


def rdflib_dataset(dataset: Dataset) -> rdflib.Dataset:
    """A dataset of rdflib that has a dataset."""
    found = rdflib.Dataset()
    for path in dataset.default:
        found.default_graph.parse(path, format=_RDFLIB[FORMATS[path.suffix]])
    for name, path in dataset.named.items():
        graph = found.graph(rdflib.URIRef(name))
        graph.parse(path, format=_RDFLIB[FORMATS[path.suffix]])
    return found


def quads_of_reasoner(of: Reasoner) -> list[Row]:
    """The triples and quads that are present, as rows of three and four terms."""
    rows: list[Row] = []
    for predicate in ("triple", "quad"):
        if predicate in of.program.arities:
            table = of.facts(predicate).to_arrow()
            columns = [column.to_pylist() for column in table.columns]
            rows += zip(*columns, strict=True)
    return rows


def quads_of_store(of: Store) -> list[Row]:
    """All quads as rows; those of the default graph have three terms."""
    return [quad_row(quad) for quad in of]


def quad_row(quad: object) -> Row:
    """A quad or triple of pyoxigraph as a row."""
    row = tuple(map(text, (quad.subject, quad.predicate, quad.object)))  # type: ignore[attr-defined]
    graph = getattr(quad, "graph_name", DefaultGraph())
    return row if isinstance(graph, DefaultGraph) else (*row, text(graph))


def quads_of_rdflib(of: rdflib.Dataset) -> list[Row]:
    """All quads as rows; those of the default graph have three terms."""
    return [
        tuple(map(rdflib_text, quad[:3] if graph in {None, DATASET_DEFAULT_GRAPH_ID} else quad))
        for quad in of.quads()
        for graph in [quad[3]]
    ]


def rdflib_rows(triples: Iterable[Iterable[rdflib.term.Node]]) -> list[Row]:
    """Triples of rdflib as rows."""
    return [tuple(map(rdflib_text, each)) for each in triples]


def rdflib_text(term: rdflib.term.Node | None) -> str:
    """A term of rdflib in N-Triples syntax, with the escapes of `text`."""
    match term:
        case None:
            return ""
        case rdflib.URIRef():
            return f"<{term}>"
        case rdflib.Literal():
            if term.language:
                return text(Literal(str(term), language=term.language))
            datatype = NamedNode(str(term.datatype)) if term.datatype else None
            return text(Literal(str(term), datatype=datatype))
        case _:
            return f"_:{term}"


def text(term: object) -> str:
    """A term of pyoxigraph in N-Triples syntax; no value is an empty text."""
    if isinstance(term, BlankNode):
        return f"_:{term.value}"
    if isinstance(term, Triple):
        return f"<<( {' '.join(map(text, (term.subject, term.predicate, term.object)))} )>>"
    return "" if term is None else str(term)


def _relabelled(term: str, document: int) -> str:
    return term.replace("_:", f"_:d{document}.", 1) if term.startswith("_:") else term


def _load(into: Store, path: Path, graph: NamedNode | None) -> None:
    format_ = FORMATS[path.suffix]
    base = path.as_uri()
    if graph is None:
        into.load(path=path, format=format_, base_iri=base)
    else:
        into.load(path=path, format=format_, base_iri=base, to_graph=graph)
