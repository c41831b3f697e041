"""A Kafka message before its value is read. Invariant: what is refused here is never parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.streaming.rejected import Reason, RejectedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

JSON = "application/json"


def check_envelopes(batch: pa.Table, max_bytes: int) -> dict[int, RejectedError]:
    """Rows that have no value, too long a one, or one of another type than JSON.

    Args:
        batch: Columns `value` (binary) and `headers` (list of key and value).
        max_bytes: Longest value that is looked at.
    """
    refused: dict[int, RejectedError] = {}
    lengths = pc.fill_null(pc.binary_length(batch.column("value")), 0).to_numpy()
    for row in np.flatnonzero(lengths == 0).tolist():
        refused[row] = RejectedError(
            Reason.EMPTY_VALUE,
            "The message has no value, which says nothing; a negative diff retracts.",
        )
    for row in np.flatnonzero(lengths > max_bytes).tolist():
        refused[row] = RejectedError(
            Reason.OVERSIZED, f"The value has {lengths[row]} bytes; allowed are {max_bytes}."
        )
    for row, found in _content_types(batch):
        if found.split(";")[0].strip().lower() != JSON:
            detail = f"The content type is {found[:80]!r}; allowed is {JSON}."
            refused.setdefault(row, RejectedError(Reason.CONTENT_TYPE, detail))
    return refused


def append_milliseconds(batch: pa.Table) -> NDArray[np.int64]:
    """Kafka's timestamps of a batch, int64 milliseconds since 1970."""
    column = batch.column("timestamp").cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _content_types(batch: pa.Table) -> Iterator[tuple[int, str]]:
    """Rows that have a header `content-type`, and what it says; one row may have several."""
    headers = batch.column("headers")
    if headers.null_count == len(headers):
        return
    flat = pc.list_flatten(headers)
    is_type = pc.equal(pc.ascii_lower(pc.struct_field(flat, "key")), "content-type")
    rows = pc.list_parent_indices(headers).filter(is_type)
    # Producers use few types, so each is decoded once.
    types = pc.struct_field(flat, "value").filter(is_type).dictionary_encode().combine_chunks()
    texts = [value.decode("utf-8", "replace") for value in types.dictionary.to_pylist()]
    for row, index in zip(rows.to_pylist(), types.indices.to_pylist(), strict=True):
        yield row, "" if index is None else texts[index]
