"""A set of rows of ids. Invariant: a row is in exactly one slot, and rows keep their order."""

# ruff: noqa: PLR0917  (arrays and their addresses, which a kernel cannot bundle)

from __future__ import annotations

import numpy as np

from streamreasoner.native.addresses import multiply_fold, prefetch, signed
from streamreasoner.native.compile import kernel

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_TAG = np.uint64(32)
_AHEAD = 16
_LOW = np.uint64(0xFFFFFFFF)


@kernel
def hash_rows(rows: np.ndarray, secret: int, hashes: np.ndarray) -> None:
    """Hash rows.

    Args:
        rows: int32 of shape (n, arity).
        secret: Random for each set, so that no one can craft rows that collide.
        hashes: Gets them, uint64 of shape (n,).
    """
    for row in range(len(rows)):
        hashed = np.uint64(secret)
        for column in range(rows.shape[1]):
            word = hashed ^ np.uint64(rows[row, column] + 1)
            hashed = multiply_fold(word, _FACTOR) ^ word
        hashes[row] = hashed


@kernel
def add_rows(
    rows: np.ndarray,
    hashes: np.ndarray,
    stored: np.ndarray,
    count: int,
    slots: np.ndarray,
    address: int,
    new: np.ndarray,
) -> int:
    """Add rows to a set; returns how many it has then.

    Args:
        rows: int32 of shape (n, arity).
        hashes: Of `hash_rows`.
        stored: The rows of the set, int32 of shape (capacity, arity), with room for all.
        count: How many it has.
        slots: Hash bits above the number of a row + 1, 0 where empty; a power of two.
        address: Address of the slots.
        new: Set to whether each row was not in the set, bool of shape (n,).
    """
    mask = np.uint64(len(slots) - 1)
    for row in range(len(rows)):
        ahead = min(row + _AHEAD, len(rows) - 1)
        prefetch(address + 8 * signed((hashes[ahead] & _LOW) & mask))
        tag = hashes[row] & _LOW
        slot = tag & mask
        is_new = True
        while slots[slot] != np.uint64(0):
            if slots[slot] >> _TAG == tag:
                known = signed(slots[slot] & _LOW) - 1
                same = True
                for column in range(rows.shape[1]):
                    same &= stored[known, column] == rows[row, column]
                if same:
                    is_new = False
                    break
            slot = (slot + np.uint64(1)) & mask
        new[row] = is_new
        if is_new:
            for column in range(rows.shape[1]):
                stored[count, column] = rows[row, column]
            count += 1
            slots[slot] = tag << _TAG | np.uint64(count)
    return count


@kernel
def move_slots(old: np.ndarray, slots: np.ndarray) -> None:
    """Insert the entries of slots into more of them, which are empty."""
    mask = np.uint64(len(slots) - 1)
    for at in range(len(old)):
        if old[at] != np.uint64(0):
            slot = (old[at] >> _TAG) & mask
            while slots[slot] != np.uint64(0):
                slot = (slot + np.uint64(1)) & mask
            slots[slot] = old[at]
