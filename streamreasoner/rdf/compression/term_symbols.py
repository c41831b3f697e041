"""The symbols of a dictionary. Invariant: a table never changes once texts are read with it.

The first ones are learned when enough terms are known for a sample to show what they share. Later
terms may differ, so what their texts take is compared with what the sample took, in intervals; if
it is more, the next texts have new symbols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.native.reserved import ReservedColumn
from streamreasoner.rdf.compression.training import train
from streamreasoner.rdf.kernels import symbols, term_header

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from numpy.typing import NDArray

_FIRST_LESSON = 1 << 12  # terms, a multiple of BLOCK
_FACTOR = 4
_INTERVAL = 1 << 17
_TABLES = 1 << 16
_SAMPLE_BYTES = 1 << 14
_LONGEST_SAMPLED = 1 << 9
_WORSE = 1.1
"""Bytes that texts may take compared with the sample before other symbols are sought."""


class TermSymbols:
    """Tables of symbols, and the index of the current one, in the header of a dictionary.

    Args:
        header: The header, see `term_header`.

    Attributes:
        next_lesson: The number of terms at which `learn` is due.
    """

    __slots__ = ("_expected", "_header", "_index", "_seen", "_tables", "next_lesson")

    def __init__(self, header: NDArray[np.int64]) -> None:
        self._header = header
        self._tables = ReservedColumn(np.uint64, symbols.TABLE_WORDS * _TABLES)
        self._index = ReservedColumn(np.uint64, symbols.INDEX_WORDS)
        self._seen = (0, 0, 0)
        self._expected = 0.0
        self.next_lesson = _FIRST_LESSON
        header[term_header.TABLES] = self._tables.address
        header[term_header.INDEX] = self._index.address

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        table = int(self._header[term_header.TABLE])
        return table and 8 * (symbols.TABLE_WORDS * table + symbols.INDEX_WORDS)

    def learn(self, decode: Callable[[NDArray[np.int64]], pa.LargeStringArray]) -> None:
        """Choose symbols for the next texts, unless those there are still suit.

        Args:
            decode: The terms of ids.
        """
        header, known = self._header, self._seen
        self._seen = count, used, lengths = tuple(
            header[[term_header.COUNT, term_header.BYTES, term_header.LENGTHS]].tolist()
        )
        self.next_lesson = count + min(count * (_FACTOR - 1), _INTERVAL)
        length = max(lengths - known[2], 1)
        if header[term_header.TABLE] and used - known[1] <= _WORSE * self._expected * length:
            return
        number = min(count - known[0], max(1, _SAMPLE_BYTES * (count - known[0]) // length))
        chosen = known[0] + np.arange(number) * (count - known[0]) // number
        texts = decode(chosen).to_pylist()
        found, self._expected = train(text.encode()[:_LONGEST_SAMPLED] for text in texts)
        table = int(header[term_header.TABLE]) + 1
        words = self._tables.array.reshape(_TABLES, symbols.TABLE_WORDS)
        found.write_table(words[table])
        found.write_index(self._index.array)
        header[term_header.TABLE] = table
