"""Messages in JSON, one update each, or the reason for their rejection.

Invariant: `read_any` gives the same message as the fast decoders for every value they accept, and a
precise reason for every other.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from streamreasoner.io.formats.format import Rows
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.lang.ast import TRIPLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_DIFF = 1_000_000

Diff = Annotated[int, msgspec.Meta(ge=-MAX_DIFF, le=MAX_DIFF)]
Argument = str | int | float | bool


class TripleMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`{"s": ..., "p": ..., "o": ..., "diff": ..., "ts": ...}`; terms in N-Triples syntax."""

    s: str
    p: str
    o: str
    diff: Diff
    ts: str | int | None = None


class FactMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`{"predicate": ..., "args": [...], "diff": ..., "ts": ...}`; JSON numbers are literals."""

    predicate: str
    args: list[Argument]
    diff: Diff
    ts: str | int | None = None


decode_triple = msgspec.json.Decoder(TripleMessage).decode
decode_fact = msgspec.json.Decoder(FactMessage).decode
_decode = msgspec.json.Decoder().decode

_TRIPLE_FIELDS = ("s", "p", "o")
_FACT_FIELDS = ("predicate", "args")
_COMMON_FIELDS = ("diff", "ts")
_SHOWN = 60


def read_messages(values: Sequence[bytes], rejected: dict[int, RejectedError]) -> list[Rows]:
    """Triples, followed by the other facts by predicate; see `MessageReader`."""
    if values and not rejected:
        # Nearly every batch holds triples only: try to decode all of them at once.
        with suppress(ValueError, RecursionError):
            return [_triples(range(len(values)), [decode_triple(value) for value in values])]
    triples: dict[int, TripleMessage] = {}
    facts: dict[tuple[str, int], dict[int, FactMessage]] = {}
    for row, value in enumerate(values):
        if row in rejected:
            continue
        try:
            message = read_any(value)
        except RejectedError as error:
            rejected[row] = error
            continue
        if isinstance(message, FactMessage):
            facts.setdefault((message.predicate, len(message.args)), {})[row] = message
        else:
            triples[row] = message
    groups = [_facts(name, messages) for (name, _), messages in sorted(facts.items())]
    return [_triples([*triples], [*triples.values()]), *groups] if triples else groups


def _triples(rows: Sequence[int], messages: Sequence[TripleMessage]) -> Rows:
    return Rows(
        TRIPLE,
        np.asarray(rows, dtype=np.int64),
        (
            [message.s for message in messages],
            [message.p for message in messages],
            [message.o for message in messages],
        ),
        np.array([message.diff for message in messages], dtype=np.int64),
        [message.ts for message in messages],
    )


def _facts(predicate: str, by_row: Mapping[int, FactMessage]) -> Rows:
    messages = by_row.values()
    return Rows(
        predicate,
        np.fromiter(by_row, dtype=np.int64),
        [*zip(*(message.args for message in messages), strict=True)],
        np.array([message.diff for message in messages], dtype=np.int64),
        [message.ts for message in messages],
    )


def read_any(value: bytes) -> TripleMessage | FactMessage:
    """The message in one value.

    Raises:
        RejectedError: The value is not a message.
    """
    for decode in (decode_triple, decode_fact):
        try:
            return decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    raise _wrong_fields(read_object(value))


def read_object(value: bytes) -> dict[str, Any]:
    """The JSON object in one value.

    Raises:
        RejectedError: The value is not a JSON object.
    """
    try:
        decoded = _decode(value)
    except UnicodeDecodeError as error:
        detail = f"The value is not UTF-8: {error.reason}."
        raise RejectedError(Reason.NOT_UTF8, detail) from None
    except RecursionError:
        detail = "The value is not JSON: it is nested too deeply."
        raise RejectedError(Reason.NOT_JSON, detail) from None
    except msgspec.ValidationError as error:
        raise RejectedError(Reason.NUMBER_OUT_OF_RANGE, f"{error}.") from None
    except msgspec.DecodeError as error:
        raise _not_json(value, str(error)) from None
    if not isinstance(decoded, dict):
        raise RejectedError(
            Reason.NOT_AN_OBJECT, f"The value is a JSON {_kind(decoded)}, not an object."
        )
    return decoded


def _not_json(value: bytes, problem: str) -> RejectedError:
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        return RejectedError(
            Reason.NOT_UTF8, f"The value is not UTF-8: {error.reason} at byte {error.start}."
        )
    try:
        json.dumps(json.loads(text), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return RejectedError(
            Reason.LONE_SURROGATE,
            "A \\u escape is half a surrogate pair, which encodes no character.",
        )
    except (ValueError, RecursionError):
        pass
    return RejectedError(Reason.NOT_JSON, f"The value is not JSON: {problem}.")


def _wrong_fields(fields: dict[str, Any]) -> RejectedError:
    known = (*_TRIPLE_FIELDS, *_FACT_FIELDS, *_COMMON_FIELDS)
    unknown = [name for name in fields if name not in known]
    if unknown:
        return RejectedError(
            Reason.UNKNOWN_FIELD,
            f"Unknown field {_shown(unknown[0])}; the fields are {', '.join(known)}.",
        )
    of_triple = [name for name in _TRIPLE_FIELDS if name in fields]
    of_fact = [name for name in _FACT_FIELDS if name in fields]
    if of_triple and of_fact:
        return RejectedError(
            Reason.MIXED_SHAPES,
            f"The fields {', '.join(of_triple)} and {', '.join(of_fact)} cannot be combined.",
        )
    required = (*(_FACT_FIELDS if of_fact else _TRIPLE_FIELDS), "diff")
    missing = [name for name in required if name not in fields]
    if missing:
        return RejectedError(
            Reason.MISSING_FIELD,
            f"The field {missing[0]} is missing; {', '.join(required)} are required.",
        )
    return _wrong_types(fields)


def _wrong_types(fields: dict[str, Any]) -> RejectedError:
    for name in (*_TRIPLE_FIELDS, "predicate"):
        if name in fields and not isinstance(fields[name], str):
            return wrong_type(name, fields[name], "a string")
    if "args" in fields:
        if not isinstance(fields["args"], list):
            return wrong_type("args", fields["args"], "an array")
        for position, argument in enumerate(fields["args"]):
            if not isinstance(argument, Argument):
                return wrong_type(f"args[{position}]", argument, "a string, number or boolean")
    diff = fields["diff"]
    if isinstance(diff, bool) or not isinstance(diff, int):
        return wrong_type("diff", diff, "an integer")
    if abs(diff) > MAX_DIFF:
        return RejectedError(
            Reason.DIFF_OUT_OF_RANGE,
            f"diff is {_shown(diff)}; it must be from -{MAX_DIFF} to {MAX_DIFF}.",
        )
    return wrong_type("ts", fields.get("ts"), "an ISO 8601 string or integer milliseconds")


def wrong_type(name: str, value: object, expected: str) -> RejectedError:
    """The rejection of a field of the wrong JSON type."""
    return RejectedError(
        Reason.WRONG_TYPE,
        f"{name} is {_shown(value)}, a JSON {_kind(value)}; it must be {expected}.",
    )


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
