"""`/sparql`: SPARQL 1.1 Protocol, without updates. Invariant: a query reads one epoch.

Source: https://www.w3.org/TR/sparql11-protocol/, sections 2.1 and 2.2, and
https://www.w3.org/TR/sparql11-service-description/.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from streamreasoner.explain.fact import prefixes
from streamreasoner.query.sparql.evaluate import evaluate
from streamreasoner.query.sparql.facts import facts_of_snapshot
from streamreasoner.query.sparql.formats import formats_of, written
from streamreasoner.query.sparql.limits import QueryLimits
from streamreasoner.server.web.answers import answer, known
from streamreasoner.server.web.errors import HttpError
from streamreasoner.server.web.negotiation import chosen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from streamreasoner.query.replica import Snapshot

ROWS: Final = 1_000_000
"""Rows of an answer at most."""
STEPS: Final = 20_000_000
"""Solutions of a step of a query at most."""
BODY_BYTES: Final = 1 << 20
_FORM, _QUERY = "application/x-www-form-urlencoded", "application/sparql-query"
_DESCRIPTION = """@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
[] a sd:Service ;
    sd:endpoint <> ;
    sd:supportedLanguage sd:SPARQL11Query ;
    sd:resultFormat <http://www.w3.org/ns/formats/SPARQL_Results_JSON> ,
        <http://www.w3.org/ns/formats/SPARQL_Results_XML> ,
        <http://www.w3.org/ns/formats/SPARQL_Results_CSV> ,
        <http://www.w3.org/ns/formats/SPARQL_Results_TSV> ,
        <http://www.w3.org/ns/formats/Turtle> , <http://www.w3.org/ns/formats/N-Triples> .
"""


@dataclass(frozen=True, slots=True)
class Sparql:
    """Answers queries.

    Attributes:
        seconds: How long a query may take.
    """

    seconds: float

    async def question(self, request: Request) -> Callable[[Snapshot], Response]:
        """The question that a request asks.

        Raises:
            HttpError: It is not what the protocol says.
        """
        parameters = await _parameters(request)
        known(parameters, "query", "format")
        text = parameters.get("query")
        if text is None:
            return lambda snapshot: answer(snapshot, _DESCRIPTION, "text/turtle; charset=utf-8")

        def question(snapshot: Snapshot) -> Response:
            found = evaluate(
                text, facts_of_snapshot(snapshot), QueryLimits(self.seconds, ROWS, STEPS)
            )
            offers = {each.name: each.media_type.split(";")[0] for each in formats_of(found)}
            name = chosen(parameters, request.headers, offers)
            body = written(found, name, prefixes(snapshot.program.checked))
            media_type = next(each.media_type for each in formats_of(found) if each.name == name)
            return answer(snapshot, body, media_type)

        return question


async def _parameters(request: Request) -> Mapping[str, str]:
    """The parameters of a request, whichever way it has them (sections 2.1.1 to 2.1.3)."""
    if request.method == "GET":
        return request.query_params
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (_FORM, _QUERY):
        raise HttpError(415, f"A query is sent as {_FORM} or as {_QUERY}.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES:
            raise HttpError(413, f"A query has at most {BODY_BYTES:,} bytes.")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise HttpError(400, "The query is not UTF-8.") from None
    if kind == _QUERY:
        return {**request.query_params, "query": text}
    return dict(parse_qsl(text, keep_blank_values=True))
