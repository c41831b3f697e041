"""`/profile` and `/dead-letters`: what a pipeline remembers of its last epochs.

Invariant: the pipeline's process is asked by one client at a time, and rarely: each answer takes
time from its batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from streamreasoner.server.web.errors import HttpError
from streamreasoner.server.web.responses import known, whole
from streamreasoner.server.web.upstream import Forwarded

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from streamreasoner.server.pages import Upstream

MOST_EPOCHS: Final = 256
EPOCHS: Final = 64


class PipelinePages:
    """The pages of the pipeline alongside this server.

    Args:
        upstream: Where they are; None without a pipeline.
    """

    def __init__(self, upstream: Upstream | None) -> None:
        self._forwarded = None if upstream is None else Forwarded(upstream)

    async def profile(self, request: Request) -> Response:
        """What each of the last epochs took.

        Raises:
            HttpError: A parameter is wrong, or there is no pipeline, or it does not answer.
        """
        known(request.query_params, "epochs")
        epochs = whole(request.query_params, "epochs", EPOCHS, MOST_EPOCHS, 1)
        return await self._answer(request, f"/profile?epochs={epochs}")

    async def dead_letters(self, request: Request) -> Response:
        """The last messages that were rejected, with the reason of each.

        Raises:
            HttpError: A parameter is wrong, or there is no pipeline, or it does not answer.
        """
        known(request.query_params)
        return await self._answer(request, "/dead-letters")

    async def _answer(self, request: Request, page: str) -> Response:
        if self._forwarded is None:
            raise HttpError(
                404,
                "This server reads tables only, without a pipeline. Ask the server "
                f"of a running pipeline (server.facts = true) for {request.url.path}.",
            )
        answer = await self._forwarded.answer(page)
        answer.headers["Cache-Control"] = "no-store"
        return answer
