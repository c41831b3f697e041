"""Choose symbols for texts. Invariant: the same sample has the same symbols.

The symbols are found from the bottom up: a sample is compressed with those of the round before, and
what saves most bytes, of the symbols that occur and of their pairs, becomes the next set (P. Boncz,
T. Neumann, V. Leis: FSST: Fast Random Access String Compression, VLDB 2020, section 4.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.rdf.kernels import symbols
from streamreasoner.rdf.kernels.term_texts import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_ROUNDS = 5
_LONGEST = 8  # bytes of a symbol
_UNKNOWN = 8  # a byte without a symbol takes two, so bytes weigh more than they save
_SHORT = 2  # bytes of symbols that are found by their pair of bytes


@dataclass(frozen=True, slots=True)
class Symbols:
    """Symbols by code.

    Attributes:
        words: Each as a little-endian number, uint64 of shape (n,), n <= 254.
        lengths: Their bytes, int64 of shape (n,).
    """

    words: NDArray[np.uint64]
    lengths: NDArray[np.int64]

    def write_table(self, table: NDArray[np.uint64]) -> None:
        """Fill a zeroed table of `kernels.symbols`, of shape (TABLE_WORDS,)."""
        count = len(self.words)
        table[:count] = self.words
        table[symbols.CODES :].view(np.uint8)[:count] = self.lengths

    def write_index(self, index: NDArray[np.uint64]) -> None:
        """Fill an index of `kernels.symbols`, of shape (INDEX_WORDS,)."""
        packed = np.arange(len(self.words)) | self.lengths << 8
        unknown = symbols.ESCAPE | 1 << 8
        entries = index[: 2 * symbols.ENTRIES]
        entries[0::2] = ~np.uint64(0)  # what no text has
        entries[1::2] = unknown
        # By second byte, and first.
        pairs = index[2 * symbols.ENTRIES :].view(np.uint16).reshape(256, 256)
        pairs[:] = unknown
        single = self.lengths == 1
        pairs[:, self.words[single].astype(np.int64)] = packed[single]
        double = self.lengths == _SHORT
        pairs.reshape(-1)[self.words[double].astype(np.int64)] = packed[double]
        long = self.lengths > _SHORT
        places = _places(self.words[long])
        entries[2 * places] = self.words[long]
        entries[2 * places + 1] = packed[long] | (64 - 8 * self.lengths[long]) << 16


def train(sample: Iterable[bytes]) -> tuple[Symbols, float]:
    """The symbols that suit texts like those of a sample, best.

    Returns:
        The symbols, and bytes of codes for each byte of the sample.
    """
    # No symbol has a zero byte, so none goes across the end of a text.
    text = b"\0".join(sample)
    found = Symbols(np.empty(0, np.uint64), np.empty(0, np.int64))
    for _ in range(_ROUNDS):
        found = _better(found, _compressed(found, text))
    return found, len(_compressed(found, text)) / max(len(text), 1)


def _compressed(found: Symbols, text: bytes) -> NDArray[np.uint8]:
    """The codes of a text."""
    index = np.empty(symbols.INDEX_WORDS, np.uint64)
    found.write_index(index)
    data = np.frombuffer(text or b"\0", np.uint8)
    codes = np.empty(2 * len(data), np.uint8)
    end = symbols.compress(index.ctypes.data, data.ctypes.data, len(text), codes.ctypes.data)
    return codes[: end - codes.ctypes.data]


def _better(found: Symbols, codes: NDArray[np.uint8]) -> Symbols:
    """What saves most of the symbols in a text that is compressed, and of their pairs."""
    words = np.zeros(2 * symbols.CODES, np.uint64)
    lengths = np.ones(2 * symbols.CODES, np.int64)
    words[: len(found.words)] = found.words
    lengths[: len(found.words)] = found.lengths
    # A byte without a symbol has a number above all codes.
    words[symbols.CODES :] = np.arange(256)
    escapes = codes == symbols.ESCAPE
    numbers = codes.astype(np.int64)
    numbers[1:][escapes[:-1]] += symbols.CODES
    numbers = numbers[~escapes]
    first, second = numbers[:-1], numbers[1:]
    pairs = (words[first] != 0) & (words[second] != 0) & (lengths[first] < _LONGEST)
    first, second = first[pairs], second[pairs]
    shifts = (8 * lengths[first]).astype(np.uint64)
    seen = np.concatenate((words[numbers], words[first] | words[second] << shifts))
    candidates, counts = np.unique(seen[seen != 0], return_counts=True)
    sizes = np.ones(len(candidates), np.int64)
    for size in range(1, _LONGEST):
        sizes += candidates >> np.uint64(8 * size) != 0
    saved = counts * sizes * np.where(sizes == 1, _UNKNOWN, 1)
    best = np.argsort(-saved, kind="stable")
    # The index has one entry for those that begin with the same three bytes.
    places = np.where(sizes > _SHORT, _places(candidates), -1 - np.arange(len(candidates)))
    _, kept = np.unique(places[best], return_index=True)
    best = best[np.sort(kept)][:PLAIN]
    return Symbols(candidates[best], sizes[best])


def _places(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Where the index has symbols of three bytes and more."""
    mixed = (words & np.uint64(symbols.FIRST_THREE)) * np.uint64(symbols.MULTIPLIER)
    return (mixed >> np.uint64(symbols.PLACE_SHIFT)).astype(np.int64)
