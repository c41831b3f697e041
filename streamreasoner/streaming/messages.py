"""One JSON value -> one message, or the reason why not.

Invariant: `read_any` gives the same message as the fast decoders on every value these accept, and
one precise reason on every other.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

import msgspec

from streamreasoner.streaming.rejected import Reason, RejectedError

MOST_MULTIPLICITY = 1_000_000

Diff = Annotated[int, msgspec.Meta(ge=-MOST_MULTIPLICITY, le=MOST_MULTIPLICITY)]
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
# NUL as a JSON escape, or as an N-Triples escape inside a JSON string.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u0000|U00000000)")


def read_any(value: bytes) -> TripleMessage | FactMessage:
    """The message in one value.

    Raises:
        RejectedError: The value is not a message; says why.
    """
    for decode in (decode_triple, decode_fact):
        try:
            return decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    raise _wrong_fields(read_object(value))


def holds_nul(texts: tuple[Argument, ...]) -> bool:
    """Whether any of these terms holds the character NUL, escaped or not."""
    return any(
        isinstance(text, str) and ("\0" in text or _NUL.search(text) is not None) for text in texts
    )


def read_object(value: bytes) -> dict[str, Any]:
    """The JSON object in one value.

    Raises:
        RejectedError: The value is none; says why.
    """
    try:
        found = _decode(value)
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
    if not isinstance(found, dict):
        raise RejectedError(
            Reason.NOT_AN_OBJECT, f"The value is a JSON {_kind(found)}, not an object."
        )
    return found


def _not_json(value: bytes, said: str) -> RejectedError:
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
            Reason.LONE_SURROGATE, "A \\u escape is half a surrogate pair, which is no character."
        )
    except (ValueError, RecursionError):
        pass
    return RejectedError(Reason.NOT_JSON, f"The value is not JSON: {said}.")


def _wrong_fields(found: dict[str, Any]) -> RejectedError:
    known = (*_TRIPLE_FIELDS, *_FACT_FIELDS, *_COMMON_FIELDS)
    unknown = [name for name in found if name not in known]
    if unknown:
        return RejectedError(
            Reason.UNKNOWN_FIELD,
            f"The field {_shown(unknown[0])} is unknown; known are {', '.join(known)}.",
        )
    of_triple = [name for name in _TRIPLE_FIELDS if name in found]
    of_fact = [name for name in _FACT_FIELDS if name in found]
    if of_triple and of_fact:
        return RejectedError(
            Reason.MIXED_SHAPES,
            f"The fields {', '.join(of_triple)} and {', '.join(of_fact)} exclude each other.",
        )
    wanted = (*(_FACT_FIELDS if of_fact else _TRIPLE_FIELDS), "diff")
    missing = [name for name in wanted if name not in found]
    if missing:
        return RejectedError(
            Reason.MISSING_FIELD,
            f"The field {missing[0]} is missing; needed are {', '.join(wanted)}.",
        )
    return _wrong_types(found)


def _wrong_types(found: dict[str, Any]) -> RejectedError:
    for name in (*_TRIPLE_FIELDS, "predicate"):
        if name in found and not isinstance(found[name], str):
            return wrong_type(name, found[name], "a string")
    if "args" in found:
        if not isinstance(found["args"], list):
            return wrong_type("args", found["args"], "an array")
        for position, argument in enumerate(found["args"]):
            if not isinstance(argument, Argument):
                return wrong_type(f"args[{position}]", argument, "a string, number or boolean")
    diff = found["diff"]
    if isinstance(diff, bool) or not isinstance(diff, int):
        return wrong_type("diff", diff, "a whole number")
    if abs(diff) > MOST_MULTIPLICITY:
        return RejectedError(
            Reason.DIFF_OUT_OF_RANGE,
            f"diff is {_shown(diff)}; allowed is up to {MOST_MULTIPLICITY} in either direction.",
        )
    return wrong_type("ts", found.get("ts"), "an ISO 8601 string or whole milliseconds")


def wrong_type(name: str, found: object, wanted: str) -> RejectedError:
    """The reason for a field that holds something else than it must."""
    return RejectedError(
        Reason.WRONG_TYPE, f"{name} is {_shown(found)}, a JSON {_kind(found)}; it must be {wanted}."
    )


def _kind(found: object) -> str:
    match found:
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


def _shown(found: object) -> str:
    text = msgspec.json.encode(found).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
