"""`/changes`: published changes as Server-Sent Events. Invariant: an event is one whole epoch.

Its id is the epoch, so that a client that reconnects goes on where it was: browsers send the last
id by themselves. Events are read from the table `changes`, whose retention bounds how far back they
go.
"""

from __future__ import annotations

import json
import logging
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
import anyio.to_thread
import numpy as np
import pyarrow as pa
from starlette.responses import Response, StreamingResponse

from streamreasoner.errors import StateError
from streamreasoner.server.web.errors import HttpError
from streamreasoner.server.web.responses import EPOCH, iso, known

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from starlette.requests import Request

    from streamreasoner.history.epochs import Past
    from streamreasoner.server.web.following import FollowedReplica

T = TypeVar("T")

MOST_CHANGES: Final = 100_000
"""Most changes in an event; an epoch with more says how many it has, and has none."""
STREAMS: Final = 64
"""Clients that follow changes at a time."""
MOST_EPOCHS: Final = 32
"""Most epochs that are read at a time; fewer if they have many changes."""
MANY_CHANGES: Final = 20_000
CHANGES_AT_A_TIME: Final = 500
"""Changes that are written at a time, so that other threads have their turns."""
KEEP_ALIVE_SECONDS: Final = 15.0
_LAST_ID: Final = "last-event-id"
_DIGITS: Final = 18

_logger = logging.getLogger(__name__)


class Changes:
    """Streams of changes.

    Args:
        followed: The replica whose epochs they are of.
    """

    def __init__(self, followed: FollowedReplica) -> None:
        self._followed = followed
        self._streams = 0
        # A history is read by one client at a time, in turns.
        self._reading = anyio.CapacityLimiter(1)

    def answer(self, request: Request) -> Response:
        """The stream that a request asks for.

        Raises:
            HttpError: The epoch is not retained, or not there yet, or there are too many streams.
        """
        query = request.query_params
        known(query, "from", "predicate")
        replica = self._followed.replica
        first = _first(request, replica.epoch)
        predicates = frozenset(query.getlist("predicate"))
        if first > replica.epoch and self._followed.stays:
            return Response(None, 204)  # a browser does not reconnect
        if first < replica.past.changes_from:
            raise HttpError(
                410,
                f"The changes of epoch {first} are no longer retained; they begin with epoch "
                f"{replica.past.changes_from}. Read /facts, then follow /changes from its epoch "
                "on, or raise retention.changes.",
            )
        if self._streams >= STREAMS:
            raise HttpError(
                503, f"{STREAMS} clients follow the changes already.", {"Retry-After": "5"}
            )
        return StreamingResponse(
            self._events(first, predicates),
            headers={EPOCH: str(replica.epoch), "Cache-Control": "no-store"},
            media_type="text/event-stream",
        )

    async def _events(self, at: int, predicates: frozenset[str]) -> AsyncIterator[bytes]:
        followed, epochs = self._followed, 1
        self._streams += 1
        try:
            while not followed.stopping and not (followed.stays and at > followed.replica.epoch):
                last = await followed.advanced(at - 1, KEEP_ALIVE_SECONDS)
                if last < at:
                    # An id without data is remembered and not shown: a reconnect begins there.
                    yield f": still epoch {last}\nid: {at - 1}\n\n".encode()
                    continue
                past, stop = followed.replica.past, min(last, at + epochs - 1)
                rows = await self._read(_changes_of, past, at, stop, predicates)
                followed.used()
                pieces = events(rows)
                while (piece := await self._read(next, pieces, None)) is not None:
                    yield piece
                at, epochs = stop + 1, _next_epochs(epochs, len(rows))
        except (StateError, HttpError) as error:
            # The answer has begun, so the client sees that it ends, and asks again.
            _logger.warning("A stream of changes ends: %s", error)
        finally:
            self._streams -= 1

    async def _read(self, function: Callable[..., T], *arguments: object) -> T:
        return await anyio.to_thread.run_sync(function, *arguments, limiter=self._reading)


def _next_epochs(epochs: int, changes: int) -> int:
    """How many epochs to read next, after some that had this many changes."""
    return max(1, epochs // 2) if changes > MANY_CHANGES else min(2 * epochs, MOST_EPOCHS)


def _changes_of(past: Past, first: int, last: int, predicates: frozenset[str]) -> pa.Table:
    """The published changes of some epochs; of all predicates if none are named."""
    rows = past.changes_between(first, last)
    if not predicates:
        return rows
    wanted = pa.array(sorted(predicates))
    return rows.filter(pa.compute.is_in(rows.column("predicate"), wanted))


def events(rows: pa.Table) -> Iterator[bytes]:
    """The events of some changes, in pieces: one for each epoch that has any."""
    epochs, starts = np.unique(rows.column("epoch").to_numpy(), return_index=True)
    bounds = pairwise([*starts.tolist(), len(rows)])
    for epoch, (start, stop) in zip(epochs.tolist(), bounds, strict=True):
        yield from _event(epoch, rows.slice(start, stop - start))


def _event(epoch: int, rows: pa.Table) -> Iterator[bytes]:
    times = (rows.column("ts").cast(pa.int64()).to_numpy() // 1000).tolist()
    opening = json.dumps({"epoch": epoch, "time": iso(times[-1])}).removesuffix("}")
    if len(rows) > MOST_CHANGES:
        yield f'id: {epoch}\ndata: {opening}, "changes": [], "omitted": {len(rows)}}}\n\n'.encode()
        return
    before = f'id: {epoch}\ndata: {opening}, "changes": ['
    for start in range(0, len(rows), CHANGES_AT_A_TIME):
        some = rows.slice(start, CHANGES_AT_A_TIME)
        changes = list(_changes(some, times[start : start + CHANGES_AT_A_TIME], times[-1]))
        yield (before + json.dumps(changes, ensure_ascii=False)[1:-1]).encode()
        before = ", "
    yield b"]}\n\n"


def _changes(rows: pa.Table, times: list[int], last: int) -> Iterator[dict[str, object]]:
    columns = (rows.column(name).to_pylist() for name in ("predicate", "args", "multiplicity"))
    for predicate, args, diff, time in zip(*columns, times, strict=True):
        change = {"predicate": predicate, "args": args, "diff": diff}
        # Only slots of event time that one epoch closed differ in their times.
        yield change if time == last else {**change, "time": iso(time)}


def _first(request: Request, last: int) -> int:
    """The epoch that a stream begins with: the next one, unless the request names another."""
    text, what = request.query_params.get("from"), "from"
    after = request.headers.get(_LAST_ID)
    if after is not None:
        text, what = after, "Last-Event-ID"  # a client that reconnects repeats its `from` too
    if text is None:
        return last + 1
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise HttpError(400, f"{what}={text[:40]} is not an epoch, a whole number.")
    first = int(text) + (after is not None)
    if first > last + 1:
        raise HttpError(
            400,
            f"{what}={text} is later than the last epoch, {last}. Leave it out to follow from "
            "now on; if the state is a new one, read /facts again.",
        )
    return first
