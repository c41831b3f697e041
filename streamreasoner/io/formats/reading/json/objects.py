"""JSON values that are not messages, and why. Invariant: each has exactly one reason."""

from __future__ import annotations

import json
from types import NoneType
from typing import Any

import msgspec

from streamreasoner.io.formats.reading.format import MAX_DIFF
from streamreasoner.io.formats.rejected import Reason, RejectedError

Argument = str | int | float | bool

_decode = msgspec.json.Decoder().decode
_cut = msgspec.json.Decoder(list[msgspec.Raw]).decode
_TRIPLE_FIELDS = ("s", "p", "o")
_FACT_FIELDS = ("predicate", "args")
_COMMON_FIELDS = ("diff", "ts", "epoch")
_OPTIONAL = {"ts": "an ISO 8601 string or integer milliseconds", "epoch": "an integer"}
_SHOWN = 60


def read_object(value: bytes) -> dict[str, Any]:
    """The JSON object in one value.

    Raises:
        RejectedError: The value is not a JSON object.
    """
    decoded = _read(value)
    if not isinstance(decoded, dict):
        raise RejectedError(
            Reason.NOT_AN_OBJECT, f"The value is a JSON {_kind(decoded)}, not an object."
        )
    return decoded


def read_array(value: bytes) -> list[bytes]:
    """The elements of the JSON array in one value, as they are written.

    Raises:
        RejectedError: The value is not a JSON array.
    """
    # Elements are cut out only where the whole value is JSON.
    _read(value)
    return [bytes(element) for element in _cut(value)]


def _read(value: bytes) -> Any:
    try:
        return _decode(value)
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


def _not_json(value: bytes, problem: str) -> RejectedError:
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        return RejectedError(
            Reason.NOT_UTF8, f"The value is not UTF-8: {error.reason} at byte {error.start}."
        )
    if not text.strip():
        return RejectedError(Reason.NOT_JSON, "The value is empty, and so is not JSON.")
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


def wrong_fields(fields: dict[str, Any]) -> RejectedError:
    """The rejection of an object that is not a message."""
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
    name = "ts" if type(fields.get("epoch")) in {int, NoneType} else "epoch"
    return wrong_type(name, fields.get(name), _OPTIONAL[name])


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
