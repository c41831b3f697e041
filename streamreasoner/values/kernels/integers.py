"""Intern integers as terms. Invariant: the id is that of the canonical xsd:integer literal.

Interning writes the literal's text and looks it up like any term; ids of small numbers are cached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.addresses import (
    float64_column,
    int8_column,
    int64_column,
    load_acquired,
    load_byte,
    signed,
    store_released,
)
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.kernels.hash_table import FULL
from streamreasoner.rdf.kernels.term_texts import text, text_buffer
from streamreasoner.values.kernels import value_kinds
from streamreasoner.values.kernels.comparing import (
    DOUBLE,
    FRACTION,
    HEADER,
    KIND,
    SMALL,
    SMALL_LIMIT,
    TEXT,
    WHOLE,
)
from streamreasoner.values.kernels.interning import intern, lock, unlock, write_digits

if TYPE_CHECKING:
    import numpy as np

PREFIX_ROOM = 32
"""Bytes of the text buffer before the suffix: a quote, a sign and 19 digits fit."""
SUFFIX = b'"^^<http://www.w3.org/2001/XMLSchema#integer>'
_QUOTE, _MINUS, _ZERO, _NINE = ord('"'), ord("-"), ord("0"), ord("9")
_SAFE_DIGITS = 18  # every number of 18 digits fits int64
_SUFFIX_BYTES = len(SUFFIX)
_UNIT = 8  # bytes of an int64


@inlined
def is_integer(values: np.ndarray, term: int) -> bool:
    """Whether a term is an integer within int64."""
    return signed(int8_column(values[KIND])[term]) == value_kinds.INTEGER


@kernel
def intern_integer(values: np.ndarray, number: int) -> int:
    """Id of an integer, added when new; FULL if the dictionary must grow first."""
    small = values[SMALL] + _UNIT * number if 0 <= number < SMALL_LIMIT else 0
    known = load_acquired(small) if small != 0 else 0
    if known != 0:
        return known - 1
    lock(values)
    written = int8_column(values[TEXT])
    position = write_digits(written, PREFIX_ROOM, number if number < 0 else -number)
    if number < 0:
        position -= 1
        written[position] = _MINUS
    position -= 1
    written[position] = _QUOTE
    length = PREFIX_ROOM + len(SUFFIX) - position
    term = intern(
        values, values[TEXT] + position, length, value_kinds.INTEGER, number, 0, float(number)
    )
    if term != FULL and small != 0:
        store_released(small, term + 1)
    unlock(values)
    return term


@kernel
def read_integers(values: np.ndarray, start: int, stop: int) -> int:
    """Fill in the values of the terms from *start* that are PENDING and plain xsd:integer literals.

    Others stay PENDING: further datatypes and forms, and numbers of more than 18 digits.

    Returns:
        Number of terms that stay PENDING.
    """
    kinds = int8_column(values[KIND])
    header = int64_column(values[HEADER])
    pending = 0
    for term in range(start, stop):
        if signed(kinds[term]) != value_kinds.PENDING:
            continue
        begin, end = text(header, term, text_buffer())
        first, digits = begin + 1, end - _SUFFIX_BYTES
        negative = digits > first and load_byte(first) == _MINUS
        at = first + 1 if negative else first
        plain = 0 < digits - at <= _SAFE_DIGITS and _has_suffix(values, digits)
        number = 0
        while plain and at < digits:
            plain = _ZERO <= load_byte(at) <= _NINE
            number = 10 * number + load_byte(at) - _ZERO
            at += 1
        if not plain:
            pending += 1
            continue
        number = -number if negative else number
        kinds[term] = value_kinds.INTEGER
        int64_column(values[WHOLE])[term] = number
        int64_column(values[FRACTION])[term] = 0
        float64_column(values[DOUBLE])[term] = float(number)
    return pending


@inlined
def _has_suffix(values: np.ndarray, at: int) -> bool:
    """Whether the text at an address goes on with SUFFIX, which the buffer holds."""
    suffix = values[TEXT] + PREFIX_ROOM
    i = 0
    while i < _SUFFIX_BYTES and load_byte(at + i) == load_byte(suffix + i):
        i += 1
    return i == _SUFFIX_BYTES
