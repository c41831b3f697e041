"""Updates in JSON: the two shapes of an object, and the reason for every other value.

Invariant: `read_any` gives the same update as the fast decoders for every value they accept, and a
precise reason for every other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
import numpy as np

from streamreasoner.io.formats.reading.format import MAX_DIFF, UpdateRows, place
from streamreasoner.io.formats.reading.json_object import Argument, read_object, wrong_fields
from streamreasoner.io.formats.rejected import RejectedError
from streamreasoner.lang.ast import ARITIES, TRIPLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections

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
decode_triple = msgspec.json.Decoder(TripleMessage).decode
decode_fact = msgspec.json.Decoder(FactMessage).decode


def grouped(
    messages: Messages,
    values: Sequence[bytes],
    read: Callable[[bytes], Numbered],
    part: str,
    rejected: Rejections,
) -> list[UpdateRows]:
    """The updates of messages: triples, followed by the other facts by predicate.

    Args:
        messages: The messages.
        values: The value of each.
        read: Reads the updates of a value; raises a `RejectedError`.
        part: What an update of a message is called in reasons.
        rejected: Gets the messages that cannot be read.
    """
    groups: dict[tuple[bool, str, int], _Group] = {}
    for row, value in zip(messages.rows.tolist(), values, strict=True):
        try:
            numbered = read(value)
        except RejectedError as error:
            rejected[row] = error
            continue
        for number, update in numbered:
            group = groups.setdefault(_key(update), _Group())
            group.rows.append(row)
            group.updates.append(update)
            group.numbers.append(number)
    return [
        update_rows(predicate, np.array(group.rows), group.updates, part, group.numbers)
        for (_, predicate, _), group in sorted(groups.items())
    ]


@dataclass(slots=True)
class _Group:
    """Updates of one predicate, with the row of the message of each, and its number in it."""

    rows: list[int] = field(default_factory=list)
    updates: list[Any] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


def _key(update: TripleMessage | FactMessage) -> tuple[bool, str, int]:
    """Whether it is a fact, its predicate and its arity: triples come before facts."""
    if isinstance(update, TripleMessage):
        return False, TRIPLE, ARITIES[TRIPLE]
    return True, update.predicate, len(update.args)


def update_rows(
    predicate: str,
    rows: NDArray[np.int64],
    updates: Sequence[Any],
    part: str = "",
    numbers: Sequence[int] | None = None,
) -> UpdateRows:
    """Columns of updates of one shape.

    Args:
        predicate: Their predicate.
        rows: The row of the message of each, int64 of shape (n,).
        updates: All triples, or all facts, n > 0.
        part: What an update of a message is called in reasons.
        numbers: The number of each in its message.
    """
    if isinstance(updates[0], TripleMessage):
        args: list[Sequence[str | float]] = [
            [update.s for update in updates],
            [update.p for update in updates],
            [update.o for update in updates],
        ]
    else:
        args = [*zip(*(update.args for update in updates), strict=True)]
    return UpdateRows(
        predicate,
        rows,
        args,
        np.array([update.diff for update in updates], dtype=np.int64),
        [update.ts for update in updates],
        part,
        None if numbers is None else np.array(numbers, dtype=np.int32),
    )


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
    for decode in (decode_triple, decode_fact):
        try:
            return decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    raise wrong_fields(read_object(value))
