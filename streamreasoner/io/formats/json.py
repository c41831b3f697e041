"""JSON: messages of an update or an array of updates, and what the output topic holds."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from contextlib import suppress
from typing import TYPE_CHECKING

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading.json.kernels.messages import VALUE
from streamreasoner.io.formats.reading.json.objects import read_array
from streamreasoner.io.formats.reading.json.scan import read_updates
from streamreasoner.io.formats.reading.json.updates import read_any, read_part
from streamreasoner.io.formats.writing.json_texts import write_texts
from streamreasoner.io.formats.writing.writer import Writer
from streamreasoner.lang.ast import bracketed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.io.formats.reading.format import UpdateRows
    from streamreasoner.io.formats.reading.json.updates import Numbered
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary

UPDATE = "Update"
"""What an element of an array is called."""
_WHITE_SPACE = b" \t\r\n"


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> list[UpdateRows]:
    """Updates of messages that are an object or an array of objects; see `MessageReader`."""
    del dictionary
    return read_updates(messages, VALUE, read_value, UPDATE, rejected)


def read_value(value: bytes) -> Numbered:
    """The updates of an object, or of an array of objects, with their number; 0 for an object.

    Raises:
        RejectedError: The value is neither.
    """
    value = value.removeprefix(BOM_UTF8)
    if not value.lstrip(_WHITE_SPACE).startswith(b"["):
        return [(0, read_any(value))]
    return [
        (number, read_part(UPDATE, number, each))
        for number, each in enumerate(read_array(value), start=1)
    ]


def fact_of_message(text: str) -> str:
    """Return the fact of a message in the rule language, or a text without braces unchanged.

    Raises:
        DataError: The text begins like a JSON object but contains no fact.
    """
    if not text.lstrip().startswith("{"):
        return text
    try:
        message = json.loads(text)
    except ValueError as error:
        raise DataError(f"The message is not JSON: {error}.") from None
    match message:
        case {"s": str(s), "p": str(p), "o": str(o)}:
            return f"[{s}, {p}, {o}]"
        case {"predicate": str(predicate), "args": [*args]} if all(
            isinstance(arg, str) for arg in args
        ):
            terms = ", ".join(args)
            if args and predicate == bracketed(len(args)):
                return f"[{terms}]"
            return f"{predicate}({terms})"
        case _:
            raise DataError(
                'The message contains no fact; a fact is {"s": …, "p": …, "o": …} or'
                ' {"predicate": …, "args": […]}, with terms in N-Triples syntax.'
            )


def fact_of_key(key: bytes) -> tuple[str, list[str]] | None:
    """The predicate and arguments that `write_keys` wrote; None if it did not write this key."""
    with suppress(ValueError):
        match json.loads(key):
            case [str(predicate), *args] if all(isinstance(arg, str) for arg in args):
                return predicate, args
    return None


WRITER = Writer(write_texts, predicates=None, signed=True, closing=b"", most=1)


def write_fact(predicate: str, args: Sequence[str], diff: int, ts: int | None = None) -> str:
    """The message of one update of a fact with canonical terms; *ts* is in milliseconds."""
    fact: dict[str, object] = {"predicate": predicate, "args": args, "diff": diff}
    if ts is not None:
        fact["ts"] = ts
    return json.dumps(fact, ensure_ascii=False)
