"""The pages of the pipeline's own process, for the server in front of it.

Invariant: they are answered as long as that process answers, whatever the replica does.
"""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from starlette.responses import Response

from streamreasoner.server.web.errors import HttpError

if TYPE_CHECKING:
    from starlette.requests import Request

SECONDS: Final = 10.0


async def forwarded(request: Request, port: int) -> Response:
    """The answer of the pipeline's process, which listens on a port of this machine.

    Raises:
        HttpError: It does not answer.
    """
    accept = request.headers.get("accept", "")
    return await anyio.to_thread.run_sync(_asked, port, request.url.path, accept)


def _asked(port: int, path: str, accept: str) -> Response:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", path, headers={"Accept": accept})
        found = connection.getresponse()
        kind = found.headers["Content-Type"]
        return Response(found.read(), found.status, {"Content-Type": kind})
    except (OSError, http.client.HTTPException):
        raise HttpError(503, "The pipeline's process does not answer; it may have ended.") from None
    finally:
        connection.close()
