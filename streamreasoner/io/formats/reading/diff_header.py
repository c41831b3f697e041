"""The multiplicity of messages whose format has no signs: their header `diff`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.io.formats.reading.format import MAX_DIFF
from streamreasoner.io.formats.reading.messages import header_values
from streamreasoner.io.formats.rejected import Reason, RejectedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.messages import Messages
    from streamreasoner.io.formats.rejected import Rejections

DIFF_HEADER = "diff"
_INTEGER = re.compile(rb"[+-]?[0-9]{1,40}")


def diff_headers(messages: Messages, rejected: Rejections) -> NDArray[np.int64]:
    """The multiplicity that each message has as its `diff` header; 1 without one."""
    diff = np.ones(len(messages), dtype=np.int64)
    numbers, indices, values = header_values(messages.batch, DIFF_HEADER)
    read = np.ones(len(values), dtype=np.int64)
    for index, value in enumerate(values):
        try:
            read[index] = _diff(value)
        except RejectedError as error:
            for row in messages.rows[numbers[indices == index]].tolist():
                rejected.setdefault(row, error)
    # Of several headers of a message the last one counts, and each must be valid.
    diff[numbers] = read[indices]
    return diff


def _diff(value: bytes) -> int:
    if _INTEGER.fullmatch(value) is None:
        shown = value[:60].decode("utf-8", "replace")
        raise RejectedError(
            Reason.WRONG_TYPE, f"The header {DIFF_HEADER} is {shown!r}; it must be an integer."
        )
    diff = int(value)
    if diff == 0:
        raise RejectedError(Reason.DIFF_ZERO, f"The header {DIFF_HEADER} must not be 0.")
    if abs(diff) > MAX_DIFF:
        raise RejectedError(
            Reason.DIFF_OUT_OF_RANGE,
            f"The header {DIFF_HEADER} is {diff}; it must be from -{MAX_DIFF} to {MAX_DIFF}.",
        )
    return diff
