"""`/rules`: the program in effect. Invariant: it is the program that derived the epoch's facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from streamreasoner.server.web.errors import TEXT
from streamreasoner.server.web.negotiation import chosen
from streamreasoner.server.web.responses import JSON, answer, json_answer, known

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from streamreasoner.history.replica import Snapshot

FORMATS: Final = {"json": JSON, "text": "text/plain"}


def rules(request: Request) -> Callable[[Snapshot], Response]:
    """The question that a request asks.

    Raises:
        HttpError: Its parameters are wrong.
    """
    known(request.query_params, "format")
    name = chosen(request.query_params, request.headers, FORMATS)

    def question(snapshot: Snapshot) -> Response:
        program = snapshot.program
        if name == "text":
            return answer(snapshot, program.text.text, TEXT)
        checked = program.checked
        predicates = [
            {
                "predicate": predicate,
                "arity": arity,
                "input": predicate in checked.inputs,
                "published": predicate in checked.published,
                "constraint": predicate in checked.constraints,
            }
            for predicate, arity in sorted(checked.visible.items())
        ]
        fields = {
            "since": program.since,
            "hash": program.text.hash,
            "predicates": predicates,
            "text": program.text.text,
        }
        return json_answer(snapshot, fields)

    return question
