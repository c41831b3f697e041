"""A control message: how the program changes. Invariant: one value is one change or one reason.

The order of the messages decides what the program is, so their topic has one partition.
"""

from __future__ import annotations

from difflib import get_close_matches
from enum import Enum
from typing import Annotated, Any

import msgspec

from streamreasoner.streaming.messages import holds_nul, read_object, wrong_type
from streamreasoner.streaming.rejected import Reason, RejectedError

# A ruleset is called `<name>` among the texts of a program, so no other text may be.
_SOURCE = r"^[^<>\x00-\x1f]*$"
_MOST_CHARACTERS = 200


class Operation(Enum):
    """What the rules of a message are to the program in effect."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"


class ControlMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`{"operation": ..., "rules": ..., "source": ...}`.

    Attributes:
        operation: Whether the rules come, go, or are the whole program from now on.
        rules: A text in the rule language, with prefixes of its own.
        source: Name of the text in diagnostics.
    """

    operation: Operation
    rules: str
    source: Annotated[
        str, msgspec.Meta(min_length=1, max_length=_MOST_CHARACTERS, pattern=_SOURCE)
    ] = "control message"


_FIELDS = ControlMessage.__struct_fields__
_decode = msgspec.json.Decoder(ControlMessage).decode


def read_control(value: bytes) -> ControlMessage:
    """The control message in one value.

    Raises:
        RejectedError: The value is not a control message; says why.
    """
    try:
        message = _decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _why_not(read_object(value)) from None
    if holds_nul((message.rules,)):
        raise RejectedError(Reason.NUL, "The rules hold the character NUL.")
    return message


def write_control(operation: Operation, rules: str, source: str) -> bytes:
    """The value of a control message; a source that may not be a name is left out."""
    fields = {"operation": operation.value, "rules": rules, "source": source}
    try:
        return msgspec.json.encode(msgspec.convert(fields, ControlMessage))
    except msgspec.ValidationError:
        return msgspec.json.encode(ControlMessage(operation, rules))


def _why_not(found: dict[str, Any]) -> RejectedError:
    for name in found:
        if name not in _FIELDS:
            return RejectedError(
                Reason.UNKNOWN_FIELD,
                f"The field {name[:60]!r} is unknown; known are {', '.join(_FIELDS)}.",
            )
    for name in ("operation", "rules"):
        if name not in found:
            return RejectedError(
                Reason.MISSING_FIELD,
                f"The field {name} is missing; needed are operation and rules.",
            )
    for name, value in found.items():
        if not isinstance(value, str):
            return wrong_type(name, value, "a string")
    operations = [one.value for one in Operation]
    if found["operation"] not in operations:
        close = get_close_matches(found["operation"], operations, 1)
        guess = f" Did you mean {close[0]}?" if close else ""
        return RejectedError(
            Reason.UNKNOWN_OPERATION,
            f"The operation is {found['operation'][:60]!r}; allowed are {', '.join(operations)}."
            f"{guess}",
        )
    return wrong_type(
        "source",
        found["source"],
        f"a name of 1 to {_MOST_CHARACTERS} characters without < and >",
    )
