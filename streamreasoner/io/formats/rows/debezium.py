"""Debezium's change events: rows of a table before and after a change.

The envelope is that of https://debezium.io/documentation/reference/stable/, with or without the
wrapper `schema` and `payload` of Kafka Connect's JSON converter. A creation and a snapshot assert
`after`, a deletion retracts `before`, an update does both. Invariant: an event that does not say
which facts were true before is rejected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from streamreasoner.io.formats.reading.json_object import read_object
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.io.formats.rows.json_object import object_reader
from streamreasoner.io.formats.rows.mapped import Rows, updates
from streamreasoner.io.formats.rows.tables import unmapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from streamreasoner.io.formats.reading.format import UpdateRows
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.io.formats.rows.mapped import Values
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.row_mapping import RowMapping

_SIDES = {"c": ("after",), "r": ("after",), "u": ("before", "after"), "d": ("before",)}
"""What an event with an operation must have: create, read (a snapshot), update, delete."""
_SIGNS = {"before": -1, "after": 1}
_NULL = msgspec.Raw(b"null")
_UNAVAILABLE = "__debezium_unavailable_value"
"""What stands for a long value that did not change and that PostgreSQL does not send."""
_WAY_OUT = (
    "In PostgreSQL, ALTER TABLE … REPLICA IDENTITY FULL makes it send old rows (in MySQL,"
    " binlog_row_image = FULL)."
)


class _Source(msgspec.Struct, gc=False):
    db: str | None = None
    schema: str | None = None
    table: str | None = None
    ts_ms: int | None = None

    @property
    def names(self) -> Iterator[str]:
        """What a mapping may call the table, the most specific name first."""
        parts = [each for each in (self.db, self.schema, self.table) if each]
        return (".".join(parts[start:]) for start in range(len(parts) if self.table else 0))


class _Change(msgspec.Struct, gc=False):
    op: str | None = None
    before: msgspec.Raw = _NULL
    after: msgspec.Raw = _NULL
    source: _Source | None = None


class _Event(_Change, gc=False):
    payload: _Change | msgspec.UnsetType | None = msgspec.UNSET


_decode = msgspec.json.Decoder(_Event).decode


def read_messages(
    messages: Messages, dictionary: Dictionary, rejected: Rejections
) -> Iterator[UpdateRows]:
    """Facts of rows before and after changes; see `MessageReader`."""
    del dictionary
    tables = _Tables(messages.mappings)
    topics = messages.batch.column("topic").to_pylist()
    for row, topic, value in zip(messages.rows.tolist(), topics, messages.values(), strict=True):
        try:
            change = _change(value)
            if change is None:
                continue
            source = change.source or _Source()
            table = tables.of(source, topic)
            read = [(_SIGNS[side], table.read(change, side)) for side in _required(change)]
        except RejectedError as error:
            rejected[row] = error
            continue
        for sign, values in read:
            table.rows.append(row, values, sign, source.ts_ms)
    for each in tables.all:
        yield from updates(each.rows, "")


def _change(value: bytes) -> _Change | None:
    """The event in a message; None if the wrapper holds a tombstone."""
    try:
        event = _decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        read_object(value)
        detail = f"The value is no change event of Debezium: {error}."
        raise RejectedError(Reason.WRONG_TYPE, detail) from None
    return event if event.payload is msgspec.UNSET else event.payload


def _required(change: _Change) -> Iterable[str]:
    """Which rows the operation of an event makes it have: those before and after it.

    Raises:
        RejectedError: The event is no change of a row, or has not told that row.
    """
    if change.op is None:
        raise RejectedError(
            Reason.MISSING_FIELD,
            "The field op is missing, so that this is no change event of Debezium. Rows without"
            " an envelope have the format json-rows.",
        )
    if change.op == "t":
        raise RejectedError(
            Reason.UNKNOWN_OPERATION,
            'op is "t": the table was truncated, and the event does not tell which rows it had.'
            ' Use DELETE instead; skipped.operations = "t" leaves out such events.',
        )
    if change.op not in _SIDES:
        raise RejectedError(
            Reason.UNKNOWN_OPERATION,
            f"op is {change.op[:60]!r}; it must be one of {', '.join(_SIDES)}.",
        )
    for side in _SIDES[change.op]:
        if bytes(getattr(change, side)) == b"null":
            detail = f'{side} is null in an event with op "{change.op}".'
            if side == "before":
                detail += f" {_WAY_OUT}"
            raise RejectedError(Reason.MISSING_FIELD, detail)
    return _SIDES[change.op]


class _Table:
    """The rows of a mapping, and how to read them."""

    def __init__(self, mapping: RowMapping) -> None:
        self.mapping = mapping
        self.rows = Rows(mapping)
        self._read = object_reader(mapping).read
        self._columns = mapping.columns
        self._others = [at for at, name in enumerate(self._columns) if name not in mapping.key]

    def read(self, change: _Change, side: str) -> Values:
        """The values of the row before or after a change.

        Raises:
            RejectedError: The row lacks a value that facts need.
        """
        row = getattr(change, side)
        try:
            values = self._read(row)
        except RejectedError as error:
            incomplete = side == "before" and error.reason is Reason.MISSING_FIELD
            way_out = f" {_WAY_OUT}" if incomplete else ""
            raise RejectedError(error.reason, f"{side}: {error.detail}{way_out}") from None
        if _UNAVAILABLE in values:
            name = self._columns[values.index(_UNAVAILABLE)]
            detail = f"{side}: The value of the column {name!r} was not sent. {_WAY_OUT}"
            raise RejectedError(Reason.MISSING_FIELD, detail)
        if change.op == "d" and self._is_bare(values, row):
            raise RejectedError(
                Reason.MISSING_FIELD,
                f"before: The deleted row has nothing but its key ({', '.join(self.mapping.key)})."
                f" {_WAY_OUT} If rows with only a key are right, remove"
                f" input.map.{self.mapping.name}.key.",
            )
        return values

    def _is_bare(self, values: Values, row: msgspec.Raw) -> bool:
        """Whether all is NULL but the key, as when the database sends no more of deleted rows."""
        key = self.mapping.key
        if not key or not self._others or None not in values:
            return False
        if any(values[at] is not None for at in self._others):
            return False
        fields = read_object(bytes(row))
        return all(value is None for name, value in fields.items() if name not in key)


class _Tables:
    """The tables of all mappings; which one an event has is decided once for its source."""

    def __init__(self, mappings: Sequence[RowMapping]) -> None:
        self.all = [_Table(each) for each in mappings]
        self._named = {
            **{("topic", each.mapping.topic): each for each in self.all},
            **{("table", each.mapping.table): each for each in self.all},
        }
        self._found: dict[tuple[str | None, ...], _Table] = {}

    def of(self, source: _Source, topic: str) -> _Table:
        """The table of an event: as the event names it, or else by its topic.

        Raises:
            RejectedError: No mapping is for it.
        """
        key = (source.db, source.schema, source.table, topic)
        if key not in self._found:
            self._found[key] = self._of(source, topic)
        return self._found[key]

    def _of(self, source: _Source, topic: str) -> _Table:
        names = [*(("table", name) for name in source.names), ("topic", topic)]
        for each in names:
            if each in self._named:
                return self._named[each]
        what, name = names[0]
        raise unmapped(f"the {what} {name!r}", f'{what} = "{name}"')
