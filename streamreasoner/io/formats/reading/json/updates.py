"""One update in JSON: the two shapes of an object, and the reason for every other value.

Invariant: a value is exactly one update, or has a precise reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec

from streamreasoner.io.formats.reading.format import MAX_DIFF, place
from streamreasoner.io.formats.reading.json.objects import Argument, read_object, wrong_fields
from streamreasoner.io.formats.rejected import RejectedError

if TYPE_CHECKING:
    from collections.abc import Iterable

Diff = Annotated[int, msgspec.Meta(ge=-MAX_DIFF, le=MAX_DIFF)]


class TripleMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`{"s": ..., "p": ..., "o": ..., "diff": ..., "ts": ...}`; terms in N-Triples syntax.

    The output topic has an `epoch` too, which is not read.
    """

    s: str
    p: str
    o: str
    diff: Diff
    ts: str | int | None = None
    epoch: int | None = None


class FactMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`{"predicate": ..., "args": [...], "diff": ..., "ts": ...}`; JSON numbers are literals."""

    predicate: str
    args: list[Argument]
    diff: Diff
    ts: str | int | None = None
    epoch: int | None = None


Numbered: TypeAlias = "Iterable[tuple[int, TripleMessage | FactMessage]]"
"""Updates of a message, with the number of each."""
_decode_triple = msgspec.json.Decoder(TripleMessage).decode
_decode_fact = msgspec.json.Decoder(FactMessage).decode


def read_part(part: str, number: int, value: bytes) -> TripleMessage | FactMessage:
    """The update in a part of a message.

    Raises:
        RejectedError: The part is not an update; names it.
    """
    try:
        return read_any(value)
    except RejectedError as error:
        raise RejectedError(error.reason, place(part, number) + error.detail) from None


def read_any(value: bytes) -> TripleMessage | FactMessage:
    """The update in one value.

    Raises:
        RejectedError: The value is not an update.
    """
    for decode in (_decode_triple, _decode_fact):
        try:
            return decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    raise wrong_fields(read_object(value))
