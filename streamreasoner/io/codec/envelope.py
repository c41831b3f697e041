"""Checks of a Kafka message before its value is read. Invariant: rejected values are not parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.io.formats.registry import JSON
from streamreasoner.io.formats.rejected import Reason, RejectedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from streamreasoner.io.formats.format import Format
    from streamreasoner.io.formats.rejected import Rejections


def check_envelopes(batch: pa.Table, max_bytes: int, format_: Format = JSON) -> Rejections:
    """Reject rows whose value is empty, too long, or of another format by content type.

    Args:
        batch: Columns `value` (binary) and `headers` (list of key and value).
        max_bytes: Longest value that is read.
        format_: The format of all messages.
    """
    rejected: Rejections = {}
    lengths = pc.fill_null(pc.binary_length(batch.column("value")), 0).to_numpy()
    for row in np.flatnonzero(lengths == 0).tolist():
        rejected[row] = RejectedError(
            Reason.EMPTY_VALUE,
            "The message has no value. To retract a fact, send a negative diff.",
        )
    for row in np.flatnonzero(lengths > max_bytes).tolist():
        rejected[row] = RejectedError(
            Reason.OVERSIZED, f"The value has {lengths[row]} bytes; the maximum is {max_bytes}."
        )
    for row, content_type in _content_types(batch):
        if content_type.split(";")[0].strip().lower() != format_.content_type:
            detail = (
                f"The content type is {content_type[:80]!r}; it must be {format_.content_type}."
            )
            rejected.setdefault(row, RejectedError(Reason.CONTENT_TYPE, detail))
    return rejected


def append_milliseconds(batch: pa.Table) -> NDArray[np.int64]:
    """Kafka's timestamps of a batch, as int64 milliseconds since 1970."""
    column = batch.column("timestamp").cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _content_types(batch: pa.Table) -> Iterator[tuple[int, str]]:
    """Rows with a `content-type` header and its value; a row may have several."""
    headers = batch.column("headers")
    if headers.null_count == len(headers):
        return
    flat = pc.list_flatten(headers)
    is_type = pc.equal(pc.ascii_lower(pc.struct_field(flat, "key")), "content-type")
    rows = pc.list_parent_indices(headers).filter(is_type)
    # There are few distinct types, so decode each once.
    types = pc.struct_field(flat, "value").filter(is_type).dictionary_encode().combine_chunks()
    texts = [value.decode("utf-8", "replace") for value in types.dictionary.to_pylist()]
    for row, index in zip(rows.to_pylist(), types.indices.to_pylist(), strict=True):
        yield row, "" if index is None else texts[index]
