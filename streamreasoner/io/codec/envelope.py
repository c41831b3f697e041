"""Checks of a Kafka message before its value is read. Invariant: rejected values are not parsed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.reading.messages import header_values
from streamreasoner.io.formats.rejected import Reason, RejectedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.format import Format
    from streamreasoner.io.formats.rejected import Rejections


TIME_HEADER = "ts"
_MILLISECONDS = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_UNKNOWN = -1


def check_values(batch: pa.Table, max_bytes: int) -> Rejections:
    """Reject rows that have no value, or one that is too long; an empty text is a value.

    Args:
        batch: Column `value` (binary).
        max_bytes: Longest value that is read.
    """
    rejected: Rejections = {}
    values = batch.column("value")
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy()
    for row in np.flatnonzero(values.is_null().to_numpy()).tolist():
        rejected[row] = RejectedError(
            Reason.EMPTY_VALUE,
            "The message has no value. To retract a fact, send a negative diff.",
        )
    for row in np.flatnonzero(lengths > max_bytes).tolist():
        rejected[row] = RejectedError(
            Reason.OVERSIZED, f"The value has {lengths[row]} bytes; the maximum is {max_bytes}."
        )
    return rejected


def formats_of(
    batch: pa.Table,
    default: Format,
    of_topics: Mapping[str, Format],
    formats: Sequence[Format],
    rejected: Rejections,
) -> NDArray[np.int8]:
    """The format of each message, as its index in `formats`; int8 of shape (n,).

    It is that of the header `content-type`, or else that of the topic, or else the default.

    Args:
        batch: Columns `headers` (list of key and value) and, if there are `of_topics`, `topic`.
        default: One of `formats`.
        of_topics: Formats of messages of some topics.
        formats: All that are read.
        rejected: Gets messages with a content type of no format, unless they are in it.
    """
    chosen = np.full(len(batch), formats.index(default), dtype=np.int8)
    for topic, format_ in of_topics.items():
        is_topic = pc.equal(batch.column("topic"), topic).to_numpy(zero_copy_only=False)
        chosen[is_topic] = formats.index(format_)
    by_type = {name: index for index, each in enumerate(formats) for name in each.content_types}
    rows, indices, types = header_values(batch, "content-type")
    texts = [encoded.decode("utf-8", "replace") for encoded in types]
    found = np.array(
        [by_type.get(text.split(";")[0].strip().lower(), _UNKNOWN) for text in texts], np.int8
    )
    # Of several types of a message the last one counts, and each must be known.
    chosen[rows] = found[indices]
    unknown = found[indices] == _UNKNOWN
    for row, index in zip(rows[unknown].tolist(), indices[unknown].tolist(), strict=True):
        known = ", ".join(name for each in formats for name in each.content_types[:1])
        detail = f"The content type is {texts[index][:80]!r}; it must be one of {known}."
        rejected.setdefault(row, RejectedError(Reason.CONTENT_TYPE, detail))
    return chosen


def message_times(
    batch: pa.Table, appended: NDArray[np.int64], rejected: Rejections
) -> NDArray[np.int64]:
    """Event times of updates that have none: the header `ts`, or else Kafka's timestamp.

    Args:
        batch: Column `headers`.
        appended: Kafka's timestamps, as `append_milliseconds` returns them.
        rejected: Gets messages whose header is not a time, unless they are in it.

    Returns:
        Milliseconds since 1970, int64 of shape (n,).
    """
    times = appended.copy()
    rows, indices, values = header_values(batch, TIME_HEADER)
    texts = [value.decode("utf-8", "replace") for value in values]
    read = [int(text) if _MILLISECONDS.fullmatch(text) else text for text in texts]
    found = timestamps.EventTimes.of(read).milliseconds(np.zeros(len(read), dtype=np.int64))
    times[rows] = found[indices]
    invalid = found[indices] == timestamps.INVALID
    for row, index in zip(rows[invalid].tolist(), indices[invalid].tolist(), strict=True):
        detail = (
            f"The header {TIME_HEADER} is {texts[index][:60]!r}; it must be {timestamps.ALLOWED}."
        )
        rejected.setdefault(row, RejectedError(Reason.BAD_TIMESTAMP, detail))
    return times


def accept_tombstones(
    batch: pa.Table,
    chosen: NDArray[np.int8],
    formats: Sequence[Format],
    keyed: Sequence[str],
    rejected: Rejections,
) -> None:
    """Take from `rejected` messages without a value whose format or topic has such messages.

    Args:
        batch: Column `value`, and `topic` if there are topics with keys.
        chosen: The format of each message, as `formats_of` returns it.
        formats: All that are read.
        keyed: Topics where such a message retracts the value of its key.
        rejected: Has every message without a value.
    """
    if not rejected:
        return
    null = batch.column("value").is_null().to_numpy()
    may = np.isin(chosen, [index for index, each in enumerate(formats) if each.tombstones])
    if keyed:
        topics = pa.array(keyed, pa.string())
        may |= pc.is_in(batch.column("topic"), topics).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(null & may).tolist():
        if rejected[row].reason is Reason.EMPTY_VALUE:
            rejected.pop(row)


def append_milliseconds(batch: pa.Table) -> NDArray[np.int64]:
    """Kafka's timestamps of a batch, as int64 milliseconds since 1970."""
    column = batch.column("timestamp").cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    return np.array(column.to_numpy(), dtype=np.int64)
