"""The hash table from terms to ids. Invariant: each term is in exactly one slot.

The state is a reserved column, `slots`, addressed through the header of the dictionary: uint64, 32
hash bits above 32 bits of id + 1, 0 when empty; linear probing from the place that the hash bits
have among all. So a larger table has its entries in the same order, and no term is read to make it.

A hash depends only on the bytes of a term and two secret words, which are random per dictionary: an
attacker cannot craft terms that collide, and ids do not depend on them. The function multiplies
64-bit words into 128 bits and folds the halves, as wyhash does.
"""

# ruff: noqa: PLR2004  (widths of words in bytes)

from __future__ import annotations

import numpy as np

from streamreasoner.native.addresses import (
    load_byte,
    load_half,
    load_word,
    multiply_fold,
    prefetch,
    signed,
    uint64_column,
)
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.kernels.term_header import (
    COUNT,
    COUNT_LIMIT,
    FIRST_SECRET,
    SECOND_SECRET,
    SLOT_COUNT,
    SLOTS,
)
from streamreasoner.rdf.kernels.term_texts import append, has_text

ABSENT = -1
FULL = -2
UNCERTAIN = -3


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


@inlined
def first_slot(hash_bits: np.uint64, slots: np.uint64) -> np.uint64:
    """The slot that 32 hash bits select of a number of slots."""
    return (hash_bits * slots) >> np.uint64(32)


@inlined
def next_slot(slot: np.uint64, slots: np.uint64) -> np.uint64:
    """The slot behind another one."""
    slot += np.uint64(1)
    return np.uint64(0) if slot == slots else slot


@inlined
def prefetch_slot(header: np.ndarray, hashed: np.uint64) -> None:
    """Prefetch the first slot that `find` looks at."""
    slot = first_slot(hashed & np.uint64(0xFFFFFFFF), np.uint64(header[SLOT_COUNT]))
    prefetch(header[SLOTS] + 8 * signed(slot))


@kernel
def find(header: np.ndarray, address: int, length: int, hashed: np.uint64) -> int:
    """Id of the term at `address`, or ABSENT."""
    count = np.uint64(header[SLOT_COUNT])
    slots = uint64_column(header[SLOTS])
    low_half = np.uint64(0xFFFFFFFF)
    tag = hashed & low_half
    slot = first_slot(tag, count)
    while True:
        entry = slots[slot]
        if entry == np.uint64(0):
            return ABSENT
        if entry >> np.uint64(32) == tag:
            term = signed(entry & low_half) - 1
            if has_text(header, term, address, length):
                return term
        slot = next_slot(slot, count)


@kernel
def add(header: np.ndarray, address: int, length: int, hashed: np.uint64) -> int:
    """Append a term that is ABSENT; returns its id, or FULL if Python must `grow` first."""
    count = signed(header[COUNT])
    if count >= header[COUNT_LIMIT] or not append(header, address, length):
        return FULL
    insert_entry(
        uint64_column(header[SLOTS]),
        np.uint64(header[SLOT_COUNT]),
        hashed << np.uint64(32) | np.uint64(count + 1),
    )
    return count


@kernel
def insert_entry(slots: np.ndarray, count: np.uint64, entry: np.uint64) -> None:
    """Insert an entry by linear probing from the slot that its hash bits select."""
    slot = first_slot(entry >> np.uint64(32), count)
    while slots[slot] != np.uint64(0):
        slot = next_slot(slot, count)
    slots[slot] = entry


@kernel
def rehash(old: np.ndarray, new: np.ndarray) -> None:
    """Insert every entry of `old` into the empty table `new`."""
    for index in range(len(old)):
        if old[index] != np.uint64(0):
            insert_entry(new, np.uint64(len(new)), old[index])
