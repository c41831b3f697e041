"""The text of a query to its algebra. Invariant: it means what it says, or is refused.

rdflib parses; what its parser loses is refused. Its algebra is not used, as that depends on the
order of hash tables, and this one has terms as they are written.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import rdflib
from pyparsing import ParseBaseException
from rdflib.plugins.sparql.parser import parseQuery

from streamreasoner.sparql.reading.places import QueryPlaces
from streamreasoner.sparql.reading.tree import TreeReader
from streamreasoner.sparql.reading.windows import read_windows

if TYPE_CHECKING:
    from streamreasoner.sparql.algebra import Query

_LOCK = threading.Lock()
_SHOWN = 40
_FAILURES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_HINT = "a query is `PREFIX ex: <http://example.org/> SELECT ?x WHERE { ?x a ex:Person }`"


def parse_query(text: str, source: str = "<query>") -> Query:
    """Read a query in SPARQL 1.1, with windows of RSP-QL.

    Args:
        text: The query.
        source: Name of the text in diagnostics, such as its file name.

    Raises:
        ProgramError: It is not SPARQL 1.1, or has what the parser does not read; with its place.
    """
    places = QueryPlaces(text, source)
    plain, clauses, uses = read_windows(text, places)
    try:
        prologue, body = _tree(plain)
    except ParseBaseException as error:
        span = places.at(error.loc)
        found = places.token(span)[:_SHOWN]
        at_end = error.loc >= len(text.rstrip())
        message = "the query ends here" if at_end else f"this is not SPARQL from `{found}` on"
        raise places.refusal("SR260", message, span, _HINT) from None
    except _FAILURES as error:
        # The parser computes with what it reads: `-.5`, or an escape of no character.
        message = f"a term cannot be read: {str(error)[:_SHOWN]}"
        raise places.refusal("SR260", message, places.at(0), "write it in full: `-0.5`") from None
    except RecursionError:
        message = "the query is nested too deeply"
        raise places.refusal("SR260", message, places.at(0)) from None
    return TreeReader(places).query(prologue, body, clauses, uses)


def _tree(text: str) -> tuple[Any, Any]:
    """The prologue and the rest of a query, with literals as they are written."""
    with _LOCK:
        before = rdflib.NORMALIZE_LITERALS
        rdflib.NORMALIZE_LITERALS = False
        try:
            prologue, body = parseQuery(text)
        finally:
            rdflib.NORMALIZE_LITERALS = before
    return prologue, body
