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
from streamreasoner.server.web.routes.changes import Changes
from streamreasoner.server.web.routes.explain import explain
from streamreasoner.server.web.routes.facts import facts
from streamreasoner.server.web.routes.rules import rules
from streamreasoner.server.web.upstream import forwarded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from streamreasoner.config_server import ServerConfig
    from streamreasoner.query.replica import Snapshot
    from streamreasoner.server.web.following import FollowedReplica

    Question = Callable[[Request], Callable[[Snapshot], Response]]
    Endpoint = Callable[[Request], Awaitable[Response]]


def application(
    server: ServerConfig, followed: FollowedReplica, upstream: int | None = None
) -> Starlette:
    """The server's answers.

    Args:
        server: The configuration.
        followed: Answers questions.
        upstream: The port of the pipeline's own pages, None without a pipeline.
    """
    changes = Changes(followed)

    async def stream(request: Request) -> Response:
        return changes.answer(request)

    async def own(request: Request) -> Response:
        is_ready, line = followed.status()
        fine = is_ready or request.url.path == "/healthz"
        return Response(f"{line}\n", 200 if fine else 503, media_type=TEXT)

    async def pipelines(request: Request) -> Response:
        assert upstream is not None  # noqa: S101 - routed only with one
        return await forwarded(request, upstream)

    def asked(question: Question) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return await followed.ask(question(request))

        return endpoint

    paths: dict[str, Endpoint] = {
        "/facts": asked(facts),
        "/explain": asked(explain),
        "/rules": asked(rules),
        "/changes": stream,
        "/healthz": own if upstream is None else pipelines,
        "/readyz": own if upstream is None else pipelines,
    }
    if upstream is not None:
        paths["/metrics"] = pipelines
    return Starlette(
        routes=[Route(path, _safe(endpoint), methods=["GET"]) for path, endpoint in paths.items()],
        middleware=[Middleware(Guard, server)],
        exception_handlers={HTTPException: _refused},
    )


def _safe(endpoint: Endpoint) -> Endpoint:
    """The same endpoint, whose errors are answers."""

    async def safe(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Exception as error:  # noqa: BLE001 - reported to the client, and logged if a bug
            return answer_to(request, error)

    return safe


async def _refused(request: Request, error: Exception) -> Response:
    return answer_to(request, error)
