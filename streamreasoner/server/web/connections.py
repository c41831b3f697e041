"""Connections, and how slow their clients may be. Invariant: a new connection always has a place.

Clients that open connections and send nothing, or half of a request, take places from each other
only: the one that has waited longest makes room. So the probes of a supervisor are answered
whatever other clients do.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENT_SECONDS: Final = 10.0
"""How long a client may take to send a request, and how long a connection may idle."""
CONNECTIONS: Final = 512
"""Connections at a time; requests in progress have half of them at most."""
ACCEPTED_AT_A_TIME: Final = 64
"""Less than the connections that wait, so that none makes room before its request is read."""


class Loop(asyncio.SelectorEventLoop):
    """An event loop in which the handshake of TLS is a part of a request, and as long."""

    async def create_server(self, *arguments: Any, **options: Any) -> asyncio.Server:
        """Create a server."""
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = CLIENT_SECONDS
        return await super().create_server(*arguments, **options)


class ImpatientProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose next request is not complete in time.

    Uvicorn waits without end for the first request, and for the rest of any.

    Attributes:
        since: When it began to wait for a request.
    """

    since: float
    _begun: bool

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; too many connections make room for it."""
        open_ = [each for each in self._others() if not each.transport.is_closing()]
        if len(open_) >= CONNECTIONS:
            waiting = [each for each in open_ if each.is_waiting]
            # Without one, all are requests in progress, of which there should be less.
            oldest = min(waiting, key=lambda each: each.since, default=None)
            (transport if oldest is None else oldest.transport).abort()
        super().connection_made(transport)
        self._expiry = self.loop.call_later(CLIENT_SECONDS, self._expire)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._expiry.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Begin with a request, or go on with it; the time of it begins with its first byte."""
        if not self._begun:
            self._begun = True
            self._restart()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._await_request()
        super().on_response_complete()

    @property
    def is_waiting(self) -> bool:
        """Whether the client has not yet sent all of its next request."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _others(self) -> Iterator[ImpatientProtocol]:
        return (each for each in self.connections if isinstance(each, ImpatientProtocol))

    def _await_request(self) -> None:
        self._begun = False
        self.since = self.loop.time()
        self._restart()

    def _restart(self) -> None:
        self._expiry.cancel()
        self._expiry = self.loop.call_later(CLIENT_SECONDS, self._expire)

    def _expire(self) -> None:
        if self.is_waiting:
            self.transport.abort()
