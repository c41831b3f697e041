"""A Kafka message before its value is read. Invariant: what is refused here is never parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from streamreasoner.streaming.rejected import Reason, RejectedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

JSON = "application/json"


def check_envelopes(batch: pa.Table, max_bytes: int) -> dict[int, RejectedError]:
    """Rows that have no value, too long a one, or one of another type than JSON.

    Args:
        batch: Columns `value` (binary) and `headers` (list of key and value).
        max_bytes: Longest value that is looked at.
    """
    refused: dict[int, RejectedError] = {}
    lengths = pc.fill_null(pc.binary_length(batch.column("value")), 0).to_numpy()
    for row in np.flatnonzero(lengths == 0):
        refused[int(row)] = RejectedError(
            Reason.EMPTY_VALUE,
            "The message has no value, which says nothing; a negative diff retracts.",
        )
    for row in np.flatnonzero(lengths > max_bytes):
        refused[int(row)] = RejectedError(
            Reason.OVERSIZED, f"The value has {lengths[row]} bytes; allowed are {max_bytes}."
        )
    headers = batch.column("headers")
    if headers.null_count < len(headers):
        for row in np.flatnonzero(headers.is_valid().to_numpy()):
            _check_content_type(int(row), headers[int(row)].as_py(), refused)
    return refused


def _check_content_type(
    row: int, headers: Sequence[Mapping[str, object]], refused: dict[int, RejectedError]
) -> None:
    for header in headers:
        if str(header["key"]).lower() == "content-type":
            value = header["value"]
            found = value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
            if found.split(";")[0].strip().lower() != JSON:
                detail = f"The content type is {found[:80]!r}; allowed is {JSON}."
                refused.setdefault(row, RejectedError(Reason.CONTENT_TYPE, detail))
