"""JSON: messages of an update or an array of updates, and what the output topic holds."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.reading.json_object import read_array
from streamreasoner.io.formats.reading.json_updates import (
    TripleMessage,
    decode_triple,
    grouped,
    read_any,
    read_part,
    update_rows,
)
from streamreasoner.io.formats.writing import Writer
from streamreasoner.lang.ast import TRIPLE, bracketed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.format import UpdateRows
    from streamreasoner.io.formats.reading.json_updates import Numbered
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.io.formats.writing import Stamp
    from streamreasoner.rdf.dictionary import Dictionary

UPDATE = "Update"
"""What an element of an array is called."""
_WHITE_SPACE = b" \t\r\n"
_decode_triples = msgspec.json.Decoder(list[TripleMessage]).decode


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> list[UpdateRows]:
    """Updates of messages that are an object or an array of objects; see `MessageReader`."""
    del dictionary
    values = messages.values()
    # Nearly every batch holds triples only: try to decode all of them at once.
    with suppress(ValueError, RecursionError):
        triples = [decode_triple(value) for value in values]
        return [update_rows(TRIPLE, messages.rows, triples)]
    return grouped(messages, values, read_value, UPDATE, rejected)


def read_value(value: bytes) -> Numbered:
    """The updates of an object, or of an array of objects, with their number; 0 for an object.

    Raises:
        RejectedError: The value is neither.
    """
    if not value.lstrip(_WHITE_SPACE).startswith(b"["):
        return [(0, read_any(value))]
    with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return enumerate(_decode_triples(value), start=1)
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


def write_texts(
    predicate: str,
    columns: Sequence[pa.Array],
    diff: NDArray[np.integer],
    stamp: Stamp | None = None,
) -> pa.Array:
    """An object for each update: constant pieces and columns, joined row by row; see `Texts`."""
    if predicate == TRIPLE:
        pieces = ['{"s":"', '","p":"', '","o":"', '","diff":']
    else:
        name = msgspec.json.encode(predicate).decode()
        quote = '"' if columns else ""
        opening = f'{{"predicate":{name},"args":[{quote}'
        pieces = [opening, *('","',) * (len(columns) - 1), f'{quote}],"diff":']
    joined: list[pa.Array | pa.Scalar] = []
    for position, piece in enumerate(pieces):
        joined.append(_text(piece))
        if position < len(columns):
            joined.append(_escaped(columns[position]))
    closing = "}"
    if stamp is not None:
        closing = f',"ts":"{timestamps.iso(stamp.ts)}","epoch":{stamp.epoch}}}'
    joined += [pa.array(diff).cast(pa.large_string()), _text(closing), _text("")]
    # The last argument of the kernel is the separator.
    return pc.binary_join_element_wise(*joined)


WRITER = Writer(write_texts, rdf=False, signed=True, closing=b"", most=1)


def write_fact(predicate: str, args: Sequence[str], diff: int, ts: int | None = None) -> str:
    """The message of one update of a fact with canonical terms; *ts* is in milliseconds."""
    fact: dict[str, object] = {"predicate": predicate, "args": args, "diff": diff}
    if ts is not None:
        fact["ts"] = ts
    return json.dumps(fact, ensure_ascii=False)


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _escaped(terms: pa.Array) -> pa.Array:
    """Terms escaped for JSON; canonical terms have no control characters: two escapes suffice."""
    doubled = pc.replace_substring(terms, "\\", "\\\\")
    return pc.replace_substring(doubled, '"', '\\"')
