"""The parts of triple terms as ids. Invariant: a term has one id, whether or not a fact has it.

A pattern joins with a table of triple terms and their parts, which grows with the dictionary: only
what is new is read. Not all parts are in the dictionary; the others have ids of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.term_kind import is_triple_term
from streamreasoner.rdf.texts import are_triple_terms
from streamreasoner.rdf.triple_terms import components

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

FIRST_PART = -(1 << 30)
"""The id of the first part that the dictionary does not have; others are below."""
_UNKNOWN = -1
_CHUNK = 1 << 18
_MANY = 16


class DenseTerms(Protocol):
    """Terms whose ids are those below their number."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def find(self, term: str) -> int | None:
        """Id of a canonical term, or None if there is none."""
        ...

    def decode(self, ids: NDArray[np.integer]) -> pa.LargeStringArray:
        """The terms of ids (any shape, flattened), in the same order."""
        ...


@dataclass(frozen=True, slots=True)
class TripleTerms:
    """The triple terms of a dictionary at some time.

    Attributes:
        rows: Triple term, subject, predicate and object, int32 of shape (n, 4).
        known: How many terms the dictionary had; it may have more by now.
        parts: Triple terms and their parts.
        count: How many of them there were.
    """

    rows: NDArray[np.int32]
    known: int
    parts: Dictionary
    count: int

    def find(self, term: str) -> int | None:
        """The id of a part that the dictionary did not have."""
        part = self.parts.find(term)
        return None if part is None or part >= self.count else FIRST_PART - part

    def decode(self, ids: NDArray[np.integer]) -> pa.LargeStringArray:
        """The terms of ids that `find` returns."""
        return self.parts.decode(FIRST_PART - ids.astype(np.int64))


class TripleIndex:
    """The triple terms of one dictionary."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._parts: Dictionary | None = None  # reserves much address space
        self._ids = np.empty(0, np.int32)  # of each part in the dictionary
        self._rows = np.empty((0, 4), np.int32)  # numbers of parts
        self._known = 0

    def of(self, terms: DenseTerms) -> TripleTerms:
        """The triple terms of the dictionary, of which `terms` are the first ones."""
        with self._lock:
            known = len(terms)
            self._parts = parts = self._parts or Dictionary()
            before = len(parts)
            for ids in _chunks(self._known, known):
                self._take(ids, terms.decode(ids), parts)
            self._find(before, known, terms, parts)
            self._known = max(self._known, known)
            own = FIRST_PART - np.arange(len(self._ids), dtype=np.int32)
            is_known = (self._ids != _UNKNOWN) & (self._ids < known)
            ids = np.where(is_known, self._ids, own).astype(np.int32)
            return TripleTerms(ids[self._rows], known, parts, len(ids))

    def _take(self, ids: NDArray[np.int32], texts: pa.LargeStringArray, parts: Dictionary) -> None:
        """Take new terms of the dictionary."""
        self._name(np.flatnonzero(self._ids == _UNKNOWN), ids, texts, parts)
        is_triple_term_ = are_triple_terms(texts)
        seen = len(parts)
        numbers = parts.encode(texts.filter(is_triple_term_))
        self._reserve(len(parts))
        self._ids[numbers] = ids[np.asarray(is_triple_term_)]
        while (count := len(parts)) > seen:
            new = enumerate(parts.decode(np.arange(seen, count)).to_pylist(), start=seen)
            found = [(number, components(term)) for number, term in new if is_triple_term(term)]
            inner = [part for _, triple in found for part in triple]
            triples = parts.encode(pa.array(inner, pa.large_string())).reshape(-1, 3)
            terms = np.array([number for number, _ in found], np.int32).reshape(-1, 1)
            self._rows = np.concatenate([self._rows, np.hstack([terms, triples])])
            self._reserve(len(parts))
            seen = count

    def _reserve(self, count: int) -> None:
        missing = np.full(count - len(self._ids), _UNKNOWN, np.int32)
        self._ids = np.concatenate([self._ids, missing])

    def _find(self, before: int, known: int, terms: DenseTerms, parts: Dictionary) -> None:
        """Find new parts in the dictionary: one by one, or all at once if they are many."""
        new = before + np.flatnonzero(self._ids[before:] == _UNKNOWN)
        if len(new) * _MANY > known:
            for ids in _chunks(0, known):
                self._name(new, ids, terms.decode(ids), parts)
        else:
            found = [terms.find(term) for term in parts.decode(new).to_pylist()]
            self._ids[new] = [_UNKNOWN if each is None else each for each in found]

    def _name(
        self,
        numbers: NDArray[np.int64],
        ids: NDArray[np.int32],
        texts: pa.LargeStringArray,
        parts: Dictionary,
    ) -> None:
        """Note the ids of those parts that are among some terms."""
        if len(numbers):
            places = pc.index_in(parts.decode(numbers), value_set=texts)
            is_there = np.asarray(places.is_valid())
            self._ids[numbers[is_there]] = ids[np.asarray(places.drop_null())]


def _chunks(start: int, stop: int) -> Iterator[NDArray[np.int32]]:
    for first in range(start, stop, _CHUNK):
        yield np.arange(first, min(first + _CHUNK, stop), dtype=np.int32)
