"""The paths of the server. Invariant: all are read only, and every failure is an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route

from streamreasoner.server.web.access import Guard
from streamreasoner.server.web.errors import TEXT, answer_to
from streamreasoner.server.web.measures import Measures
from streamreasoner.server.web.routes.changes import Changes
from streamreasoner.server.web.routes.explain import explain
from streamreasoner.server.web.routes.facts import facts
from streamreasoner.server.web.routes.page import Page
from streamreasoner.server.web.routes.pipeline import PipelinePages
from streamreasoner.server.web.routes.rules import rules
from streamreasoner.server.web.routes.sparql import Sparql
from streamreasoner.server.web.sending import Sending
from streamreasoner.server.web.upstream import Forwarded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from streamreasoner.config.server import ServerConfig
    from streamreasoner.history.replica import Snapshot
    from streamreasoner.server.pages import Upstream
    from streamreasoner.server.web.following import FollowedReplica

    Question = Callable[[Request], Callable[[Snapshot], Response]]
    Endpoint = Callable[[Request], Awaitable[Response]]


def application(
    server: ServerConfig, followed: FollowedReplica, upstream: Upstream | None = None
) -> Starlette:
    """The server's answers.

    Args:
        server: The configuration.
        followed: Answers questions.
        upstream: Where the pipeline's own pages are, None without a pipeline.
    """
    measures = Measures(followed, beside=upstream is not None)
    return Starlette(
        routes=_Paths(followed, upstream, Sparql(server.question_timeout), measures).routes(),
        middleware=[Middleware(Sending, measures), Middleware(Guard, server)],
        exception_handlers={HTTPException: _refused},
    )


class _Paths:
    """What each path answers."""

    def __init__(
        self,
        followed: FollowedReplica,
        upstream: Upstream | None,
        sparql: Sparql,
        measures: Measures,
    ) -> None:
        self._followed = followed
        self._sparql = sparql
        self._changes = Changes(followed)
        self._page = Page()
        self._measures = measures
        self._pages = PipelinePages(upstream)
        # Apart from the others, which may take long.
        self._own = None if upstream is None else Forwarded(upstream)

    def routes(self) -> list[Route]:
        """The paths that are answered, with what answers them."""
        paths: dict[str, Endpoint] = {
            "/": self._file,
            "/page/{name}": self._file,
            "/facts": self._asked(facts),
            "/explain": self._asked(explain),
            "/rules": self._asked(rules),
            "/sparql": self._query,
            "/changes": self._stream,
            "/profile": self._pages.profile,
            "/dead-letters": self._pages.dead_letters,
            "/metrics": self._metrics,
            "/healthz": self._health,
            "/readyz": self._health,
        }
        return [
            Route(
                path,
                _answering(endpoint),
                methods=["GET", "POST"] if path == "/sparql" else ["GET"],
            )
            for path, endpoint in paths.items()
        ]

    def _asked(self, question: Question) -> Endpoint:
        """An endpoint that asks one snapshot."""

        async def endpoint(request: Request) -> Response:
            return await self._followed.ask(question(request))

        return endpoint

    async def _file(self, request: Request) -> Response:
        return self._page.answer(request)

    async def _query(self, request: Request) -> Response:
        return await self._followed.ask(await self._sparql.question(request))

    async def _stream(self, request: Request) -> Response:
        return self._changes.answer(request)

    async def _health(self, request: Request) -> Response:
        if self._own is not None:
            return await self._own.answer(request.url.path)
        is_ready, line = self._followed.status()
        fine = is_ready or request.url.path == "/healthz"
        return Response(f"{line}\n", 200 if fine else 503, media_type=TEXT)

    async def _metrics(self, request: Request) -> Response:
        accept = request.headers.get("accept", "")
        if self._own is None:
            return self._measures.page(accept)
        found = await self._own.answer("/metrics", accept)
        return self._measures.page(accept, bytes(found.body))


def _answering(endpoint: Endpoint) -> Endpoint:
    """The same endpoint, whose errors are answers."""

    async def answering(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Exception as error:  # noqa: BLE001 - for the client, and logged if a bug
            return answer_to(request, error)

    return answering


async def _refused(request: Request, error: Exception) -> Response:
    return answer_to(request, error)
