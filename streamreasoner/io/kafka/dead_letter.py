"""Rejected input -> messages for the dead-letter topic.

Invariant: a dead letter has the key, the value and the headers of the original, byte for byte,
followed by the headers reason, class, topic, partition and offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from streamreasoner.io.codec.encode import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from streamreasoner.io.formats.rejected import Reason, Rejected

# With its headers, a longer value may exceed a topic's default limit of 1,048,588 bytes.
LONGEST_VALUE = 1_000_000
_PLACE: Final = ("topic", "partition", "offset")
LONGEST_TEXT: Final = 1_000
"""Bytes of a message that are shown."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A rejected message as it is shown to people.

    Attributes:
        topic: Where it came from.
        partition: Its partition.
        offset: Its offset.
        reason: The class of the error.
        detail: A sentence with what was sent and what is allowed.
        text: The beginning of its value; None if it has none.
    """

    topic: str
    partition: int
    offset: int
    reason: Reason
    detail: str
    text: str | None


def dead_letters(batch: pa.Table, rejected: Sequence[Rejected]) -> Iterator[Message]:
    """One message per rejected row; a value over `LONGEST_VALUE` is truncated, with a header.

    Args:
        batch: Columns topic, partition, offset, key, value and headers.
        rejected: Rejected rows.
    """
    # Without the timestamp, which may be out of Python's range.
    for rejection, row in _rows(batch, rejected, *_PLACE, "key", "value", "headers"):
        value = row["value"]
        headers = [(header["key"], header["value"]) for header in row["headers"] or ()]
        headers += [
            ("reason", rejection.detail.encode()),
            ("class", rejection.reason.value.encode()),
            ("topic", row["topic"].encode()),
            ("partition", str(row["partition"]).encode()),
            ("offset", str(row["offset"]).encode()),
        ]
        if value is not None and len(value) > LONGEST_VALUE:
            headers.append(("cut-from-bytes", str(len(value)).encode()))
            value = value[:LONGEST_VALUE]
        yield Message(value, row["key"], headers)


def shown(batch: pa.Table, rejected: Sequence[Rejected]) -> Iterator[DeadLetter]:
    """The same messages for people, with the beginning of each value.

    Args:
        batch: Columns topic, partition, offset and value.
        rejected: Rejected rows.
    """
    for rejection, row in _rows(batch, rejected, *_PLACE, "value"):
        value = row["value"]
        yield DeadLetter(
            row["topic"],
            row["partition"],
            row["offset"],
            rejection.reason,
            rejection.detail,
            None if value is None else _beginning(value),
        )


def _rows(
    batch: pa.Table, rejected: Sequence[Rejected], *columns: str
) -> Iterator[tuple[Rejected, dict[str, Any]]]:
    """Each rejected row with some of its columns."""
    numbers = [rejection.row for rejection in rejected]
    rows = batch.select(columns).take(numbers).to_pylist() if rejected else []
    return zip(rejected, rows, strict=True)


def _beginning(value: bytes) -> str:
    text = value[:LONGEST_TEXT].decode(errors="replace")
    return text if len(value) <= LONGEST_TEXT else f"{text}…"
