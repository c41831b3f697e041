"""`/explain`: why a fact is present, or what is missing. Invariant: as the command prints it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from streamreasoner.explain import Limits, read_fact
from streamreasoner.explain import explain as explained
from streamreasoner.io.formats.json import fact_of_message
from streamreasoner.server.web.errors import TEXT, HttpError
from streamreasoner.server.web.negotiation import chosen
from streamreasoner.server.web.responses import JSON, answer, json_answer, known, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from streamreasoner.history.replica import Snapshot

FORMATS: Final = {
    "text": "text/plain",
    "json": JSON,
    "svg": "image/svg+xml",
    "dot": "text/vnd.graphviz",
    "prov": "text/turtle",
}
DEPTH, SIZE, MATCHES = 50, 1_000, 3
_MOST: Final = 10_000


def explain(request: Request) -> Callable[[Snapshot], Response]:
    """The question that a request asks.

    Raises:
        HttpError: Its parameters are wrong.
    """
    query = request.query_params
    known(query, "fact", "format", "depth", "size", "matches", "hidden")
    if "fact" not in query:
        raise HttpError(
            400,
            "fact= is missing; ask as /explain?fact=path(ex:a,ex:b), URL-encoded, or with a "
            "message of the output topic.",
        )
    limits = Limits(
        whole(query, "depth", DEPTH, _MOST),
        whole(query, "size", SIZE, _MOST),
        whole(query, "matches", MATCHES, _MOST),
    )
    hidden = bool(whole(query, "hidden", 0, 1))
    name = chosen(query, request.headers, FORMATS)

    def question(snapshot: Snapshot) -> Response:
        program = snapshot.program.checked
        fact = read_fact(fact_of_message(query["fact"]), program)
        found = explained(program, snapshot, snapshot.terms, fact, limits, hidden=hidden)
        match name:
            case "json":
                return json_answer(snapshot, json.loads(found.json()))
            case "svg":
                return answer(snapshot, f"{found.svg()}\n", FORMATS[name])
            case "dot":
                return answer(snapshot, found.dot(), FORMATS[name])
            case "prov":
                return answer(snapshot, found.prov(), FORMATS[name])
            case _:
                return answer(snapshot, found.text(), TEXT)

    return question
