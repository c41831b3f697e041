"""Convert Arrow string buffers to ids and back. Invariant: rows are processed in order."""

# ruff: noqa: PLR0917  (kernels take columns one by one)

from __future__ import annotations

import numpy as np

from streamreasoner.native.addresses import signed
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.kernels.grammar import is_canonical
from streamreasoner.rdf.kernels.hash_table import (
    ABSENT,
    FULL,
    UNCERTAIN,
    add,
    find,
    hash_term,
    prefetch_slot,
)
from streamreasoner.rdf.kernels.term_texts import kind_of, prefetch_texts, text_length, write_text


@kernel
def intern_term(header: np.ndarray, address: int, length: int, checked: bool) -> int:  # noqa: FBT001
    """Id of one term, added when new; FULL if the dictionary must grow, UNCERTAIN if rejected.

    UNCERTAIN means that the term is new and `is_canonical` does not accept it.
    """
    return intern_hashed(header, address, length, hash_term(header, address, length), checked)


@inlined
def intern_hashed(
    header: np.ndarray,
    address: int,
    length: int,
    hashed: np.uint64,
    checked: bool,  # noqa: FBT001
) -> int:
    """The same of a term whose hash is known."""
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
    following = hash_row(header, offsets, data, row)
    while row < len(ids):
        start, hashed = signed(offsets[row]), following
        following = hash_row(header, offsets, data, row + 1)
        prefetch_slot(header, following)
        length = signed(offsets[row + 1]) - start
        term = intern_hashed(header, data + start, length, hashed, checked)
        ids[row] = term
        if term in (FULL, UNCERTAIN):
            return row
        row += 1
    return row


@inlined
def hash_row(header: np.ndarray, offsets: np.ndarray, data: int, row: int) -> np.uint64:
    """Hash of the term of a row; 0 behind the last one."""
    if row + 1 >= len(offsets):
        return np.uint64(0)
    start = signed(offsets[row])
    return hash_term(header, data + start, signed(offsets[row + 1]) - start)


@kernel
def find_term(header: np.ndarray, address: int, length: int) -> int:
    """Id of one term, or ABSENT."""
    return find(header, address, length, hash_term(header, address, length))


@kernel
def term_offsets(header: np.ndarray, ids: np.ndarray, offsets: np.ndarray) -> None:
    """Fill the Arrow offsets, int64 of shape (n + 1,), of the column that decodes `ids`."""
    end = 0
    offsets[0] = 0
    for row in range(len(ids)):
        prefetch_texts(header, ids, row)
        end += text_length(header, signed(ids[row]))
        offsets[row + 1] = end


@kernel
def write_terms(header: np.ndarray, ids: np.ndarray, data: int) -> None:
    """Write the terms of `ids` to the address `data`, and up to SLACK bytes behind them."""
    for row in range(len(ids)):
        prefetch_texts(header, ids, row)
        data = write_text(header, signed(ids[row]), data)


@kernel
def kind_bytes(header: np.ndarray, ids: np.ndarray, out: np.ndarray) -> None:
    """`<` for an IRI, `_` for a blank node, `"` for a literal, `(` for a triple term."""
    for row in range(len(ids)):
        prefetch_texts(header, ids, row)
        out[row] = kind_of(header, signed(ids[row]))
