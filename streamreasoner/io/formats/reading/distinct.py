"""The set of facts of a document. Invariant: each is given once, where it stands first."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.rdf.kernels.distinct_rows import add_rows, hash_rows, move_slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.format import Facts

_FIRST_SLOTS = 1 << 12


def distinct(blocks: Iterable[Facts]) -> Iterator[Facts]:
    """The facts of blocks that no block before has; those with signs are updates, and all stay."""
    sets: dict[str, _Rows] = {}
    for facts in blocks:
        if facts.signs is not None:
            yield facts
            continue
        rows = sets.setdefault(facts.predicate, _Rows(facts.args.shape[1]))
        new = rows.add(facts.args)
        if new.all():
            yield facts
        elif new.any():
            yield replace(facts, args=facts.args[new])


class _Rows:
    """A set of rows of ids."""

    def __init__(self, arity: int) -> None:
        self._stored = np.empty((_FIRST_SLOTS // 2, arity), np.int32)
        self._slots = np.zeros(_FIRST_SLOTS, np.uint64)
        self._secret = secrets.randbits(63)
        self._count = 0

    def add(self, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Add rows; which of them were not there, bool of shape (n,)."""
        self._reserve(self._count + len(rows))
        new, hashes = np.empty(len(rows), np.bool_), np.empty(len(rows), np.uint64)
        hash_rows(rows, self._secret, hashes)
        slots = self._slots
        self._count = add_rows(
            rows, hashes, self._stored, self._count, slots, slots.ctypes.data, new
        )
        return new

    def _reserve(self, count: int) -> None:
        """Make room for that many rows, with at most half of the slots filled."""
        size = len(self._slots)
        while size < 2 * count:
            size *= 2
        if size > len(self._slots):
            slots = np.zeros(size, np.uint64)
            move_slots(self._slots, slots)
            stored = np.empty((size // 2, self._stored.shape[1]), np.int32)
            stored[: self._count] = self._stored[: self._count]
            self._slots, self._stored = slots, stored
