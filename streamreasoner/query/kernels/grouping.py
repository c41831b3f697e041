"""Rows by an id. Invariant: rows of a group keep their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.compile import kernel

if TYPE_CHECKING:
    import numpy as np


@kernel
def group_rows(ids: np.ndarray, starts: np.ndarray, rows: np.ndarray) -> None:
    """Group rows by counting.

    Args:
        ids: The id of each row, int32 of shape (n,).
        starts: Zeros, int32 of shape (m,), for ids below m - 1. Gets where the group of each id
            begins in *rows*; it ends where the next one begins.
        rows: Gets the numbers of the rows, int32 of shape (n,).
    """
    for row in range(len(ids)):
        starts[ids[row] + 1] += 1
    for at in range(1, len(starts)):
        starts[at] += starts[at - 1]
    # Each group's place moves on to its end, which is where the next one begins.
    for row in range(len(ids)):
        at = ids[row]
        rows[starts[at]] = row
        starts[at] += 1
    for at in range(len(starts) - 1, 0, -1):
        starts[at] = starts[at - 1]
    starts[0] = 0
