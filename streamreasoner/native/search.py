"""Search and compare bytes, eight at a time. Invariant: no read is outside the given range."""

# ruff: noqa: PLR2004  (widths of words in bytes)

from __future__ import annotations

import numpy as np

from streamreasoner.native.addresses import load_byte, load_word, trailing_zeros
from streamreasoner.native.compile import kernel

_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)


@kernel
def find_byte(position: int, end: int, byte: int) -> int:
    """Address of the first `byte` from `position` on; `end` if there is none."""
    pattern = np.uint64(byte) * _ONES
    while end - position >= 8:
        word = load_word(position) ^ pattern
        # The lowest set bit marks the first zero byte of the word (Hacker's Delight, 6-1).
        zeros = (word - _ONES) & ~word & _HIGHS
        if zeros != np.uint64(0):
            return position + (trailing_zeros(zeros) >> 3)
        position += 8
    while position < end and load_byte(position) != byte:
        position += 1
    return position


@kernel
def find_either(position: int, end: int, first: int, second: int) -> int:
    """Address of the first of two bytes from `position` on; `end` if there is none."""
    first_pattern = np.uint64(first) * _ONES
    second_pattern = np.uint64(second) * _ONES
    while end - position >= 8:
        word = load_word(position)
        left = word ^ first_pattern
        right = word ^ second_pattern
        zeros = ((left - _ONES) & ~left | (right - _ONES) & ~right) & _HIGHS
        if zeros != np.uint64(0):
            return position + (trailing_zeros(zeros) >> 3)
        position += 8
    while position < end and load_byte(position) != first and load_byte(position) != second:
        position += 1
    return position


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
