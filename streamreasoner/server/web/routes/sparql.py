"""`/sparql`: SPARQL 1.2 Protocol, without updates. Invariant: a query reads one epoch.

Source: https://www.w3.org/TR/sparql12-protocol/, sections 2.1 and 2.2, and
https://www.w3.org/TR/sparql12-service-description/.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect

from streamreasoner.errors import TermError
from streamreasoner.explain.fact import prefixes
from streamreasoner.query.sparql.evaluate import evaluate
from streamreasoner.query.sparql.facts import facts_of_snapshot
from streamreasoner.query.sparql.formats import formats_of, needs_version, written
from streamreasoner.query.sparql.limits import QueryLimits
from streamreasoner.query.sparql.solving.dataset import GraphNames
from streamreasoner.rdf.terms import parse
from streamreasoner.server.web.errors import HttpError
from streamreasoner.server.web.negotiation import chosen
from streamreasoner.server.web.responses import answer, known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from streamreasoner.history.replica import Snapshot

ROWS: Final = 1_000_000
"""Rows of an answer at most."""
STEPS: Final = 20_000_000
"""Solutions of a step of a query at most."""
BODY_BYTES: Final = 1 << 20
FIELDS: Final = 10_000
"""Parameters of a request at most; a data set may name many graphs."""
_GRAPHS: Final = ("default-graph-uri", "named-graph-uri")
_UPDATES: Final = ("update", "using-graph-uri", "using-named-graph-uri")
_WITH_VERSION: Final = (
    *("application/sparql-results+json", "application/sparql-results+xml"),
    *("text/turtle", "application/n-triples"),
)
"""Media types that announce the version of RDF that an answer needs."""
_FORM, _QUERY = "application/x-www-form-urlencoded", "application/sparql-query"
_VERSIONS: Final = ("1.2", "1.2-basic", "1.1")
_DESCRIPTION = """@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
@prefix sparql: <http://www.w3.org/ns/sparql#> .
[] a sd:Service ;
    sd:endpoint <> ;
    sd:supportedLanguage sd:SPARQLQuery , sd:SPARQL11Query ;
    sd:supportedVersion sparql:version-1.2 , sparql:version-1.2-basic , sparql:version-1.1 ;
    sd:resultFormat <http://www.w3.org/ns/formats/SPARQL_Results_JSON> ,
        <http://www.w3.org/ns/formats/SPARQL_Results_XML> ,
        <http://www.w3.org/ns/formats/SPARQL_Results_CSV> ,
        <http://www.w3.org/ns/formats/SPARQL_Results_TSV> ,
        <http://www.w3.org/ns/formats/Turtle> , <http://www.w3.org/ns/formats/N-Triples> ,
        <http://www.w3.org/ns/formats/RDF_XML> , <http://www.w3.org/ns/formats/JSON-LD> .
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
        if not parameters and request.method == "GET":
            return lambda snapshot: answer(snapshot, _DESCRIPTION, "text/turtle; charset=utf-8")
        text, asked, graphs = _question(parameters)

        def question(snapshot: Snapshot) -> Response:
            """Evaluate the query on a snapshot, and write its answer."""
            limits = QueryLimits(self.seconds, ROWS, STEPS)
            found = evaluate(text, facts_of_snapshot(snapshot), limits, graphs=graphs)
            formats = {each.name: each for each in formats_of(found)}
            offers = {name: each.accepted[0] for name, each in formats.items()}
            offers |= {kind: kind for each in formats.values() for kind in each.accepted}
            kind = offers[chosen(asked, request.headers, offers)]
            form = next(each for each in formats.values() if kind in each.accepted)
            body = written(found, form.name, prefixes(snapshot.program.checked))
            media_type = f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
            if kind in _WITH_VERSION and needs_version(found):
                media_type += "; version=1.2"
            return answer(snapshot, body, media_type)

        return question


def _question(
    parameters: Sequence[tuple[str, str]],
) -> tuple[str, Mapping[str, str], GraphNames]:
    """The query, the other parameters that occur once, and the graphs (section 2.1.4)."""
    once = {name: value for name, value in parameters if name not in _GRAPHS}
    for name in once:
        if name in _UPDATES:
            raise HttpError(400, "The server takes no updates: send them to the input topic.")
        if [each for each, _ in parameters].count(name) > 1:
            raise HttpError(
                400, f"The parameter {name[:40]} is given twice. Send one request each."
            )
    known(once, "query", "format", "version", *_GRAPHS)
    _check_version(once.pop("version", ""), 400)
    if "query" not in once:
        raise HttpError(400, "The parameter query is missing. Send the text of a query in it.")
    default, named = (
        tuple(_graph(name, value) for name, value in parameters if name == wanted)
        for wanted in _GRAPHS
    )
    return once.pop("query"), once, GraphNames(default, named)


def _check_version(version: str, status: int) -> None:
    """Refuse a version of SPARQL that is not known; those that are known change nothing."""
    if version and version not in _VERSIONS:
        raise HttpError(
            status, f"The version {version[:40]} is unknown. Send one of {', '.join(_VERSIONS)}."
        )


def _graph(name: str, iri: str) -> str:
    try:
        return str(parse(f"<{iri}>"))
    except TermError as error:
        raise HttpError(400, f"{name}: {error}") from None


async def _parameters(request: Request) -> list[tuple[str, str]]:
    """The parameters of a request, whichever way it has them (sections 2.1.1 to 2.1.3)."""
    given = _pairs(request.url.query)
    if request.method == "GET":
        return given
    kind, _, options = request.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    if kind not in (_FORM, _QUERY):
        raise HttpError(415, f"A query is sent as {_FORM} or as {_QUERY}.")
    named = (each.strip().partition("=") for each in options.lower().split(";"))
    given_options = {name: value.strip('"') for name, _, value in named}
    _check_version(given_options.get("version", ""), 415)
    charset = given_options.get("charset", "")
    if charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise HttpError(415, f"The charset {charset[:40]} is not supported. Send UTF-8.")
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > BODY_BYTES:
                raise HttpError(413, f"A query has at most {BODY_BYTES:,} bytes.")
    except ClientDisconnect:
        raise HttpError(400, "The client has not sent all of the query.") from None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise HttpError(400, "The query is not UTF-8.") from None
    return [*given, *([("query", text)] if kind == _QUERY else _pairs(text))]


def _pairs(text: str) -> list[tuple[str, str]]:
    """The parameters of a form, or of the part of an address that looks like one."""
    try:
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=FIELDS)
    except UnicodeDecodeError:
        raise HttpError(400, "The query is not UTF-8.") from None
    except ValueError:
        raise HttpError(400, f"A form has at most {FIELDS} fields here.") from None
