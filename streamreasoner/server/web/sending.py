"""How answers are sent. Invariant: neither slow readers nor many requests take what others need."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers
from starlette.requests import Request

from streamreasoner.server.web.errors import problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from streamreasoner.server.web.measures import Measures

OPEN: Final = frozenset({"/healthz", "/readyz"})
"""Paths for supervisors, which have no password and no limit."""
READ_SECONDS: Final = 60.0
"""How long a client may take to read a part of an answer."""
REQUESTS: Final = 256
"""Requests in progress at a time; more are answered 503."""
WAITING_BYTES: Final = 256 << 20
"""Bytes of answers that clients have not read; a further answer waits for none, but is refused."""
PART_BYTES: Final = 1 << 16


class _TooMuchError(Exception):
    """Answers take too much memory, and this one has not begun."""


class Sending:
    """Sends answers in parts, and measures them.

    Args:
        app: Answers.
        measures: Is told of each answer.
    """

    def __init__(self, app: ASGIApp, measures: Measures) -> None:
        self._app = app
        self._measures = measures
        self._requests = 0
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        began = time.monotonic()
        is_open = scope["path"] in OPEN
        if not is_open and self._requests >= REQUESTS:
            await self._refuse(scope, receive, answer, "Too many requests are in progress.")
        else:
            self._requests += not is_open
            try:
                await self._answer(scope, receive, answer)
            finally:
                self._requests -= not is_open
        if answer.status is not None:
            self._measures.answered(scope["path"], answer.status, (answer.begun or began) - began)

    async def _answer(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        length = 0

        async def sent(message: Message) -> None:
            nonlocal length
            if message["type"] == "http.response.start":
                size = int(Headers(raw=message["headers"]).get("content-length", "0"))
                if size > PART_BYTES and self._waiting and self._waiting + size > WAITING_BYTES:
                    raise _TooMuchError
                length = size
                self._waiting += size
            await answer.send(message)

        try:
            with suppress(TimeoutError):  # the connection is closed, as the answer is not complete
                await self._app(scope, receive, sent)
        except _TooMuchError:
            reason = "Other clients have not yet read their answers, which fill the memory."
            await self._refuse(scope, receive, answer, reason)
        finally:
            self._waiting -= length

    async def _refuse(self, scope: Scope, receive: Receive, answer: _Answer, why: str) -> None:
        refusal = problem(Request(scope), 503, f"{why} Ask again.", {"Retry-After": "1"})
        with suppress(TimeoutError):
            await refusal(scope, receive, answer.send)


class _Answer:
    """Sends one answer in parts.

    A whole body would be copied to the buffer of its connection.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None
        self.begun: float | None = None

    async def send(self, message: Message) -> None:
        """Send a message, each part of which the client reads in time."""
        body = message.get("body", b"")
        if message["type"] == "http.response.start":
            self.status, self.begun = message["status"], time.monotonic()
        for start in range(0, len(body) - PART_BYTES, PART_BYTES):
            part = {"body": body[start : start + PART_BYTES], "more_body": True}
            await self._sent({**message, **part})
        if len(body) > PART_BYTES:
            rest = (len(body) - 1) // PART_BYTES * PART_BYTES
            message = {**message, "body": body[rest:]}
        await self._sent(message)

    async def _sent(self, message: Message) -> None:
        async with asyncio.timeout(READ_SECONDS):
            await self._send(message)
