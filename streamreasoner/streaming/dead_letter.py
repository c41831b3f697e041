"""Refused input -> messages for the dead-letter topic.

Invariant: a dead letter has the key, the value and the headers of the original, byte for byte, and
behind them the headers reason, class, topic, partition and offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.streaming.output import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from streamreasoner.streaming.rejected import Rejected

# With its headers a longer value may exceed what a topic takes by default, 1,048,588 bytes.
LONGEST_VALUE = 1_000_000


def dead_letters(batch: pa.Table, rejected: Sequence[Rejected]) -> Iterator[Message]:
    """One message for each refused row; a value over `LONGEST_VALUE` is cut and says so.

    Args:
        batch: Columns topic, partition, offset, key, value and headers.
        rejected: Refused rows.
    """
    # The timestamp stays behind: it may be one that Python has no value for.
    batch = batch.select(["topic", "partition", "offset", "key", "value", "headers"])
    rows = batch.take([one.row for one in rejected]).to_pylist() if rejected else []
    for one, row in zip(rejected, rows, strict=True):
        value = row["value"]
        headers = [(header["key"], header["value"]) for header in row["headers"] or ()]
        headers += [
            ("reason", one.detail.encode()),
            ("class", one.reason.value.encode()),
            ("topic", row["topic"].encode()),
            ("partition", str(row["partition"]).encode()),
            ("offset", str(row["offset"]).encode()),
        ]
        if value is not None and len(value) > LONGEST_VALUE:
            headers.append(("cut-from-bytes", str(len(value)).encode()))
            value = value[:LONGEST_VALUE]
        yield Message(value, row["key"], headers)
