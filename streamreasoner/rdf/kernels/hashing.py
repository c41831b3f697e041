"""Hash byte strings. Invariant: a hash depends only on the bytes and two secret words.

The words are random per dictionary, so an attacker cannot craft colliding terms; ids do not depend
on them. The function multiplies 64-bit words into 128 bits and folds the halves, as wyhash does.
"""

# ruff: noqa: PLR2004  (widths of words in bytes)

from __future__ import annotations

import numpy as np

from streamreasoner.native.compile import kernel
from streamreasoner.native.memory import load_byte, load_half, load_word, multiply_fold


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
