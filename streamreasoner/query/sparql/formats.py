"""Answers as text. Invariant: terms keep their lexical forms.

Solutions are in the formats of SPARQL 1.1 (https://www.w3.org/TR/sparql11-overview/#sparql11-results),
triples in Turtle, N-Triples, RDF/XML and JSON-LD, which pyoxigraph writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never, cast
from xml.parsers import expat

import numpy as np
from pyoxigraph import RdfFormat, parse, serialize

from streamreasoner.errors import QueryError
from streamreasoner.format_names import FormatName
from streamreasoner.query.sparql.answers import Solutions, Triples, Truth
from streamreasoner.query.sparql.query_terms import UNBOUND
from streamreasoner.query.sparql.solutions_text import WRITERS, in_xml
from streamreasoner.rdf.term_kind import is_triple_term
from streamreasoner.rdf.triple_terms import blank_nodes, renamed
from streamreasoner.rdf.version import VERSION, has_new_terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.query.sparql.answers import Answer


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """A format of answers.

    Attributes:
        name: Its name in options.
        media_type: Its media type.
        others: Media types that it is asked for by, too.
    """

    name: str
    media_type: str
    others: tuple[str, ...] = ()

    @property
    def accepted(self) -> tuple[str, ...]:
        """The media types that it is asked for by, without parameters."""
        return self.media_type.partition(";")[0], *self.others


SOLUTIONS = (
    AnswerFormat("json", "application/sparql-results+json", ("application/json",)),
    AnswerFormat("xml", "application/sparql-results+xml", ("application/xml", "text/xml")),
    AnswerFormat("csv", "text/csv; charset=utf-8"),
    AnswerFormat("tsv", "text/tab-separated-values; charset=utf-8"),
)
"""Formats of SELECT and ASK; the last two are of SELECT only."""
TRIPLES = (
    AnswerFormat(
        FormatName.TURTLE, "text/turtle; charset=utf-8", ("application/x-turtle", "text/n3")
    ),
    AnswerFormat(FormatName.NTRIPLES, "application/n-triples; charset=utf-8", ("text/plain",)),
    AnswerFormat(FormatName.RDF_XML, "application/rdf+xml", ("application/xml", "text/xml")),
    AnswerFormat(FormatName.JSON_LD, "application/ld+json", ("application/json",)),
)
"""Formats of CONSTRUCT and DESCRIBE."""
_SYNTAXES: Mapping[str, RdfFormat] = {
    FormatName.TURTLE: RdfFormat.TURTLE,
    FormatName.NTRIPLES: RdfFormat.N_TRIPLES,
    FormatName.RDF_XML: RdfFormat.RDF_XML,
    FormatName.JSON_LD: RdfFormat.JSON_LD,
}


def formats_of(answer: Answer) -> tuple[AnswerFormat, ...]:
    """The formats that an answer has, the usual one first."""
    match answer:
        case Truth():
            return SOLUTIONS[:2]
        case Triples():
            return TRIPLES
        case _:
            return SOLUTIONS


def needs_version(answer: Answer) -> bool:
    """Whether an answer has a term that RDF 1.1 lacks: a triple term, or a base direction."""
    if isinstance(answer, Truth):
        return False
    ids = np.unique(answer.ids)
    return has_new_terms(answer.terms.decode(ids[ids != UNBOUND]))


def written(answer: Answer, name: str, prefixes: Mapping[str, str] | None = None) -> bytes:
    """An answer as text.

    Args:
        answer: The answer.
        name: The name of a format.
        prefixes: Prefix name to IRI, for Turtle and RDF/XML, next to those of the query.

    Raises:
        QueryError: It has no such format, or a character that the format does not have.
    """
    known = [each.name for each in formats_of(answer)]
    if name not in known:
        raise QueryError(
            f"The answer of this query cannot be written as {name}. Choose one of: "
            f"{', '.join(known)}."
        )
    match answer:
        case Solutions():
            return WRITERS[name](answer).encode()
        case Truth(holds):
            truth = str(holds).lower()
            if name == "json":
                return f'{{"head":{{}},"boolean":{truth}}}\n'.encode()
            return in_xml(f"<head></head><boolean>{truth}</boolean>").encode()
        case Triples():
            return _document(answer, name, {**(prefixes or {}), **answer.prefixes})
        case _:
            assert_never(answer)


def _document(answer: Triples, name: str, prefixes: Mapping[str, str]) -> bytes:
    """Triples as a document of a graph."""
    syntax = _SYNTAXES[name]
    is_xml = syntax == RdfFormat.RDF_XML
    rows = [*answer]
    if syntax == RdfFormat.JSON_LD and any(is_triple_term(row[2]) for row in rows):
        raise QueryError(
            "The answer has a triple term, and JSON-LD 1.1 has none. Choose one of: "
            f"{', '.join(each.name for each in TRIPLES if each.name != name)}."
        )
    nodes = (node for row in rows for term in row for node in blank_nodes(term))
    if is_xml and any(node[2].isdigit() for node in nodes):
        # Names in XML begin with a letter; labels are of the document alone.
        rows = [tuple(renamed(term, lambda node: f"_:n{node[2:]}") for term in row) for row in rows]
    lines = "".join(f"{s} {p} {o} .\n" for s, p, o in rows)
    triples = (quad.triple for quad in parse(lines, format=RdfFormat.N_TRIPLES))
    has_prefixes = name in {FormatName.TURTLE, FormatName.RDF_XML}
    names = {each: iri for each, iri in prefixes.items() if has_prefixes and (each or not is_xml)}
    try:
        text = cast("bytes", serialize(triples, format=syntax, prefixes=names))
        if is_xml:
            # A carriage return as such would be read as a line feed.
            text = text.replace(b"\r", b"&#xD;")
            expat.ParserCreate(namespace_separator=" ").Parse(text, True)  # noqa: FBT003
    except (OSError, expat.ExpatError):
        raise QueryError(
            "The answer has a predicate or a character that RDF/XML cannot say. Choose one of: "
            f"{', '.join(each.name for each in TRIPLES if each.name != name)}."
        ) from None
    if syntax == RdfFormat.TURTLE and needs_version(answer):
        text = VERSION.encode() + text
    return text
