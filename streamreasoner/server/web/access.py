"""Who may ask. Invariant: a request is refused before anything is read for it."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.requests import Request

from streamreasoner.server.web.errors import HttpError, problem
from streamreasoner.server.web.logins import Logins
from streamreasoner.server.web.sending import OPEN

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from streamreasoner.config.server import ServerConfig

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
        self._logins = Logins()
        self._login = None
        if server.user is not None and server.secret is not None:
            self._login = f"{server.user}:{server.secret.reveal()}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope["path"], Headers(scope=scope), scope.get("client"))
        except HttpError as error:
            refusal = problem(Request(scope), error.status_code, error.detail, error.headers)
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check(self, path: str, headers: Headers, client: tuple[str, int] | None) -> None:
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
        given, address = headers.get("authorization"), "" if client is None else client[0]
        if given is not None and not self._logins.may_try(address):
            raise HttpError(
                429,
                "Too many wrong logins came from your address. Correct the password, and try "
                "again in a few seconds.",
                {"Retry-After": "2"},
            )
        kind, _, text = (given or "").partition(" ")
        if kind.lower() == "basic" and hmac.compare_digest(_decoded(text), self._login):
            return
        if given is not None:
            # Browsers ask without a login first.
            self._logins.wrong(address)
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
