"""Rows that are records of a schema. Invariant: a column is found once for each schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.io.formats.reading.messages import header_values
from streamreasoner.io.formats.records.record import SCHEMA_HEADER
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.io.formats.rows.mapped import missing_column, updates
from streamreasoner.io.formats.rows.tables import rows_of_topics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streamreasoner.config.rows import RowMapping
    from streamreasoner.io.formats.reading.format import UpdateRows
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.records.record import Field, Record, Shape
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.io.formats.rows.mapped import Values
    from streamreasoner.io.formats.rows.tables import Numbered

_WHOLE = (0,)


def rows_of_records(messages: Messages, kind: str, rejected: Rejections) -> Iterator[UpdateRows]:
    """Facts of messages of a record each, as their `diff` header says.

    Args:
        messages: The messages.
        kind: The kind of their schemas; see `Schemas.record`.
        rejected: Gets the messages that cannot be read.
    """
    reject_other_frames(messages, rejected)

    def reader(mapping: RowMapping) -> Callable[[bytes], Numbered]:
        read = record_reader(mapping)
        return lambda value: ((read(messages.schemas.record(kind, value)),), _WHOLE)

    for rows in rows_of_topics(messages, reader, rejected):
        yield from updates(rows, "")


def record_reader(mapping: RowMapping) -> Callable[[Record], Values]:
    """What reads the columns of a mapping from records of any schema."""
    found: dict[Shape, list[Field]] = {}

    def read(record: Record) -> Values:
        shape, content = record
        fields = found.get(shape)
        if fields is None:
            for name in mapping.columns:
                if name not in shape.fields:
                    raise missing_column(name, mapping, shape.fields)
            found[shape] = fields = [shape.fields[name] for name in mapping.columns]
        return tuple(
            None if (value := field.get(content)) is None else field.convert(value)
            for field in fields
        )

    return read


def reject_other_frames(messages: Messages, rejected: Rejections) -> None:
    """Reject messages whose header names the schema: their values could be taken for others."""
    rows, _, _ = header_values(messages.batch, SCHEMA_HEADER)
    for row in messages.rows[rows].tolist():
        detail = (
            f"The header {SCHEMA_HEADER} names the schema. Only values that begin with its id are"
            " read; let the serializer write it there."
        )
        rejected.setdefault(row, RejectedError(Reason.UNKNOWN_SCHEMA, detail))
