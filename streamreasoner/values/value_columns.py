"""Comparable values by term id. Invariant: rows below `len(self)` agree with `valuation.value`.

Triple terms have the ids of their components, which are added to the dictionary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.native.reserved import ReservedColumn
from streamreasoner.rdf.kernels import hash_table
from streamreasoner.rdf.term_kind import is_triple_term
from streamreasoner.rdf.terms import parse
from streamreasoner.rdf.triple_terms import components
from streamreasoner.rdf.vocabulary import XSD_INTEGER
from streamreasoner.values.kernels import comparing, decimals, integers, interning
from streamreasoner.values.valuation import ValueKind, value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamreasoner.rdf.dictionary import Dictionary

_BATCH = 1 << 16


class Values:
    """Values of the terms of a dictionary, filled by `extend` as the dictionary grows.

    Args:
        dictionary: The dictionary, which this object keeps alive.

    Raises:
        EnvironmentSetupError: The operating system refuses the address space it reserves.
    """

    __slots__ = (
        "_decimal_text",
        "_dictionary",
        "_double",
        "_fraction",
        "_kind",
        "_lock",
        "_small",
        "_text",
        "_whole",
        "table",
    )

    def __init__(self, dictionary: Dictionary) -> None:
        capacity = dictionary.capacity
        self._dictionary = dictionary
        self._kind = ReservedColumn(np.int8, capacity)
        self._whole = ReservedColumn(np.int64, capacity)
        self._fraction = ReservedColumn(np.int64, capacity)
        self._double = ReservedColumn(np.float64, capacity)
        self._small = ReservedColumn(np.int64, comparing.SMALL_LIMIT)
        self._text = _buffer(integers.PREFIX_ROOM, integers.SUFFIX)
        self._decimal_text = _buffer(decimals.PREFIX_ROOM, decimals.SUFFIX)
        self.table: NDArray[np.int64] = np.zeros(comparing.TABLE_LENGTH, dtype=np.int64)
        """Addresses for `kernels.comparing` and other kernels; valid while this object lives."""
        self.table[comparing.KIND] = self._kind.address
        self.table[comparing.WHOLE] = self._whole.address
        self.table[comparing.FRACTION] = self._fraction.address
        self.table[comparing.DOUBLE] = self._double.address
        self.table[comparing.HEADER] = dictionary.header.ctypes.data
        self.table[comparing.TEXT] = self._text.ctypes.data
        self.table[comparing.DECIMAL_TEXT] = self._decimal_text.ctypes.data
        self.table[comparing.SMALL] = self._small.address
        self._lock = np.zeros(1, np.int64)
        self.table[comparing.LOCK] = self._lock.ctypes.data

    def __len__(self) -> int:
        return int(self.table[comparing.LENGTH])

    @property
    def kind(self) -> NDArray[np.int8]:
        """`valuation.ValueKind` by id, int8 of shape (len,)."""
        return self._kind.array[: len(self)]

    @property
    def whole(self) -> NDArray[np.int64]:
        """Whole part by id, int64 of shape (len,)."""
        return self._whole.array[: len(self)]

    @property
    def fraction(self) -> NDArray[np.int64]:
        """Fraction by id in units of 1e-18, int64 of shape (len,)."""
        return self._fraction.array[: len(self)]

    @property
    def double(self) -> NDArray[np.float64]:
        """Nearest double by id, float64 of shape (len,)."""
        return self._double.array[: len(self)]

    def extend(self) -> None:
        """Compute the values of the terms added since the last call."""
        # The components of triple terms become terms too.
        while (start := len(self)) < len(self._dictionary):
            stop = min(start + _BATCH, len(self._dictionary))
            self._fill(start, stop)
            self.table[comparing.LENGTH] = stop

    def intern(self, term: str) -> int:
        """Id of a canonical term, added with its value if new; kernels of other threads wait."""
        interning.lock(self.table)
        try:
            identifier = self._dictionary.intern(term)
            self.extend()
        finally:
            interning.unlock(self.table)
        return identifier

    def intern_integer(self, number: int) -> int:
        """Id of an int64 integer as a term, added with its value if new."""
        self.extend()
        term = int(integers.intern_integer(self.table, number))
        return self.intern(f'"{number}"^^<{XSD_INTEGER}>') if term == hash_table.FULL else term

    def compare(self, left: int, right: int) -> int:
        """Order of two terms by id: -1, 0 or 1, or 2 if they are not comparable."""
        return int(comparing.compare(self.table, left, right))

    def _fill(self, start: int, stop: int) -> None:
        kinds = self._kind.array
        if not comparing.classify(self._dictionary.header, kinds, start, stop):
            return
        if not integers.read_integers(self.table, start, stop):
            return
        typed = start + np.flatnonzero(kinds[start:stop] < 0)
        for term, text in zip(
            typed.tolist(), self._dictionary.decode(typed).to_pylist(), strict=True
        ):
            if is_triple_term(text):
                subject, predicate, object_ = map(self._dictionary.intern, components(text))
                self._whole.array[term] = subject << comparing.NODE_BITS | predicate
                self._fraction.array[term] = object_
                kinds[term] = ValueKind.TRIPLE
                continue
            literal = parse(text)
            literal_value = value(literal.value, literal.datatype)
            self._whole.array[term] = literal_value.whole
            self._fraction.array[term] = literal_value.fraction
            self._double.array[term] = literal_value.double
            kinds[term] = literal_value.kind


def _buffer(room: int, suffix: bytes) -> NDArray[np.uint8]:
    """A buffer for the text of a literal, which ends in a suffix."""
    return np.frombuffer(bytearray(room) + suffix, np.uint8)
