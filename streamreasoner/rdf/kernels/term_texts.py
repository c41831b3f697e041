"""The texts of terms, by id. Invariant: what was appended under an id is read under it.

A text is kept as a *record* of the arena: the codes of its symbols, or PLAIN and the text, if that
is not longer, or if the text is longer than LONGEST, so that buffers are bounded. The state is a
set of reserved columns, addressed through one int64 header:

- `arena`, uint8: the records, in the order of their ids;
- `bases`, int64: for each block of BLOCK ids, where its records begin in the arena, and, in the
  lowest 16 bits, the number of the table that expands them;
- `ends`, uint32: where the record of each id ends, counted from the base of its block;
- `tables`: the tables of symbols, each TABLE_WORDS long; number 0 is not used;
- `index`: the index of the symbols of the current table, which new texts are compressed with.

Several threads may read the texts of known ids while one appends.
"""

from __future__ import annotations

import numpy as np

from streamreasoner.native.addresses import (
    copy_bytes,
    int64_column,
    load_byte,
    prefetch,
    signed,
    stack_buffer,
    store_byte,
    uint32_column,
)
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.native.search import equal_bytes
from streamreasoner.rdf.kernels.grammar import LESS, PARENTHESIS, kind_byte
from streamreasoner.rdf.kernels.symbols import (
    SLACK,
    TABLE_WORDS,
    byte_at,
    compress,
    expand,
    expanded_length,
    is_text_of,
    last_byte,
)
from streamreasoner.rdf.kernels.term_header import (
    ARENA,
    BASES,
    BYTES,
    BYTES_LIMIT,
    COUNT,
    ENDS,
    INDEX,
    LENGTHS,
    TABLE,
    TABLES,
)

PLAIN = 254
LONGEST = 4096
"""Bytes of the longest text that is compressed."""
BLOCK = 32
MOST_IN_BLOCK = (1 << 32) - 1

text_buffer = stack_buffer(LONGEST + SLACK)
"""Room for a text that `text` expands."""

_AHEAD = 8
_TABLE_BYTES = 8 * TABLE_WORDS
_TABLE_BITS = 16
_TABLE_MASK = (1 << _TABLE_BITS) - 1


@inlined
def _record(header: np.ndarray, term: int) -> tuple[int, int, int]:
    """Address of the record of a term, its end, and the address of the table that expands it."""
    base = int64_column(header[BASES])[term // BLOCK]
    ends = uint32_column(header[ENDS])
    first = header[ARENA] + (base >> _TABLE_BITS)
    start = signed(ends[term - 1]) if term % BLOCK != 0 else 0
    table = header[TABLES] + _TABLE_BYTES * (base & _TABLE_MASK)
    return first + start, first + signed(ends[term]), table


@inlined
def prefetch_texts(header: np.ndarray, ids: np.ndarray, row: int) -> None:
    """Prefetch the records of rows that follow, since where a text ends cannot be predicted."""
    if row + 2 * _AHEAD < len(ids):
        term = signed(ids[row + 2 * _AHEAD])
        prefetch(header[ENDS] + 4 * term)
        prefetch(header[BASES] + 8 * (term // BLOCK))
    if row + _AHEAD < len(ids):
        prefetch(_record(header, signed(ids[row + _AHEAD]))[0])


@kernel
def text(header: np.ndarray, term: int, buffer: int) -> tuple[int, int]:
    """Address of the text of a term, and its end.

    Args:
        header: State of the dictionary.
        term: An id that was assigned.
        buffer: Where the text is expanded to, if it is not in the arena: `text_buffer()`.
    """
    start, end, table = _record(header, term)
    if load_byte(start) == PLAIN:
        return start + 1, end
    return buffer, expand(table, start, end, buffer)


@kernel
def text_length(header: np.ndarray, term: int) -> int:
    """Bytes of the text of a term."""
    start, end, table = _record(header, term)
    return end - start - 1 if load_byte(start) == PLAIN else expanded_length(table, start, end)


@kernel
def write_text(header: np.ndarray, term: int, target: int) -> int:
    """Write the text of a term, and up to SLACK bytes behind it; returns its end."""
    start, end, table = _record(header, term)
    if load_byte(start) != PLAIN:
        return expand(table, start, end, target)
    copy_bytes(target, start + 1, end - start - 1)
    return target + end - start - 1


@inlined
def has_text(header: np.ndarray, term: int, address: int, length: int) -> bool:
    """Whether the bytes at an address are the text of a term."""
    start, end, table = _record(header, term)
    if load_byte(start) == PLAIN:
        return end - start - 1 == length and equal_bytes(start + 1, address, length)
    return is_text_of(table, start, end, address, length)


@kernel
def kind_of(header: np.ndarray, term: int) -> int:
    """What tells the kind of a term, see `grammar.kind_byte`."""
    start, end, table = _record(header, term)
    if load_byte(start) == PLAIN:
        return kind_byte(start + 1)
    first = byte_at(table, start, end, 0)
    return PARENTHESIS if first == LESS and byte_at(table, start, end, 1) == LESS else first


@kernel
def last_of(header: np.ndarray, term: int) -> int:
    """The last byte of a term."""
    start, end, table = _record(header, term)
    return load_byte(end - 1) if load_byte(start) == PLAIN else last_byte(table, start, end)


@inlined
def most_bytes(length: int) -> int:
    """Bytes of the arena that are free if a text of this length can be appended."""
    return 2 * length + 1


@kernel
def append(header: np.ndarray, address: int, length: int) -> bool:
    """Append the text of the id COUNT, and count it; False if there is no room for it.

    The text may lie behind the used part of the arena, see `most_bytes`.
    """
    term, used = signed(header[COUNT]), signed(header[BYTES])
    bases = int64_column(header[BASES])
    if term % BLOCK == 0:
        bases[term // BLOCK] = used << _TABLE_BITS | header[TABLE]
    base = bases[term // BLOCK]
    most = used + most_bytes(length)
    if most > header[BYTES_LIMIT] or most - (base >> _TABLE_BITS) > MOST_IN_BLOCK:
        return False
    start = header[ARENA] + used
    end = start + length + 1
    # A block that was begun before the current table is expanded with an earlier one.
    table = base & _TABLE_MASK
    if table != 0 and table == header[TABLE] and 0 < length <= LONGEST:
        end = min(end, compress(header[INDEX], address, length, start))
    if end == start + length + 1:
        store_byte(start, PLAIN)
        copy_bytes(start + 1, address, length)
    uint32_column(header[ENDS])[term] = np.uint32(end - header[ARENA] - (base >> _TABLE_BITS))
    header[COUNT] = term + 1
    header[BYTES] = end - header[ARENA]
    header[LENGTHS] += length
    return True
