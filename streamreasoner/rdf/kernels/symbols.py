"""Texts as codes of symbols. Invariant: codes that are expanded are the text they were made from.

A code is a byte that stands for a symbol of 1 to 8 bytes, or ESCAPE, before a byte that no symbol
has. Of the symbols that a text goes on with, the longest known one is taken, so that the codes of a
text are always the same (P. Boncz, T. Neumann, V. Leis: FSST: Fast Random Access String
Compression, VLDB 2020).

Symbols are in two forms, each in memory of its own:

- a *table*, to expand codes: a uint64 for each code, its symbol, then a byte for each, its length;
- an *index*, to find codes: ENTRIES pairs of uint64, a symbol of 3 bytes and more and what
  `packed` makes of it, in the place that its first three bytes choose; then a uint16 for each pair
  of bytes, which is the same of the symbol of 2 bytes or 1 byte that they begin with.

Symbols have no zero bytes, so that none matches what is behind the end of a text.
"""

# ruff: noqa: PLR2004  (widths of words in bytes)

from __future__ import annotations

import numpy as np

from streamreasoner.native.addresses import (
    int8_column,
    load_byte,
    load_word,
    signed,
    store_byte,
    store_word,
    uint16_column,
    uint64_column,
)
from streamreasoner.native.compile import inlined, kernel

ESCAPE = 255
CODES = 256
TABLE_WORDS = CODES + CODES // 8
ENTRIES = 2048
INDEX_WORDS = 2 * ENTRIES + (1 << 16) // 4
SLACK = 8
"""Bytes behind a text that is expanded, which may be overwritten."""

FIRST_THREE = (1 << 24) - 1
MULTIPLIER = 0x9E3779B97F4A7C15
PLACE_SHIFT = 64 - 11
"""The place of a symbol among ENTRIES: `(word & FIRST_THREE) * MULTIPLIER >> PLACE_SHIFT`."""

_LENGTHS = 8 * CODES
_PAIRS = 16 * ENTRIES


@inlined
def _longest(index: int, word: np.uint64) -> int:
    """The longest known symbol that a word begins with: its code, and its length above 8 bits."""
    entries = uint64_column(index)
    mixed = (word & np.uint64(FIRST_THREE)) * np.uint64(MULTIPLIER)
    entry = 2 * signed(mixed >> np.uint64(PLACE_SHIFT))
    found = entries[entry + 1]
    if (word ^ entries[entry]) << (found >> np.uint64(16)) == np.uint64(0):
        return signed(found) & 0xFFFF
    return signed(uint16_column(index + _PAIRS)[signed(word) & 0xFFFF])


@inlined
def _next(words: np.ndarray, lengths: np.ndarray, codes: int) -> tuple[np.uint64, int, int]:
    """The symbol at an address of codes, its length, and the address of the next one."""
    code = load_byte(codes)
    if code == ESCAPE:
        return np.uint64(load_byte(codes + 1)), 1, codes + 2
    return words[code], signed(lengths[code]), codes + 1


@inlined
def _rest(address: int, length: int, remaining: int) -> np.uint64:
    """The last bytes of a text, fewer than 8, as a word that ends in zeros."""
    if length >= 8:
        return load_word(address + length - 8) >> np.uint64(64 - 8 * remaining)
    word = np.uint64(0)
    for position in range(1, remaining + 1):
        word = word << np.uint64(8) | np.uint64(load_byte(address + length - position))
    return word


@inlined
def _put(target: int, found: int, word: np.uint64) -> int:
    """Write what `_longest` found for a word, and the byte that it escapes; returns the end."""
    store_byte(target, found)
    if found & 0xFF != ESCAPE:
        return target + 1
    store_byte(target + 1, signed(word))
    return target + 2


@kernel
def compress(index: int, address: int, length: int, target: int) -> int:
    """Write the codes of a text, at most two for each byte, to *target*; returns their end."""
    end = address + length
    position = address
    while end - position >= 8:
        word = load_word(position)
        found = _longest(index, word)
        target = _put(target, found, word)
        position += found >> 8
    if position < end:
        word = _rest(address, length, end - position)
        while position < end:
            found = _longest(index, word)
            target = _put(target, found, word)
            word >>= np.uint64(8 * (found >> 8))
            position += found >> 8
    return target


@kernel
def expand(table: int, codes: int, end: int, target: int) -> int:
    """Write the text of codes to *target*, and up to SLACK bytes behind it; returns its end."""
    words = uint64_column(table)
    lengths = int8_column(table + _LENGTHS)
    while codes < end:
        symbol, size, codes = _next(words, lengths, codes)
        store_word(target, symbol)
        target += size
    return target


@kernel
def expanded_length(table: int, codes: int, end: int) -> int:
    """Bytes of the text of codes."""
    words = uint64_column(table)
    lengths = int8_column(table + _LENGTHS)
    length = 0
    while codes < end:
        _, size, codes = _next(words, lengths, codes)
        length += size
    return length


@kernel
def is_text_of(table: int, codes: int, end: int, address: int, length: int) -> bool:
    """Whether the bytes at an address are the text of codes."""
    words = uint64_column(table)
    lengths = int8_column(table + _LENGTHS)
    position, last = address, address + length
    different = np.uint64(0)
    if length < 8:
        word = _rest(address, length, length)
        while codes < end:
            symbol, size, codes = _next(words, lengths, codes)
            different |= (word ^ symbol) << np.uint64(64 - 8 * size)
            word >>= np.uint64(min(8 * size, 63))
            position += size
    # No branch depends on what is compared, so that the processor need not wait for it.
    while codes < end:
        symbol, size, codes = _next(words, lengths, codes)
        start = min(position, last - 8)
        word = load_word(start) >> np.uint64(8 * min(position - start, 7))
        different |= (word ^ symbol) << np.uint64(64 - 8 * size)
        position += size
    return position == last and different == np.uint64(0)


@kernel
def byte_at(table: int, codes: int, end: int, number: int) -> int:
    """A byte of the text of codes, counted from 0; -1 behind its end."""
    words = uint64_column(table)
    lengths = int8_column(table + _LENGTHS)
    while codes < end:
        symbol, size, codes = _next(words, lengths, codes)
        if number < size:
            return signed(symbol >> np.uint64(8 * number)) & 0xFF
        number -= size
    return -1


@kernel
def last_byte(table: int, codes: int, end: int) -> int:
    """The last byte of the text of codes, which is UTF-8 and not empty."""
    code = load_byte(end - 1)
    # No byte of UTF-8 is ESCAPE, so one before the last byte is the code.
    if end - codes > 1 and load_byte(end - 2) == ESCAPE:
        return code
    size = signed(int8_column(table + _LENGTHS)[code])
    return signed(uint64_column(table)[code] >> np.uint64(8 * size - 8)) & 0xFF
