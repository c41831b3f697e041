"""Text to algebra. Invariant: a text means what it says, or is refused at its place."""

from __future__ import annotations

from streamreasoner.rdf.iris import check_base
from streamreasoner.sparql.algebra import Query
from streamreasoner.sparql.reading import grammar
from streamreasoner.sparql.reading.source import Source
from streamreasoner.sparql.reading.updates import Reader
from streamreasoner.sparql.update import Update

_UPDATE = "this is an update, where a query is expected"
_UPDATE_HINT = "run it with `Reasoner.update` or with `update` in the shell"
_QUERY = "this is a query, where an update is expected"
_QUERY_HINT = "ask it with `Reasoner.query` or with `streamreasoner query`"
_NOTHING_HINT = "a query is `PREFIX ex: <http://example.org/> SELECT ?x WHERE { ?x a ex:Person }`"


def parse_query(text: str, source: str = "<query>", base: str = "") -> Query:
    """Read a query in SPARQL 1.1, with windows of RSP-QL.

    Args:
        text: The query.
        source: Name of the text in diagnostics, such as its file name.
        base: An absolute IRI that relative ones are resolved against, before any BASE.

    Raises:
        ProgramError: It is not SPARQL 1.1, or has what the reader does not take; with its place.
        TermError: The base is not an absolute IRI.
    """
    given = Source(text, source)
    found = _read(given, base)
    if isinstance(found, Query):
        return found
    if found.operations:
        raise given.refusal(_UPDATE, found.operations[0].span, _UPDATE_HINT)
    last = max(len(given.plain.rstrip()) - 1, 0)
    raise given.refusal("the text ends here, expected a query", (last, last + 1), _NOTHING_HINT)


def parse_update(text: str, source: str = "<update>", base: str = "") -> Update:
    """Read a request in SPARQL 1.1 Update.

    Args:
        text: The operations, separated by `;`.
        source: Name of the text in diagnostics, such as its file name.
        base: An absolute IRI that relative ones are resolved against, before any BASE.

    Raises:
        ProgramError: It is not SPARQL 1.1 Update; with its place.
        TermError: The base is not an absolute IRI.
    """
    given = Source(text, source)
    found = _read(given, base)
    if isinstance(found, Update):
        return found
    raise given.refusal(_QUERY, found.select.span, _QUERY_HINT)


def _read(source: Source, base: str) -> Query | Update:
    if base:
        check_base(base)
    found: Query | Update = grammar.read(source, Reader(source, base))
    return found
