"""The hash table from terms to ids. Invariant: each term of the arena is in exactly one slot.

The state is a set of reserved columns, addressed through one int64 header:

- `arena`, uint8: the text of all terms, concatenated in the order of their ids;
- `starts`, int64: start of term i in the arena; `starts[count]` is the end of the last term;
- `slots`, uint64: 32 hash bits above 32 bits of id + 1, 0 when empty; linear probing from the low
  bits of the hash, so that doubling moves slots without reading a term.

A hash depends only on the bytes of a term and two secret words, which are random per dictionary: an
attacker cannot craft terms that collide, and ids do not depend on them. The function multiplies
64-bit words into 128 bits and folds the halves, as wyhash does.
"""

# ruff: noqa: PLR2004  (widths of words in bytes)

from __future__ import annotations

import numpy as np

from streamreasoner.native.addresses import (
    copy_bytes,
    int64_column,
    load_byte,
    load_half,
    load_word,
    multiply_fold,
    signed,
    uint64_column,
)
from streamreasoner.native.compile import kernel

# Positions in the header.
ARENA = 0
STARTS = 1
SLOTS = 2
SLOT_MASK = 3
COUNT = 4
COUNT_LIMIT = 5
BYTES = 6
BYTES_LIMIT = 7
FIRST_SECRET = 8
SECOND_SECRET = 9
HEADER_LENGTH = 10

ABSENT = -1
FULL = -2
UNCERTAIN = -3


@kernel
def equal_bytes(left: int, right: int, length: int) -> bool:
    """Whether `length` bytes at two addresses are the same."""
    if length >= 8:
        last = length - 8
        position = 0
        while position < last:
            if load_word(left + position) != load_word(right + position):
                return False
            position += 8
        return bool(load_word(left + last) == load_word(right + last))
    for position in range(length):
        if load_byte(left + position) != load_byte(right + position):
            return False
    return True


@kernel
def hash_bytes(address: int, length: int, first: np.uint64, second: np.uint64) -> np.uint64:
    """64-bit hash of `length` bytes at `address` under the secret words `first` and `second`."""
    state = first ^ np.uint64(length)
    position = address
    end = address + length
    while end - position > 16:
        state = multiply_fold(load_word(position) ^ second, load_word(position + 8) ^ state)
        position += 16
    # The last 16 bytes, read as two words that may overlap each other and earlier bytes.
    if length >= 16:
        low = load_word(end - 16)
        high = load_word(end - 8)
    elif length >= 8:
        low = load_word(address)
        high = load_word(end - 8)
    elif length >= 4:
        low = load_half(address)
        high = load_half(end - 4)
    elif length > 0:
        low = np.uint64(load_byte(address))
        high = np.uint64(load_byte(address + length // 2) << 8 | load_byte(end - 1))
    else:
        low = np.uint64(0)
        high = np.uint64(0)
    state = multiply_fold(low ^ second, high ^ state)
    return multiply_fold(state ^ second, first)


@kernel
def hash_term(header: np.ndarray, address: int, length: int) -> np.uint64:
    """Hash of a term under the dictionary's secret words."""
    return hash_bytes(
        address, length, np.uint64(header[FIRST_SECRET]), np.uint64(header[SECOND_SECRET])
    )


@kernel
def find(header: np.ndarray, address: int, length: int, hashed: np.uint64) -> int:
    """Id of the term at `address`, or ABSENT."""
    arena = header[ARENA]
    mask = np.uint64(header[SLOT_MASK])
    starts = int64_column(header[STARTS])
    slots = uint64_column(header[SLOTS])
    low_half = np.uint64(0xFFFFFFFF)
    tag = hashed & low_half
    slot = tag & mask
    while True:
        entry = slots[slot]
        if entry == np.uint64(0):
            return ABSENT
        if entry >> np.uint64(32) == tag:
            term = signed(entry & low_half) - 1
            start = starts[term]
            if starts[term + 1] - start == length and equal_bytes(arena + start, address, length):
                return term
        slot = (slot + np.uint64(1)) & mask


@kernel
def add(header: np.ndarray, address: int, length: int, hashed: np.uint64) -> int:
    """Append a term that is ABSENT; returns its id, or FULL if a column must grow first."""
    count = signed(header[COUNT])
    used = header[BYTES]
    if count >= header[COUNT_LIMIT] or used + length > header[BYTES_LIMIT]:
        return FULL
    starts = int64_column(header[STARTS])
    slots = uint64_column(header[SLOTS])
    copy_bytes(header[ARENA] + used, address, length)
    starts[count + 1] = used + length
    insert_entry(
        slots, np.uint64(header[SLOT_MASK]), hashed << np.uint64(32) | np.uint64(count + 1)
    )
    header[COUNT] = count + 1
    header[BYTES] = used + length
    return count


@kernel
def insert_entry(slots: np.ndarray, mask: np.uint64, entry: np.uint64) -> None:
    """Insert an entry by linear probing from the slot that its hash bits select."""
    slot = (entry >> np.uint64(32)) & mask
    while slots[slot] != np.uint64(0):
        slot = (slot + np.uint64(1)) & mask
    slots[slot] = entry


@kernel
def rehash(old: np.ndarray, new: np.ndarray) -> None:
    """Insert every entry of `old` into the empty table `new`; both lengths are powers of two."""
    mask = np.uint64(len(new) - 1)
    for index in range(len(old)):
        if old[index] != np.uint64(0):
            insert_entry(new, mask, old[index])
