"""Control messages. Invariant: a value is one message of one kind, or has one rejection reason.

The program depends on the order of the messages, so their topic has one partition.

A tick is input like any other, so that a replay sees the clock of the first attempt.
"""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import get_close_matches
from enum import Enum
from typing import Annotated, Any

import msgspec

from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.reading.json.objects import read_object, wrong_type
from streamreasoner.io.formats.rejected import Reason, RejectedError

# `<name>` is reserved for rulesets among the texts of a program.
_SOURCE = r"^[^<>\x00-\x1f]*$"
_NAME = r"^[A-Za-z][A-Za-z0-9_]*$"
_MAX_CHARACTERS = 200


class Operation(Enum):
    """How the rules of a message change the program in effect."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"


class ControlMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`{"operation": ..., "rules": ..., "source": ..., "query": ...}`.

    Attributes:
        operation: Whether to add the rules, remove them, or make them the whole program.
        rules: A text in the rule language, with its own prefixes.
        source: Name of the text in diagnostics.
        query: The predicate of the answers if the rules are those of a query; it is added only if
            the program does not have the predicate.
    """

    operation: Operation
    rules: str
    source: Annotated[
        str, msgspec.Meta(min_length=1, max_length=_MAX_CHARACTERS, pattern=_SOURCE)
    ] = "control message"
    query: Annotated[str, msgspec.Meta(max_length=_MAX_CHARACTERS, pattern=_NAME)] | None = None


class Tick(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`{"tick": ...}`.

    Attributes:
        tick: Event time up to which input counts as complete, in milliseconds since 1970.
    """

    tick: Annotated[int, msgspec.Meta(ge=timestamps.FIRST, le=timestamps.LAST)]


_FIELDS = ControlMessage.__struct_fields__
_decode = msgspec.json.Decoder(ControlMessage).decode
_decode_tick = msgspec.json.Decoder(Tick).decode


def read_control(value: bytes) -> ControlMessage | Tick:
    """The control message or tick in one value.

    Raises:
        RejectedError: The value is not a control message.
    """
    try:
        message = _decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        fields = read_object(value)
        if "tick" not in fields:
            raise _rejection(fields) from None
        try:
            return _decode_tick(value)
        except msgspec.MsgspecError:
            raise _bad_tick(fields) from None
    return message


def write_control(operation: Operation, rules: str, source: str, query: str | None = None) -> bytes:
    """The value of a control message, without the source if that is not a valid name."""
    message = ControlMessage(operation, rules, query=query)
    fields = {"operation": operation.value, "rules": rules, "source": source}
    with suppress(msgspec.ValidationError):
        message = msgspec.convert({**fields, "query": query}, ControlMessage)  # noqa: TID251 - `_decode`
    written = msgspec.to_builtins(message)
    return msgspec.json.encode({key: each for key, each in written.items() if each is not None})


def write_tick(time: int) -> bytes:
    """The value of a tick; *time* is in milliseconds since 1970."""
    return msgspec.json.encode(Tick(time))


def _bad_tick(fields: dict[str, Any]) -> RejectedError:
    for name in fields:
        if name != "tick":
            return RejectedError(
                Reason.UNKNOWN_FIELD, f"Unknown field {name[:60]!r}; a tick has no other field."
            )
    return RejectedError(
        Reason.BAD_TIMESTAMP,
        f"tick is {str(fields['tick'])[:60]!r}; it must be milliseconds since 1970, in the years "
        "1 to 9999.",
    )


def _rejection(fields: dict[str, Any]) -> RejectedError:
    for name in fields:
        if name not in _FIELDS:
            return RejectedError(
                Reason.UNKNOWN_FIELD,
                f"Unknown field {name[:60]!r}; the fields are {', '.join(_FIELDS)}.",
            )
    for name in ("operation", "rules"):
        if name not in fields:
            return RejectedError(
                Reason.MISSING_FIELD,
                f"The field {name} is missing; operation and rules are required.",
            )
    for name, value in fields.items():
        if not isinstance(value, str):
            return wrong_type(name, value, "a string")
    if "query" in fields and re.fullmatch(_NAME, fields["query"]) is None:
        return wrong_type("query", fields["query"], "the name of a predicate")
    operations = [operation.value for operation in Operation]
    if fields["operation"] not in operations:
        close = get_close_matches(fields["operation"], operations, 1)
        guess = f" Did you mean {close[0]}?" if close else ""
        return RejectedError(
            Reason.UNKNOWN_OPERATION,
            f"The operation is {fields['operation'][:60]!r}; it must be one of "
            f"{', '.join(operations)}.{guess}",
        )
    return wrong_type(
        "source",
        fields["source"],
        f"a name of 1 to {_MAX_CHARACTERS} characters without < and >",
    )
