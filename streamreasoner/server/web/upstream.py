"""The pages of the pipeline's own process, for the server in front of it.

Invariant: they are answered as long as that process answers, whatever the replica does.
"""

from __future__ import annotations

import http.client
import time
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from starlette.responses import Response

from streamreasoner.server.web.errors import HttpError

if TYPE_CHECKING:
    from streamreasoner.server.pages import Upstream

SECONDS: Final = 10.0
FRESH_SECONDS: Final = 0.2
"""How long an answer is given to all who ask the same."""


class Forwarded:
    """Asks the pipeline's process for one client at a time.

    Args:
        upstream: Where it answers.
    """

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._asking = anyio.Lock()
        self._threads = anyio.CapacityLimiter(1)
        self._answers: dict[tuple[str, str], tuple[float, Response]] = {}

    async def answer(self, page: str, accept: str = "") -> Response:
        """The answer about a page.

        Raises:
            HttpError: The pipeline's process does not answer.
        """
        async with self._asking:
            now = time.monotonic()
            self._answers = {
                each: (since, answer)
                for each, (since, answer) in self._answers.items()
                if now < since + FRESH_SECONDS
            }
            if (page, accept) not in self._answers:
                answer = await anyio.to_thread.run_sync(
                    _asked, self._upstream, page, accept, limiter=self._threads
                )
                self._answers[page, accept] = time.monotonic(), answer
            return self._answers[page, accept][1]


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
