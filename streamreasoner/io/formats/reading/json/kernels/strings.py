"""Strings of JSON (RFC 8259, section 7) as texts.

Invariant: a string is read as `msgspec` reads it, or refused. One without escapes stays where it
is; others are written to a buffer.
"""

# ruff: noqa: PLR0911, PLR2004  (byte widths and branches are those of the format)

from __future__ import annotations

import numpy as np

from streamreasoner.native.addresses import (
    copy_bytes,
    load_byte,
    load_word,
    store_byte,
    trailing_zeros,
)
from streamreasoner.native.compile import kernel
from streamreasoner.rdf.kernels.grammar import BACKSLASH, QUOTE, SLASH, decode_character

ZERO = ord("0")
NINE = ord("9")
_A_UPPER, _F_UPPER = ord("A"), ord("F")
_B, _F, _N, _R, _T, _U = (ord(letter) for letter in "bfnrtu")

# Where a value ends, if it is not read: the message needs the exact path, or the buffer more room.
REFUSED = -1
FULL = -2

# Positions in the buffer of texts: its address, its bytes in use, and how many it has.
ADDRESS = 0
USED = 1
LIMIT = 2
BUFFER_LENGTH = 3

_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)
_SPACES = np.uint64(0x2020202020202020)
_QUOTES = np.uint64(QUOTE * 0x0101010101010101)
_BACKSLASHES = np.uint64(BACKSLASH * 0x0101010101010101)


@kernel
def plain_end(position: int, end: int) -> int:
    """Address of the first byte that does not stand for itself in a string, or `end`."""
    while end - position >= 8:
        word = load_word(position)
        quotes = word ^ _QUOTES
        backslashes = word ^ _BACKSLASHES
        # As in `native.search`; a byte below a space borrows, one above ASCII has its high bit.
        found = (
            (quotes - _ONES) & ~quotes
            | (backslashes - _ONES) & ~backslashes
            | (word - _SPACES) & ~word
            | word
        ) & _HIGHS
        if found != np.uint64(0):
            return position + (trailing_zeros(found) >> 3)
        position += 8
    while position < end:
        byte = load_byte(position)
        if byte < 0x20 or byte >= 0x80 or byte in (QUOTE, BACKSLASH):
            return position
        position += 1
    return position


@kernel
def read_string(buffer: np.ndarray, data: int, start: int, end: int) -> tuple[int, int, int]:
    """Read the string whose first character, or closing quotation mark, is at `start`.

    Args:
        buffer: The buffer of texts; gets that of a string with escapes.
        data: Address of all messages.
        start: Address of the first byte after the opening quotation mark.
        end: Address behind the message.

    Returns:
        The address behind the closing quotation mark, REFUSED or FULL; where the text starts: its
        offset in the data, or the complement (`~`) of that in the buffer; and its bytes.
    """
    position = text_end(start, end)
    if position == REFUSED:
        return REFUSED, 0, 0
    if load_byte(position) == QUOTE:
        return position + 1, start - data, position - start
    return unescape(buffer, start, position, end)


@kernel
def unescape(buffer: np.ndarray, start: int, position: int, end: int) -> tuple[int, int, int]:
    """Read a string that has its first escape at `position`; see `read_string`."""
    # No escape is shorter than its character.
    if buffer[USED] + (end - start) > buffer[LIMIT]:
        return FULL, 0, 0
    target = buffer[ADDRESS] + buffer[USED]
    while True:
        copy_bytes(target, start, position - start)
        target += position - start
        if load_byte(position) == QUOTE:
            return position + 1, *written(buffer, target)
        if end - position < 2:
            return REFUSED, 0, 0
        position += 2
        byte = escaped(load_byte(position - 1))
        if byte != REFUSED:
            store_byte(target, byte)
            target += 1
        else:
            code, position = escaped_code(position, end)
            if code == REFUSED:
                return REFUSED, 0, 0
            target = write_character(target, code)
        start = position
        position = text_end(position, end)
        if position == REFUSED:
            return REFUSED, 0, 0


@kernel
def written(buffer: np.ndarray, behind: int) -> tuple[int, int]:
    """Keep what was written up to an address; returns where the text starts, and its bytes."""
    offset = buffer[USED]
    length = behind - buffer[ADDRESS] - offset
    buffer[USED] = offset + length
    return ~offset, length


@kernel
def text_end(position: int, end: int) -> int:
    """Address of the next quotation mark or backslash; REFUSED if the text before is none."""
    while True:
        position = plain_end(position, end)
        if position >= end:
            return REFUSED
        byte = load_byte(position)
        if byte < 0x20:
            return REFUSED
        if byte < 0x80:
            return position
        _, width = decode_character(position, end)
        if width == 0:
            return REFUSED
        position += width


@kernel
def escaped(letter: int) -> int:
    """The byte that a backslash and a letter stand for; REFUSED if it is not one byte."""
    if letter in (QUOTE, BACKSLASH, SLASH):
        return letter
    if letter == _N:
        return 0x0A
    if letter == _T:
        return 0x09
    if letter == _R:
        return 0x0D
    if letter == _B:
        return 0x08
    if letter == _F:
        return 0x0C
    return REFUSED


@kernel
def escaped_code(position: int, end: int) -> tuple[int, int]:
    r"""The character of `\uXXXX`, or of two that are a surrogate pair, and the address behind it.

    `position` is behind the `u`.
    """
    if load_byte(position - 1) != _U:
        return REFUSED, position
    code = hexadecimal(position, end)
    position += 4
    if 0xD800 <= code <= 0xDBFF:
        if end - position < 2 or load_byte(position) != BACKSLASH or load_byte(position + 1) != _U:
            return REFUSED, position
        low = hexadecimal(position + 2, end)
        position += 6
        if not 0xDC00 <= low <= 0xDFFF:
            return REFUSED, position
        return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), position
    if 0xDC00 <= code <= 0xDFFF:
        return REFUSED, position
    return code, position


@kernel
def is_digit(byte: int) -> bool:
    """Whether a byte is a decimal digit."""
    return ZERO <= byte <= NINE


@kernel
def hexadecimal(position: int, end: int) -> int:
    """The number of four hexadecimal digits; REFUSED for anything else."""
    if end - position < 4:
        return REFUSED
    number = 0
    for offset in range(4):
        byte = load_byte(position + offset)
        if is_digit(byte):
            digit = byte - ZERO
        elif _A_UPPER <= byte & ~0x20 <= _F_UPPER:
            digit = (byte & ~0x20) - _A_UPPER + 10
        else:
            return REFUSED
        number = number << 4 | digit
    return number


@kernel
def write_character(target: int, code: int) -> int:
    """Write a character in UTF-8; returns the address behind it."""
    if code < 0x80:
        store_byte(target, code)
        return target + 1
    if code < 0x800:
        store_byte(target, 0xC0 | code >> 6)
        store_byte(target + 1, 0x80 | code & 0x3F)
        return target + 2
    if code < 0x10000:
        store_byte(target, 0xE0 | code >> 12)
        store_byte(target + 1, 0x80 | code >> 6 & 0x3F)
        store_byte(target + 2, 0x80 | code & 0x3F)
        return target + 3
    store_byte(target, 0xF0 | code >> 18)
    store_byte(target + 1, 0x80 | code >> 12 & 0x3F)
    store_byte(target + 2, 0x80 | code >> 6 & 0x3F)
    store_byte(target + 3, 0x80 | code & 0x3F)
    return target + 4
