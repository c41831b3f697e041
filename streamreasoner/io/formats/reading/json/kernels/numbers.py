"""Numbers and booleans of JSON (RFC 8259, section 6) as canonical literals.

Invariant: a number has the text that `rdf.terms.to_ntriples` gives what `msgspec` reads, or is
refused: those with an exponent, zeros with a sign or a point, and those of too many digits.
"""

# ruff: noqa: C901, PLR0912, PLR2004  (byte widths and branches are those of the format)

from __future__ import annotations

import numpy as np

from streamreasoner.io.formats.reading.json.kernels.strings import (
    ADDRESS,
    FULL,
    LIMIT,
    REFUSED,
    USED,
    ZERO,
    is_digit,
    written,
)
from streamreasoner.native.addresses import copy_bytes, load_byte, store_byte
from streamreasoner.native.compile import kernel
from streamreasoner.rdf.kernels.grammar import DOT, QUOTE

MINUS = ord("-")
EXPONENT = ord("E")

MOST_DIGITS = 18
"""Of an integer: as many fit int64."""
MOST_SIGNIFICANT = 15
"""Of a decimal: that many are those of the shortest text of their double (IEEE 754, DBL_DIG)."""
MOST_PLACES = 40
"""Of a decimal, significant or not: its double is a normal one."""
_LONGEST_LITERAL = 128

_INTEGER, _DOUBLE, _BOOLEAN = (
    np.frombuffer(f'"^^<http://www.w3.org/2001/XMLSchema#{name}>'.encode(), dtype=np.uint8)
    for name in ("integer", "double", "boolean")
)


@kernel
def read_integer(position: int, end: int) -> tuple[int, int]:
    """The address behind an integer of at most MOST_DIGITS, and it; REFUSED and 0 for others."""
    negative = position < end and load_byte(position) == MINUS
    if negative:
        position += 1
    first = position
    number = 0
    while position < end and is_digit(load_byte(position)):
        if position - first == MOST_DIGITS:
            return REFUSED, 0
        number = 10 * number + (load_byte(position) - ZERO)
        position += 1
    has_zero = position > first and load_byte(first) == ZERO
    if position == first or (has_zero and (negative or position - first > 1)):
        return REFUSED, 0
    return position, -number if negative else number


@kernel
def read_number(buffer: np.ndarray, start: int, end: int) -> tuple[int, int, int]:
    """Write the literal of a number without an exponent; see `read_string`."""
    if buffer[USED] + _LONGEST_LITERAL > buffer[LIMIT]:
        return FULL, 0, 0
    position, _ = read_integer(start, end)
    if position != REFUSED and (position >= end or load_byte(position) != DOT):
        target = buffer[ADDRESS] + buffer[USED]
        store_byte(target, QUOTE)
        copy_bytes(target + 1, start, position - start)
        return position, *written(buffer, write(target + 1 + position - start, _INTEGER))
    return read_decimal(buffer, start, end)


@kernel
def read_decimal(buffer: np.ndarray, start: int, end: int) -> tuple[int, int, int]:
    """Write the xsd:double of digits with a point: `d.dE0` (XSD 1.1 part 2, section E.1)."""
    position = start
    if load_byte(position) == MINUS:
        position += 1
    first = position
    while position < end and is_digit(load_byte(position)):
        position += 1
    point = position
    if point == first or (load_byte(first) == ZERO and point - first > 1):
        return REFUSED, 0, 0
    if position >= end or load_byte(position) != DOT:
        return REFUSED, 0, 0
    position += 1
    while position < end and is_digit(load_byte(position)):
        position += 1
    behind = position
    if behind == point + 1 or behind - first > MOST_PLACES:
        return REFUSED, 0, 0
    while first < behind and load_byte(first) in (ZERO, DOT):
        first += 1
    last = behind - 1
    while last > first and load_byte(last) in (ZERO, DOT):
        last -= 1
    if first == behind or last - first >= MOST_SIGNIFICANT + (first < point <= last):
        return REFUSED, 0, 0
    target = buffer[ADDRESS] + buffer[USED]
    store_byte(target, QUOTE)
    target += 1
    if load_byte(start) == MINUS:
        store_byte(target, MINUS)
        target += 1
    store_byte(target, load_byte(first))
    store_byte(target + 1, DOT)
    target += 2
    if last == first:
        store_byte(target, ZERO)
        target += 1
    for digit in range(first + 1, last + 1):
        if digit != point:
            store_byte(target, load_byte(digit))
            target += 1
    store_byte(target, EXPONENT)
    target = write_exponent(target + 1, point - first - 1 if first < point else point - first)
    return behind, *written(buffer, write(target, _DOUBLE))


@kernel
def write_exponent(target: int, exponent: int) -> int:
    """Write an integer of at most two digits; returns the address behind it."""
    if exponent < 0:
        store_byte(target, MINUS)
        target += 1
        exponent = -exponent
    if exponent >= 10:
        store_byte(target, ZERO + exponent // 10)
        target += 1
    store_byte(target, ZERO + exponent % 10)
    return target + 1


@kernel
def read_boolean(buffer: np.ndarray, start: int, length: int) -> tuple[int, int, int]:
    """Write the literal of the `true` or `false` at an address; see `read_string`."""
    if buffer[USED] + _LONGEST_LITERAL > buffer[LIMIT]:
        return FULL, 0, 0
    target = buffer[ADDRESS] + buffer[USED]
    store_byte(target, QUOTE)
    copy_bytes(target + 1, start, length)
    return start + length, *written(buffer, write(target + 1 + length, _BOOLEAN))


@kernel
def write(target: int, text: np.ndarray) -> int:
    """Write an array of bytes; returns the address behind it."""
    for index in range(len(text)):
        store_byte(target + index, text[index])
    return target + len(text)
