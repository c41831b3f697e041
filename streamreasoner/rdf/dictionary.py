"""The term dictionary. Invariant: ids are 0, 1, 2, ... in insertion order, and never change.

Terms are canonical N-Triples (`terms.canonical`), kept as codes of symbols (`kernels.term_texts`)
with a hash table; neither encoding nor decoding a column creates a Python object per term. A
dictionary is not thread-safe.
"""

from __future__ import annotations

import secrets
from ctypes import string_at
from threading import local
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from streamreasoner.errors import DictionaryFullError, TermError
from streamreasoner.native.reserved import ReservedColumn, reservable
from streamreasoner.rdf.compression.term_symbols import TermSymbols
from streamreasoner.rdf.kernels import (
    hash_table,
    symbols,
    term_columns,
    term_header,
    term_texts,
)
from streamreasoner.rdf.term_kind import BLANK_NODE_START, IRI_START
from streamreasoner.rdf.terms import canonical
from streamreasoner.system.memory import Fill

if TYPE_CHECKING:
    from numpy.typing import NDArray

Terms: TypeAlias = "pa.StringArray | pa.LargeStringArray | pa.ChunkedArray"
"""A column of terms: Arrow string or large_string, in one piece or several."""

INVALID = -1
"""The id that `encode_validated` returns for a row that is not a term."""

MAX_TERMS = (1 << 31) - 2
ID_BYTES = 4  # per id: where its text ends
_FIRST_SLOTS = 1 << 12
# At most 3 of 4 slots are used, so that probe sequences stay short, and at least half: slots take
# 11 to 16 bytes for each term.
_LOAD_NUMERATOR, _LOAD_DENOMINATOR = 3, 4
_GROWTH_NUMERATOR, _GROWTH_DENOMINATOR = 3, 2


def text_bytes() -> int:
    """Number of bytes of text that a new dictionary can hold."""
    return reservable(1)


