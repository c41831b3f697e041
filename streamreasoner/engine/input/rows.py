"""Rows of ids. Invariant: results are in the order of the ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def distinct(args: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The distinct rows, in the order of their ids, and the place of each row among them.

    Args:
        args: Term ids, int32 of shape (n, arity).

    Returns:
        int32 of shape (m, arity), and int64 of shape (n,).
    """
    order = np.lexsort(args.T[::-1]) if args.shape[1] else np.arange(len(args))
    ordered = args[order]
    is_first = np.ones(len(args), np.bool_)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    places = np.empty(len(args), np.int64)
    places[order] = np.cumsum(is_first) - 1
    return ordered[is_first], places
