"""Runs the server until it is told to stop. Invariant: it answers before the state is loaded."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import uvicorn

from streamreasoner.server.web.application import application
from streamreasoner.server.web.connections import (
    ACCEPTED_AT_A_TIME,
    CLIENT_SECONDS,
    ImpatientProtocol,
    Loop,
)
from streamreasoner.server.web.following import FollowedReplica

if TYPE_CHECKING:
    import socket
    from collections.abc import Generator
    from pathlib import Path

    from streamreasoner.config.server import ServerConfig
    from streamreasoner.server.pages import Upstream
    from streamreasoner.system.stopping import Stop

REQUEST_BYTES: Final = 1 << 16
"""The longest request line with its headers."""
STOP_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class Served:
    """What a server answers for.

    Attributes:
        tables: Directory of the tables.
        at: The epoch to stay at; None to follow the state.
        upstream: Where the pipeline's own pages are; None without a pipeline.
    """

    tables: Path
    at: int | None = None
    upstream: Upstream | None = None


class Server(uvicorn.Server):
    """A server of one state.

    Args:
        server: The configuration.
        served: What it answers for.
        stop: Ends it.
    """

    def __init__(self, server: ServerConfig, served: Served, stop: Stop) -> None:
        # What clients send wrongly is theirs to know.
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        logging.getLogger("asyncio").setLevel(logging.ERROR)  # a client that went away
        self._followed = FollowedReplica(
            served.tables, served.at, server.question_timeout, server.max_memory
        )
        super().__init__(
            uvicorn.Config(
                application(server, self._followed, served.upstream),
                http=ImpatientProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                loop=f"{Loop.__module__}:{Loop.__qualname__}",
                backlog=ACCEPTED_AT_A_TIME,
                timeout_keep_alive=int(CLIENT_SECONDS),
                timeout_graceful_shutdown=STOP_SECONDS,
                h11_max_incomplete_event_size=REQUEST_BYTES,
                ssl_certfile=server.certificate_file,
                ssl_keyfile=server.key_file,
            )
        )

        stop.running(self._end)

    def _end(self) -> None:
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signals to the request to stop, which a signal that comes earlier makes too."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to load the state, and to answer."""
        self._followed.start()
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams of changes, which would not end by themselves, then the connections."""
        self._followed.stop()
        await super().shutdown(sockets)
