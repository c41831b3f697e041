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

    from streamreasoner.server.pages import Upstream

SECONDS: Final = 10.0


async def forwarded(request: Request, upstream: Upstream, page: str | None = None) -> Response:
    """The answer of the pipeline's process to a request, or about a page.

    Raises:
        HttpError: It does not answer.
    """
    accept = request.headers.get("accept", "")
    return await anyio.to_thread.run_sync(_asked, upstream, page or request.url.path, accept)


def _asked(upstream: Upstream, path: str, accept: str) -> Response:
    connection = http.client.HTTPConnection("127.0.0.1", upstream.port, timeout=SECONDS)
    try:
        headers = {"Accept": accept, "Authorization": f"Bearer {upstream.token}"}
        connection.request("GET", path, headers=headers)
        found = connection.getresponse()
        kind = found.headers["Content-Type"]
        return Response(found.read(), found.status, {"Content-Type": kind})
    except (OSError, http.client.HTTPException):
        raise HttpError(503, "The pipeline's process does not answer; it may have ended.") from None
    finally:
        connection.close()
