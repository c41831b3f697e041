"""JSON rows: messages of an object, which is a row, or of an array of objects."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from streamreasoner.io.formats.reading.format import place
from streamreasoner.io.formats.reading.json.objects import read_array
from streamreasoner.io.formats.rejected import RejectedError
from streamreasoner.io.formats.rows.json_object import object_reader, values_in
from streamreasoner.io.formats.rows.mapped import updates
from streamreasoner.io.formats.rows.tables import rows_of_topics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streamreasoner.config.rows import RowMapping
    from streamreasoner.io.formats.reading.format import UpdateRows
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.io.formats.rows.json_object import ObjectReader
    from streamreasoner.io.formats.rows.mapped import Values
    from streamreasoner.io.formats.rows.tables import Numbered
    from streamreasoner.rdf.dictionary import Dictionary

_ROW = "Row"
_WHITE_SPACE = b" \t\r\n"


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> Iterator[UpdateRows]:
    """Facts of rows, as their `diff` header says; see `MessageReader`."""
    del dictionary
    for rows in rows_of_topics(messages, _reader, rejected):
        yield from updates(rows, _ROW)


def _reader(mapping: RowMapping) -> Callable[[bytes], Numbered]:
    one = object_reader(mapping)
    decode_array = msgspec.json.Decoder(list[one.row]).decode  # type: ignore[name-defined]

    def read(value: bytes) -> Numbered:
        if not value.lstrip(_WHITE_SPACE).startswith(b"["):
            return [one.read(value)], [0]
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            rows = decode_array(value)
            return map(values_in, rows), range(1, len(rows) + 1)
        elements = list(enumerate(read_array(value), start=1))
        return [_element(one, *each) for each in elements], [number for number, _ in elements]

    return read


def _element(one: ObjectReader, number: int, value: bytes) -> Values:
    try:
        return one.read(value)
    except RejectedError as error:
        raise RejectedError(error.reason, place(_ROW, number) + error.detail) from None
