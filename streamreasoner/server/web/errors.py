"""Errors as answers. Invariant: they say what was wrong and what to do, and show no code.

A client that accepts JSON gets a problem document (RFC 9457), every other one a line of text.
"""

from __future__ import annotations

import json
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from streamreasoner.errors import (
    DataError,
    LimitError,
    ProgramError,
    QueryError,
    StateError,
    StreamReasonerError,
    TermError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

TEXT: Final = "text/plain; charset=utf-8"
PROBLEM: Final = "application/problem+json"
PATHS: Final = (
    *("/", "/facts", "/explain", "/sparql", "/changes", "/rules", "/profile", "/dead-letters"),
    *("/metrics", "/healthz", "/readyz"),
)
"""What can be asked for, without the files of the page."""
_KNOWN: Final = f"Paths: {', '.join(PATHS)}; see docs/server.md."
_STATUS: Final[tuple[tuple[type[Exception], int], ...]] = (
    (ProgramError, 400),
    (QueryError, 400),
    (DataError, 400),
    (TermError, 400),
    (LimitError, 503),
    (StateError, 503),
    (StreamReasonerError, 500),
)
_logger = logging.getLogger(__name__)


class HttpError(HTTPException):
    """An answer other than the one that was asked for.

    Args:
        status: The status code.
        message: What was wrong, and what to do.
        headers: Further headers.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, message, headers)


def answer_to(request: Request, error: Exception) -> Response:
    """The answer to a request that failed."""
    if isinstance(error, HTTPException):
        message = error.detail
        if not isinstance(error, HttpError):
            message = {404: f"There is no {request.url.path[:100]}. {_KNOWN}"}.get(
                error.status_code, f"{message}: {request.method} {request.url.path[:100]}. {_KNOWN}"
            )
        return problem(request, error.status_code, message, error.headers)
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return problem(request, status, str(error))
    _logger.error("The answer to %s failed.", request.url.path, exc_info=error)
    return problem(request, 500, "The answer failed because of a bug; the log has it. Report it.")


def problem(
    request: Request, status: int, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """An error as JSON if the client accepts it by name, else as text."""
    more = dict(headers or {})
    if "json" in request.headers.get("accept", "").lower():
        title = HTTPStatus(status).phrase
        document = {"type": "about:blank", "title": title, "status": status, "detail": message}
        return Response(json.dumps(document, ensure_ascii=False), status, more, media_type=PROBLEM)
    return Response(f"{message.rstrip()}\n", status, more, media_type=TEXT)
