"""Answers as text. Invariant: terms keep their lexical forms.

Solutions are in the formats of SPARQL 1.1 (https://www.w3.org/TR/sparql11-overview/#sparql11-results),
triples in Turtle and N-Triples. pyoxigraph writes them, from what is least work to hand over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyoxigraph import QueryResultsFormat, RdfFormat, parse, parse_query_results, serialize

from streamreasoner.errors import QueryError
from streamreasoner.query.sparql.answers import Triples, Truth

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.query.sparql.answers import Answer, Solutions


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """A format of answers.

    Attributes:
        name: Its name in options.
        media_type: Its media type.
        writer: How pyoxigraph calls it.
    """

    name: str
    media_type: str
    writer: QueryResultsFormat | RdfFormat


SOLUTIONS = (
    AnswerFormat("json", "application/sparql-results+json", QueryResultsFormat.JSON),
    AnswerFormat("xml", "application/sparql-results+xml", QueryResultsFormat.XML),
    AnswerFormat("csv", "text/csv; charset=utf-8", QueryResultsFormat.CSV),
    AnswerFormat("tsv", "text/tab-separated-values; charset=utf-8", QueryResultsFormat.TSV),
)
"""Formats of SELECT and ASK; the last two are of SELECT only."""
TRIPLES = (
    AnswerFormat("turtle", "text/turtle; charset=utf-8", RdfFormat.TURTLE),
    AnswerFormat("ntriples", "application/n-triples; charset=utf-8", RdfFormat.N_TRIPLES),
)
"""Formats of CONSTRUCT and DESCRIBE."""


def formats_of(answer: Answer) -> tuple[AnswerFormat, ...]:
    """The formats that an answer has, the usual one first."""
    match answer:
        case Truth():
            return SOLUTIONS[:2]
        case Triples():
            return TRIPLES
        case _:
            return SOLUTIONS


def written(answer: Answer, name: str, prefixes: Mapping[str, str] | None = None) -> bytes:
    """An answer as text.

    Args:
        answer: The answer.
        name: The name of a format.
        prefixes: Prefix name to IRI, for Turtle.

    Raises:
        QueryError: It has no such format.
    """
    known = {each.name: each.writer for each in formats_of(answer)}
    writer = known.get(name)
    if writer is None:
        raise QueryError(
            f"The answer of this query cannot be written as {name}. Choose one of: "
            f"{', '.join(known)}."
        )
    if isinstance(writer, RdfFormat):
        lines = "".join(f"{s} {p} {o} .\n" for s, p, o in cast("Triples", answer))
        triples = (quad.triple for quad in parse(lines, format=RdfFormat.N_TRIPLES))
        names = dict(prefixes or {}) if writer is RdfFormat.TURTLE else None
        return cast("bytes", serialize(triples, format=writer, prefixes=names))
    if isinstance(answer, Truth):
        text = f'{{"head":{{}},"boolean":{str(answer.holds).lower()}}}'
        found = parse_query_results(text, format=QueryResultsFormat.JSON)
    else:
        table = _table(cast("Solutions", answer))
        found = parse_query_results(table, format=QueryResultsFormat.TSV)
    return cast("bytes", found.serialize(format=writer))


def _table(answer: Solutions) -> str:
    """Solutions as tab-separated values."""
    header = "\t".join(f"?{name}" for name in answer.variables)
    lines = ("\t".join([term or "" for term in row]) for row in answer)
    return "\n".join((header, *lines, ""))
