"""Convert Arrow string buffers to ids and back. Invariant: rows are processed in order."""

# ruff: noqa: PLR0917  (kernels take columns one by one)

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.native.addresses import copy_bytes, int64_column, signed
from streamreasoner.native.compile import kernel
from streamreasoner.rdf.kernels.grammar import is_canonical, kind_byte
from streamreasoner.rdf.kernels.hash_table import (
    ABSENT,
    ARENA,
    FULL,
    STARTS,
    UNCERTAIN,
    add,
    find,
    hash_term,
)

if TYPE_CHECKING:
    import numpy as np


@kernel
def intern_term(header: np.ndarray, address: int, length: int, checked: bool) -> int:  # noqa: FBT001
    """Id of one term, added when new; FULL if the dictionary must grow, UNCERTAIN if rejected.

    UNCERTAIN means that the term is new and `is_canonical` does not accept it.
    """
    hashed = hash_term(header, address, length)
    term = find(header, address, length, hashed)
    if term == ABSENT:
        if checked and not is_canonical(address, length):
            return UNCERTAIN
        term = add(header, address, length, hashed)
    return term


@kernel
def encode_rows(
    header: np.ndarray,
    offsets: np.ndarray,
    data: int,
    row: int,
    ids: np.ndarray,
    checked: bool,  # noqa: FBT001
) -> int:
    """Fill `ids` from `row` on; a row that cannot be encoded is set to FULL or UNCERTAIN.

    Args:
        header: State of the dictionary.
        offsets: Arrow offsets, int32 or int64 of shape (n + 1,).
        data: Address of the Arrow data buffer.
        row: First row to encode.
        ids: Output, int32 of shape (n,).
        checked: Whether to stop at a new term that is not certainly canonical.

    Returns:
        The row that could not be encoded; n if all were.
    """
    while row < len(ids):
        start = signed(offsets[row])
        term = intern_term(header, data + start, signed(offsets[row + 1]) - start, checked)
        ids[row] = term
        if term in (FULL, UNCERTAIN):
            return row
        row += 1
    return row


@kernel
def find_term(header: np.ndarray, address: int, length: int) -> int:
    """Id of one term, or ABSENT."""
    return find(header, address, length, hash_term(header, address, length))


@kernel
def term_offsets(header: np.ndarray, ids: np.ndarray, offsets: np.ndarray) -> None:
    """Fill the Arrow offsets, int64 of shape (n + 1,), of the column that decodes `ids`."""
    starts = int64_column(header[STARTS])
    end = 0
    offsets[0] = 0
    for row in range(len(ids)):
        term = signed(ids[row])
        end += starts[term + 1] - starts[term]
        offsets[row + 1] = end


@kernel
def copy_terms(header: np.ndarray, ids: np.ndarray, offsets: np.ndarray, data: int) -> None:
    """Copy the terms of `ids` to the address `data` plus their `offsets`."""
    starts = int64_column(header[STARTS])
    for row in range(len(ids)):
        source = header[ARENA] + starts[signed(ids[row])]
        copy_bytes(data + offsets[row], source, offsets[row + 1] - offsets[row])


@kernel
def kind_bytes(header: np.ndarray, ids: np.ndarray, out: np.ndarray) -> None:
    """`<` for an IRI, `_` for a blank node, `"` for a literal, `(` for a triple term."""
    starts = int64_column(header[STARTS])
    for row in range(len(ids)):
        out[row] = kind_byte(header[ARENA] + starts[signed(ids[row])])
