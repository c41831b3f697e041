"""Change events of Debezium, whatever they are written in: rows before and after a change.

The envelope is that of https://debezium.io/documentation/reference/stable/. A creation and a
snapshot assert `after`, a deletion retracts `before`, an update does both. Invariant: an event that
does not say which facts were true before is rejected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from streamreasoner.io.formats.records.typed import binary
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.io.formats.rows.mapped import Rows, updates
from streamreasoner.io.formats.rows.tables import unmapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from streamreasoner.config.rows import RowMapping
    from streamreasoner.format_names import FormatName
    from streamreasoner.io.formats.reading.format import UpdateRows
    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.io.formats.rows.mapped import Values

_SIDES = {"c": ("after",), "r": ("after",), "u": ("before", "after"), "d": ("before",)}
"""What an event with an operation must have: create, read (a snapshot), update, delete."""
_SIGNS = {"before": -1, "after": 1}
_PLACEHOLDER = "__debezium_unavailable_value"
_IN_BASE64 = binary(_PLACEHOLDER.encode())
_UNAVAILABLE = (_PLACEHOLDER, _IN_BASE64, _IN_BASE64.text)
"""What stands for a long value that did not change and that PostgreSQL does not send."""
_WAY_OUT = (
    "In PostgreSQL, ALTER TABLE … REPLICA IDENTITY FULL makes it send old rows (in MySQL,"
    " binlog_row_image = FULL)."
)

Row = TypeVar("Row")
"""A row as an event has it, before a mapping reads it."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a change comes from.

    Attributes:
        db: The database.
        schema: The schema.
        table: The table.
        ts_ms: When the database made it, in milliseconds since 1970.
    """

    db: str | None = None
    schema: str | None = None
    table: str | None = None
    ts_ms: int | None = None

    @property
    def names(self) -> Iterator[str]:
        """What a mapping may call the table, the most specific name first."""
        parts = [each for each in (self.db, self.schema, self.table) if each]
        return (".".join(parts[start:]) for start in range(len(parts) if self.table else 0))


@dataclass(frozen=True, slots=True)
class Change(Generic[Row]):
    """What a change event says.

    Attributes:
        op: The operation.
        before: The row before it, if it is told.
        after: The row after it, if it is told.
        source: Where it comes from.
    """

    op: str | None
    before: Row | None
    after: Row | None
    source: Source


class Envelope(Protocol[Row]):
    """What events are written in."""

    rows_format: FormatName
    """The format of rows without an envelope."""

    def change(self, value: bytes) -> Change[Row] | None:
        """The event in a message; None if it is a tombstone. Raises a `RejectedError`."""
        ...

    def reader(self, mapping: RowMapping) -> Callable[[Row], Values]:
        """What reads the columns of a mapping. It raises a `RejectedError`."""
        ...

    def columns(self, row: Row) -> Mapping[str, object]:
        """All columns of a row; None is NULL."""
        ...


def facts_of_changes(
    messages: Messages, envelope: Envelope[Row], rejected: Rejections
) -> Iterator[UpdateRows]:
    """Facts of rows before and after changes.

    Args:
        messages: The messages, of an event each.
        envelope: What they are written in.
        rejected: Gets the messages that do not say which facts change.
    """
    tables = _Tables(messages.mappings, envelope)
    topics = messages.batch.column("topic").to_pylist()
    for row, topic, value in zip(messages.rows.tolist(), topics, messages.values(), strict=True):
        try:
            change = envelope.change(value)
            if change is None:
                continue
            sides = _required(change, envelope.rows_format)
            table = tables.of(change.source, topic)
            read = [(_SIGNS[side], table.read(change, side)) for side in sides]
        except RejectedError as error:
            rejected.setdefault(row, error)
            continue
        for sign, values in read:
            table.rows.append(row, values, sign, change.source.ts_ms)
    for each in tables.all:
        yield from updates(each.rows, "")


def _required(change: Change[Row], rows_format: str) -> Iterable[str]:
    """Which rows the operation of an event makes it have: those before and after it.

    Raises:
        RejectedError: The event is not a change of a row, or has not told that row.
    """
    if change.op is None:
        raise RejectedError(
            Reason.MISSING_FIELD,
            "The field op is missing, so this is not a change event of Debezium. Rows without"
            f" an envelope have the format {rows_format}.",
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
        if getattr(change, side) is None:
            detail = f'{side} is null in an event with op "{change.op}".'
            if side == "before":
                detail += f" {_WAY_OUT}"
            raise RejectedError(Reason.MISSING_FIELD, detail)
    return _SIDES[change.op]


class _Table(Generic[Row]):
    """The rows of a mapping, and how to read them."""

    def __init__(self, mapping: RowMapping, envelope: Envelope[Row]) -> None:
        self.mapping = mapping
        self.rows = Rows(mapping)
        self._read = envelope.reader(mapping)
        self._columns_of = envelope.columns
        self._columns = mapping.columns
        self._others = [at for at, name in enumerate(self._columns) if name not in mapping.key]

    def read(self, change: Change[Row], side: str) -> Values:
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
        if any(value in _UNAVAILABLE for value in values):
            at = next(at for at, value in enumerate(values) if value in _UNAVAILABLE)
            name = self._columns[at]
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

    def _is_bare(self, values: Values, row: Row) -> bool:
        """Whether all is NULL but the key, as when the database sends no more of deleted rows."""
        key = self.mapping.key
        if not key or not self._others or None not in values:
            return False
        if any(values[at] is not None for at in self._others):
            return False
        columns = self._columns_of(row).items()
        return all(value is None for name, value in columns if name not in key)


class _Tables(Generic[Row]):
    """The tables of all mappings; which one an event has is decided once for its source."""

    def __init__(self, mappings: Sequence[RowMapping], envelope: Envelope[Row]) -> None:
        self.all = [_Table(each, envelope) for each in mappings]
        self._named = {
            **{("topic", each.mapping.topic): each for each in self.all},
            **{("table", each.mapping.table): each for each in self.all},
        }
        self._found: dict[tuple[str | None, ...], _Table[Row]] = {}

    def of(self, source: Source, topic: str) -> _Table[Row]:
        """The table of an event: as the event names it, or else by its topic.

        Raises:
            RejectedError: No mapping is for it.
        """
        key = (source.db, source.schema, source.table, topic)
        if key not in self._found:
            self._found[key] = self._of(source, topic)
        return self._found[key]

    def _of(self, source: Source, topic: str) -> _Table[Row]:
        names = [*(("table", name) for name in source.names), ("topic", topic)]
        for each in names:
            if each in self._named:
                return self._named[each]
        what, name = names[0]
        raise unmapped(f"the {what} {name!r}", f'{what} = "{name}"')
