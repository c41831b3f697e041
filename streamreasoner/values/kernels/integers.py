"""Intern integers as terms. Invariant: the id is that of the canonical xsd:integer literal.

Interning writes the literal's text and looks it up like any term; ids of small numbers are cached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.addresses import (
    float64_column,
    int8_column,
    int32_column,
    int64_column,
    signed,
)
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.kernels.hash_table import FULL, add, find, hash_term
from streamreasoner.values.kernels.comparing import (
    DOUBLE,
    FRACTION,
    HEADER,
    INTEGER,
    KIND,
    LENGTH,
    SMALL,
    SMALL_LIMIT,
    TEXT,
    WHOLE,
)

if TYPE_CHECKING:
    import numpy as np

PREFIX_ROOM = 32
"""Bytes of the text buffer before the suffix: a quote, a sign and 19 digits fit."""
SUFFIX = b'"^^<http://www.w3.org/2001/XMLSchema#integer>'
_QUOTE, _MINUS, _ZERO = ord('"'), ord("-"), ord("0")
_LEAST = -(2**63)


@inlined
def is_integer(values: np.ndarray, term: int) -> bool:
    """Whether a term is an integer within int64."""
    return signed(int8_column(values[KIND])[term]) == INTEGER


@kernel
def intern_integer(values: np.ndarray, number: int) -> int:
    """Id of an integer, added when new; FULL if the dictionary must grow first."""
    small = int32_column(values[SMALL])
    if 0 <= number < SMALL_LIMIT and small[number] != 0:
        return signed(small[number]) - 1
    text = int8_column(values[TEXT])
    position = PREFIX_ROOM
    # Digits are taken from the negative number, because the least int64 has no positive.
    remaining = number if number < 0 else -number
    while True:
        position -= 1
        quotient = -((-remaining) // 10) if remaining != _LEAST else -(9223372036854775808 // 10)
        text[position] = _ZERO + (10 * quotient - remaining)
        remaining = quotient
        if remaining == 0:
            break
    if number < 0:
        position -= 1
        text[position] = _MINUS
    position -= 1
    text[position] = _QUOTE
    header = int64_column(values[HEADER])
    start = values[TEXT] + position
    length = PREFIX_ROOM + len(SUFFIX) - position
    hashed = hash_term(header, start, length)
    term = find(header, start, length, hashed)
    if term < 0:
        term = add(header, start, length, hashed)
        if term == FULL:
            return FULL
        if term == values[LENGTH]:
            int8_column(values[KIND])[term] = INTEGER
            int64_column(values[WHOLE])[term] = number
            int64_column(values[FRACTION])[term] = 0
            float64_column(values[DOUBLE])[term] = float(number)
            values[LENGTH] += 1
    if 0 <= number < SMALL_LIMIT:
        small[number] = term + 1
    return term
