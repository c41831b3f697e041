"""Who may ask, and how slowly. Invariant: a request is refused before anything is read for it."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers
from starlette.requests import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from streamreasoner.server.web.errors import HttpError, problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from streamreasoner.config_server import ServerConfig

CLIENT_SECONDS: Final = 10.0
"""How long a client may take to send a request, and how long a connection may idle."""
READ_SECONDS: Final = 60.0
"""How long a client may take to read a part of an answer."""
OPEN: Final = frozenset({"/healthz", "/readyz"})
"""Paths for supervisors, which have no password."""
_ADDRESS = re.compile(r"[0-9.]+|\[[0-9a-fA-F:.]+\]")


class Guard:
    """Checks the login, and the name that a client calls this server by.

    Args:
        app: Answers what passes.
        server: The configuration.
    """

    def __init__(self, app: ASGIApp, server: ServerConfig) -> None:
        self._app = app
        self._server = server
        self._login = None
        if server.user is not None and server.secret is not None:
            self._login = f"{server.user}:{server.secret.reveal()}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            async with asyncio.timeout(READ_SECONDS):
                await send(message)

        try:
            self._check(scope["path"], Headers(scope=scope))
        except HttpError as error:
            refusal = problem(Request(scope), error.status_code, error.detail, error.headers)
            await refusal(scope, receive, sent)
            return
        with suppress(TimeoutError):  # the connection is closed, as the answer is not complete
            await self._app(scope, receive, sent)

    def _check(self, path: str, headers: Headers) -> None:
        host = re.sub(r":[0-9]*$", "", headers.get("host", "localhost")).lower()
        names = {"localhost", self._server.host}
        if self._server.loopback and host not in names and not _ADDRESS.fullmatch(host):
            # A page of another site has its own name point here, to read what it must not.
            raise HttpError(
                403,
                f"This server is called localhost, not {host[:100]}. Ask it by that name, or "
                "set server.host if others may ask.",
            )
        if self._login is None or path in OPEN:
            return
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "basic" or not hmac.compare_digest(_decoded(given), self._login):
            raise HttpError(
                401,
                "Log in with server.user and its password (HTTP basic login).",
                {"WWW-Authenticate": 'Basic realm="streamreasoner", charset="UTF-8"'},
            )


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


class ImpatientProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose next request is not complete in time.

    Uvicorn waits without end for the first request, and for the rest of any.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._expiry = self.loop.call_later(CLIENT_SECONDS, self._expire)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._expiry.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._expiry.cancel()
        self._expiry = self.loop.call_later(CLIENT_SECONDS, self._expire)
        super().on_response_complete()

    def _expire(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
