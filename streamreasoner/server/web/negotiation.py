"""Content negotiation (RFC 9110, section 12.5.1). Invariant: what is sent was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.server.web.errors import HttpError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class _Range:
    """A range of media types that a client accepts, with its weight."""

    main: str
    sub: str
    weight: float

    def rank(self, media_type: str) -> int:
        """How exactly it names a type: 0 not at all, 1 as any, 2 by its first half, 3 in full."""
        main, _, sub = media_type.partition("/")
        if (self.main, self.sub) == (main, sub):
            return 3
        if (self.main, self.sub) == (main, "*"):
            return 2
        return int((self.main, self.sub) == ("*", "*"))


def preferred(accept: str, offers: Sequence[str]) -> str | None:
    """The offered media type that a header `Accept` prefers; the first one among equals.

    Args:
        accept: The header; empty if there is none.
        offers: Media types in lower case, without parameters.

    Returns:
        None if it accepts none of them.
    """
    ranges = [each for part in accept.split(",") if (each := _range(part)) is not None]
    if not ranges:
        return offers[0]
    best, most = None, 0.0
    for offer in offers:
        matching = [(each.rank(offer), each.weight) for each in ranges if each.rank(offer)]
        _, weight = max(matching, default=(0, 0.0))
        if weight > most:
            best, most = offer, weight
    return best


def chosen(query: Mapping[str, str], headers: Mapping[str, str], formats: Mapping[str, str]) -> str:
    """The name of the format that a request asks for, by `format=` or else by `Accept`.

    Args:
        query: The parameters of the query.
        headers: The headers of the request.
        formats: Media type by name of the format; the first is the default. Several names may have
            one type, which stands for the first of them.

    Raises:
        HttpError: 400 for an unknown name, 406 if nothing that is accepted can be sent.
    """
    name = query.get("format")
    if name is not None:
        if name not in formats:
            raise HttpError(400, f"format={name[:40]} is unknown; use one of {', '.join(formats)}.")
        return name
    offers = [*dict.fromkeys(formats.values())]
    media_type = preferred(headers.get("accept", ""), offers)
    if media_type is None:
        offered = ", ".join(offers)
        raise HttpError(406, f"Nothing that the header Accept names can be sent; use {offered}.")
    return next(name for name, each in formats.items() if each == media_type)


def _range(text: str) -> _Range | None:
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    main, _, sub = name.partition("/")
    if not main:
        return None
    weight = 1.0
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                weight = min(max(float(value), 0.0), 1.0)
            except ValueError:
                weight = 0.0
    return _Range(main, sub or "*", weight)
