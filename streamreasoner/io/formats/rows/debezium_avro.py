"""Debezium's change events in Avro. Invariant: each names a schema of a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.format_names import FormatName
from streamreasoner.io.formats.rows.changes import Change, Source, facts_of_changes
from streamreasoner.io.formats.rows.records import record_reader, reject_other_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from streamreasoner.config.rows import RowMapping
    from streamreasoner.io.formats.reading.format import UpdateRows
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.records.record import Record, Schemas
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.io.formats.rows.mapped import Values
    from streamreasoner.rdf.dictionary import Dictionary


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> Iterator[UpdateRows]:
    """Facts of rows before and after changes; see `MessageReader`."""
    del dictionary
    reject_other_frames(messages, rejected)
    return facts_of_changes(messages, _Events(messages.schemas), rejected)


class _Events:
    """Events that are records; see `Envelope`."""

    rows_format = FormatName.AVRO

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas

    def change(self, value: bytes) -> Change[Record]:
        """The event in a message."""
        event = self._schemas.record("AVRO", value)
        source = event.record("source")
        return Change(
            _text(event, "op"),
            event.record("before"),
            event.record("after"),
            Source() if source is None else _source(source),
        )

    def reader(self, mapping: RowMapping) -> Callable[[Record], Values]:
        """What reads rows of a mapping."""
        return record_reader(mapping)

    def columns(self, row: Record) -> Mapping[str, object]:
        """All columns of a row."""
        return {name: field.get(row.content) for name, field in row.shape.fields.items()}


def _source(source: Record) -> Source:
    ts = source.value("ts_ms")
    return Source(
        _text(source, "db"),
        _text(source, "schema"),
        _text(source, "table"),
        ts if isinstance(ts, int) else None,
    )


def _text(record: Record, name: str) -> str | None:
    value = record.value(name)
    return value if isinstance(value, str) else None