class Dictionary:
    """Terms and their ids (int32, dense from 0).

    Raises:
        EnvironmentSetupError: The operating system refuses the address space it reserves.
    """

    __slots__ = (
        "__weakref__",
        "_arena",
        "_bases",
        "_ends",
        "_header",
        "_slots",
        "_symbols",
    )

    def __init__(self) -> None:
        self._arena = ReservedColumn(np.uint8, text_bytes(), huge_pages=True)
        count = reservable(8, at_most=MAX_TERMS)
        self._ends = ReservedColumn(np.uint32, count, huge_pages=True)
        self._bases = ReservedColumn(np.int64, count // term_texts.BLOCK + 1)
        self._header = np.zeros(term_header.HEADER_LENGTH, dtype=np.int64)
        self._header[term_header.ARENA] = self._arena.address
        self._header[term_header.ENDS] = self._ends.address
        self._header[term_header.BASES] = self._bases.address
        self._header[term_header.BYTES_LIMIT] = self._arena.capacity
        self._header[term_header.FIRST_SECRET] = secrets.randbits(63)
        self._header[term_header.SECOND_SECRET] = secrets.randbits(63)
        self._symbols = TermSymbols(self._header)
        self._install(ReservedColumn(np.uint64, _FIRST_SLOTS))

    def __len__(self) -> int:
        return int(self._header[term_header.COUNT])

    @property
    def header(self) -> NDArray[np.int64]:
        """Addresses and counts, see `rdf.kernels.term_header`; valid while this object lives."""
        return self._header

    @property
    def capacity(self) -> int:
        """Maximum number of terms; columns indexed by term id are reserved at this length."""
        return min(MAX_TERMS, self._ends.capacity)

    @property
    def ids(self) -> Fill:
        """How many ids are in use."""
        return Fill(ID_BYTES * len(self), ID_BYTES * self.capacity)

    @property
    def text(self) -> Fill:
        """How full the arena of text is."""
        return Fill(
            int(self._header[term_header.BYTES]), int(self._header[term_header.BYTES_LIMIT])
        )

    @property
    def nbytes(self) -> int:
        """Bytes in use: the texts of terms, where they end, hash slots, and symbols."""
        blocks = -(-len(self) // term_texts.BLOCK)
        used = int(self._header[term_header.BYTES]) + ID_BYTES * len(self) + 8 * blocks
        return used + 8 * self._slots.capacity + self._symbols.nbytes

    def encode(self, terms: Terms) -> NDArray[np.int32]:
        """Ids of terms known to be canonical; unseen ones are added.

        Args:
            terms: Canonical N-Triples, n rows without nulls.

        Returns:
            int32 of shape (n,).

        Raises:
            TermError: A row is null.
            EngineError: The dictionary is full.
        """
        if terms.null_count:
            raise TermError("A column of terms has a null; every row must be a term.")
        return self._encode(terms, checked=False)

    def encode_validated(self, terms: Terms) -> NDArray[np.int32]:
        """Ids of terms as users write them; canonicalised when needed, added when unseen.

        Args:
            terms: Terms in N-Triples syntax, n rows.

        Returns:
            int32 of shape (n,), -1 where the row is null or not a term; `terms.canonical` raises
            the reason for such a row.

        Raises:
            EngineError: The dictionary is full.
        """
        return self._encode(terms.fill_null("") if terms.null_count else terms, checked=True)

    def find(self, term: str) -> int | None:
        """Id of a canonical term, or None if it was never added."""
        data = term.encode()
        term_id = term_columns.find_term(self._header, _address(data), len(data))
        return None if term_id == hash_table.ABSENT else int(term_id)

    def intern(self, term: str) -> int:
        """Id of a canonical term, added if unseen.

        Raises:
            EngineError: The dictionary is full.
        """
        data = term.encode()
        while True:
            term_id = term_columns.intern_term(self._header, _address(data), len(data), False)  # noqa: FBT003
            if term_id != hash_table.FULL:
                return int(term_id)
            self.grow()

    def term(self, identifier: int) -> str:
        """The term of one id that was assigned; cheaper than a column of one."""
        start, end = term_texts.text(self._header, identifier, _buffer.address)
        return string_at(start, end - start).decode()

    def lengths(self, ids: NDArray[np.integer]) -> NDArray[np.int64]:
        """Bytes of the terms of `ids` (any shape, flattened).

        Raises:
            IndexError: An id was never assigned.
        """
        return np.diff(self._offsets(self._checked(ids)))

    def decode(self, ids: NDArray[np.integer]) -> pa.LargeStringArray:
        """The terms of `ids` (any shape, flattened), in the same order.

        Raises:
            IndexError: An id was never assigned.
        """
        flat = self._checked(ids)
        offsets = self._offsets(flat)
        data = np.empty(int(offsets[-1]) + symbols.SLACK, dtype=np.uint8)
        term_columns.write_terms(self._header, flat, data.ctypes.data)
        buffers = pa.py_buffer(offsets), pa.py_buffer(data)
        return pa.LargeStringArray.from_buffers(len(flat), *buffers)

    def terms(self, start: int, stop: int) -> pa.LargeStringArray:
        """The terms with ids from `start` up to, but not including, `stop`.

        Raises:
            IndexError: The range exceeds the assigned ids.
        """
        if not 0 <= start <= stop <= len(self):
            raise IndexError(f"Ids {start} to {stop} are not all below {len(self)}.")
        return self.decode(np.arange(start, stop))

    def is_resource(self, ids: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which of `ids` (flattened) are IRIs or blank nodes, the only valid subjects and graphs.

        Raises:
            IndexError: An id was never assigned.
        """
        kinds = self._kind_bytes(ids)
        return np.equal(kinds, ord(IRI_START)) | np.equal(kinds, ord(BLANK_NODE_START[0]))

    def is_iri(self, ids: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which of `ids` (flattened) are IRIs, the only valid predicates of triples.

        Raises:
            IndexError: An id was never assigned.
        """
        return np.equal(self._kind_bytes(ids), ord(IRI_START))

    def grow(self) -> None:
        """Do what a kernel that returned FULL needs: learn symbols, or enlarge the hash table.

        Raises:
            DictionaryFullError: The text of the terms, or the number of ids, has reached its limit.
        """
        if len(self) < self._header[term_header.COUNT_LIMIT]:
            raise DictionaryFullError(self._no_room())
        if len(self) >= self.capacity:
            raise DictionaryFullError(
                f"The dictionary is full: no id is left after {len(self)} terms. The epoch was "
                "rolled back. Start with a new state and an input that has fewer terms."
            )
        slots = self._slots
        if len(self) >= _loaded(slots):
            larger = slots.capacity * _GROWTH_NUMERATOR // _GROWTH_DENOMINATOR
            slots = ReservedColumn(np.uint64, larger, huge_pages=True)
            hash_table.rehash(self._slots.array, slots.array)
        if len(self) >= self._symbols.next_lesson:
            self._symbols.learn(self.decode)
        self._install(slots)

    def _no_room(self) -> str:
        """Why a text does not fit."""
        text = self.text
        if text.limit - text.used > term_texts.MOST_IN_BLOCK:
            return (
                f"The dictionary cannot take the text of a term: {term_texts.BLOCK} terms in a row "
                "would have more than 4 GiB. The epoch was rolled back. Leave out terms that are "
                "so long, or keep their text outside and an IRI of it here."
            )
        return (
            f"The dictionary is full: the text of {len(self)} terms uses {text} that this "
            "machine's memory allows. The epoch was rolled back. Use a machine with more memory."
        )

    def _install(self, slots: ReservedColumn) -> None:
        self._slots = slots
        self._header[term_header.SLOTS] = slots.address
        self._header[term_header.SLOT_COUNT] = slots.capacity
        self._header[term_header.COUNT_LIMIT] = min(
            _loaded(slots), self.capacity, self._symbols.next_lesson
        )

    def _encode(self, terms: Terms, *, checked: bool) -> NDArray[np.int32]:
        if isinstance(terms, pa.ChunkedArray):
            chunks = [self._encode(chunk, checked=checked) for chunk in terms.chunks]
            return np.concatenate(chunks) if chunks else np.empty(0, dtype=np.int32)
        ids = np.empty(len(terms), dtype=np.int32)
        offsets, data = _buffers(terms)
        row = 0
        while (
            row := term_columns.encode_rows(self._header, offsets, data, row, ids, checked)
        ) < len(ids):
            if ids[row] == hash_table.FULL:
                self.grow()
                continue
            try:
                ids[row] = self.intern(canonical(terms[row].as_py()))
            except TermError:
                ids[row] = INVALID
            row += 1
        return ids

    def _kind_bytes(self, ids: NDArray[np.integer]) -> NDArray[np.uint8]:
        flat = self._checked(ids)
        kinds = np.empty(len(flat), dtype=np.uint8)
        term_columns.kind_bytes(self._header, flat, kinds)
        return kinds

    def _offsets(self, flat: NDArray[np.int64]) -> NDArray[np.int64]:
        offsets = np.empty(len(flat) + 1, dtype=np.int64)
        term_columns.term_offsets(self._header, flat, offsets)
        return offsets

    def _checked(self, ids: NDArray[np.integer]) -> NDArray[np.int64]:
        flat = np.ascontiguousarray(ids, dtype=np.int64).reshape(-1)
        if len(flat) and (flat.min() < 0 or flat.max() >= len(self)):
            unknown = flat[(flat < 0) | (flat >= len(self))][0]
            raise IndexError(f"Id {unknown} was never assigned; there are {len(self)} terms.")
        return flat


class _Buffer(local):
    """Room for the text of a term, in each thread."""

    def __init__(self) -> None:
        self._room = np.empty(term_texts.LONGEST + symbols.SLACK, np.uint8)
        self.address: int = self._room.ctypes.data


_buffer = _Buffer()


def _loaded(slots: ReservedColumn) -> int:
    """How many terms a hash table takes."""
    return slots.capacity * _LOAD_NUMERATOR // _LOAD_DENOMINATOR


def _address(data: bytes) -> int:
    return int(np.frombuffer(data, dtype=np.uint8).ctypes.data) if data else 0


def _buffers(terms: pa.Array) -> tuple[NDArray[np.signedinteger], int]:
    """Offsets, of shape (n + 1,), and the data address of an Arrow string column."""
    if pa.types.is_string(terms.type):
        dtype: type[np.signedinteger] = np.int32
    elif pa.types.is_large_string(terms.type):
        dtype = np.int64
    else:
        raise TypeError(f"Terms are Arrow strings, not {terms.type}.")
    if len(terms) == 0:
        return np.zeros(1, dtype=dtype), 0
    _, offsets, data = terms.buffers()
    first = terms.offset * np.dtype(dtype).itemsize
    column = np.frombuffer(offsets, dtype=dtype, count=len(terms) + 1, offset=first)
    return column, 0 if data is None else data.address
