"""Intern terms that kernels make. Invariant: a new term has its value when its id is returned.

Parts of a state share a dictionary, and derive at the same time. So a thread that may add a term
holds a lock from the writing of its text on. Values of known terms are read without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.addresses import (
    exchange_acquired,
    float64_column,
    int8_column,
    int64_column,
    load_acquired,
    store_released,
    yield_processor,
)
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.kernels.hash_table import FULL, add, find, hash_term
from streamreasoner.rdf.kernels.term_header import ARENA, BYTES, BYTES_LIMIT
from streamreasoner.rdf.kernels.term_texts import most_bytes
from streamreasoner.values.kernels.comparing import (
    DOUBLE,
    FRACTION,
    HEADER,
    KIND,
    LENGTH,
    LOCK,
    WHOLE,
)

if TYPE_CHECKING:
    import numpy as np

_ZERO = ord("0")
LEAST = -(2**63)
"""The least number of 64 bits, which has no positive."""


@kernel
def lock(values: np.ndarray) -> None:
    """Wait until no other thread adds terms, and keep others from it."""
    address = values[LOCK]
    while exchange_acquired(address, 1) != 0:
        while load_acquired(address) != 0:
            yield_processor()


@kernel
def unlock(values: np.ndarray) -> None:
    """Let other threads add terms."""
    store_released(values[LOCK], 0)


@kernel
def intern(  # noqa: PLR0917 - a text and the four fields of its value
    values: np.ndarray,
    address: int,
    length: int,
    kind: int,
    whole: int,
    fraction: int,
    double: float,
) -> int:
    """Id of a term, added with its value when new; the caller has the lock.

    Args:
        values: `Values.table`.
        address: Where its canonical text is, outside the used part of the dictionary.
        length: Bytes of the text.
        kind: The fields of its `valuation.TypedValue`.
        whole: As above.
        fraction: As above.
        double: As above.

    Returns:
        The id; FULL if the dictionary must grow first.
    """
    header = int64_column(values[HEADER])
    hashed = hash_term(header, address, length)
    term = find(header, address, length, hashed)
    if term >= 0:
        return term
    term = add(header, address, length, hashed)
    if term != FULL and term == values[LENGTH]:
        int8_column(values[KIND])[term] = kind
        int64_column(values[WHOLE])[term] = whole
        int64_column(values[FRACTION])[term] = fraction
        float64_column(values[DOUBLE])[term] = double
        values[LENGTH] += 1
    return term


@inlined
def room(values: np.ndarray, length: int) -> int:
    """Address at which to write a text before it is interned, behind where it would be added.

    Returns:
        The address; 0 if the text of the dictionary has no room for it.
    """
    header = int64_column(values[HEADER])
    free = header[BYTES] + most_bytes(length)
    if free + length > header[BYTES_LIMIT]:
        return 0
    address: int = header[ARENA] + free
    return address


@inlined
def write_digits(text: np.ndarray, position: int, remaining: int) -> int:
    """Write the digits of a number that is not positive, to end before a position.

    Returns:
        The position of the first digit. The least int64 has no positive, so the sign is negative.
    """
    while True:
        position -= 1
        quotient = -((-remaining) // 10) if remaining != LEAST else -(9223372036854775808 // 10)
        text[position] = _ZERO + (10 * quotient - remaining)
        remaining = quotient
        if remaining == 0:
            return position
