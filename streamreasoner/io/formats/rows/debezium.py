"""Debezium's change events in JSON.

They may have the wrapper `schema` and `payload` of Kafka Connect's JSON converter. Invariant: of a
row, only the columns that its mapping reads are decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from streamreasoner.format_names import FormatName
from streamreasoner.io.formats.reading.json.objects import read_object
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.io.formats.rows.changes import Change, Source, facts_of_changes
from streamreasoner.io.formats.rows.json_object import object_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from streamreasoner.config.rows import RowMapping
    from streamreasoner.io.formats.reading.format import UpdateRows
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.io.formats.rows.mapped import Values
    from streamreasoner.rdf.dictionary import Dictionary

_NULL = msgspec.Raw(b"null")


class _Change(msgspec.Struct, gc=False):
    op: str | None = None
    before: msgspec.Raw = _NULL
    after: msgspec.Raw = _NULL
    source: Source | None = None


class _Event(_Change, gc=False):
    payload: _Change | msgspec.UnsetType | None = msgspec.UNSET


_decode = msgspec.json.Decoder(_Event).decode


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> Iterator[UpdateRows]:
    """Facts of rows before and after changes; see `MessageReader`."""
    del dictionary
    return facts_of_changes(messages, _Events(), rejected)


class _Events:
    """Events that are objects; see `Envelope`."""

    rows_format = FormatName.JSON_ROWS

    def change(self, value: bytes) -> Change[msgspec.Raw] | None:
        """The event in a message; None if the wrapper holds a tombstone."""
        try:
            event = _decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            read_object(value)
            detail = f"The value is not a change event of Debezium: {error}."
            raise RejectedError(Reason.WRONG_TYPE, detail) from None
        found = event if event.payload is msgspec.UNSET else event.payload
        if found is None:
            return None
        return Change(found.op, _row(found.before), _row(found.after), found.source or Source())

    def reader(self, mapping: RowMapping) -> Callable[[msgspec.Raw], Values]:
        """What reads rows of a mapping."""
        return object_reader(mapping).read

    def columns(self, row: msgspec.Raw) -> Mapping[str, object]:
        """All columns of a row."""
        return read_object(bytes(row))


def _row(row: msgspec.Raw) -> msgspec.Raw | None:
    return None if bytes(row) == b"null" else row
