"""Answers of one epoch. Invariant: every answer says which epoch it is of, in a header."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from streamreasoner.io.formats.reading import timestamps
from streamreasoner.server.web.errors import HttpError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.history.replica import Snapshot

EPOCH: Final = "Streamreasoner-Epoch"
"""The header that names the epoch of an answer."""
TIME: Final = "Streamreasoner-Time"
"""The header with its time, if it published anything."""
JSON: Final = "application/json"


def moment(snapshot: Snapshot) -> dict[str, object]:
    """The fields of a JSON answer that say which epoch it is of."""
    return {"epoch": snapshot.epoch, "time": iso(snapshot.time)}


def iso(time: int | None) -> str | None:
    """A time in milliseconds since 1970 as messages of the output topic have it."""
    return None if time is None else timestamps.iso(time)


def answer(
    snapshot: Snapshot,
    body: str | bytes,
    media_type: str,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An answer with the headers of its epoch."""
    more = {EPOCH: str(snapshot.epoch), "Vary": "Accept", "Cache-Control": "no-store"}
    if snapshot.time is not None:
        more[TIME] = timestamps.iso(snapshot.time)
    return Response(body, 200, more | dict(headers or {}), media_type=media_type)


def json_answer(
    snapshot: Snapshot, fields: Mapping[str, object], headers: Mapping[str, str] | None = None
) -> Response:
    """An answer in JSON, with the epoch and its time as the first fields."""
    document = json.dumps({**moment(snapshot), **fields}, ensure_ascii=False)
    return answer(snapshot, f"{document}\n", JSON, headers)


def whole(query: Mapping[str, str], name: str, default: int, most: int, least: int = 0) -> int:
    """A parameter that is a whole number.

    Raises:
        HttpError: It is something else, or out of its range.
    """
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most))):
        number = -1
    else:
        number = int(text)
    if not least <= number <= most:
        raise HttpError(400, f"{name}={text[:40]} is not a whole number from {least} to {most}.")
    return number


def known(query: Mapping[str, str], *names: str) -> None:
    """Refuse parameters that an endpoint does not have.

    Raises:
        HttpError: There is one.
    """
    for name in query:
        if name not in names:
            listed = ", ".join(names) if names else "none"
            raise HttpError(400, f"The parameter {name[:40]} is unknown here; there is {listed}.")
