"""Dictionaries so small that kernels fill them. Invariant: memory lives as long as its object."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.kernels import hash_table


class SmallDictionary:
    """The header of an empty dictionary with its own few slots.

    Attributes:
        header: The header.
        slots: The hash table.

    Args:
        limit: Terms after which it is full.
        slots: Slots of the hash table, a power of two.
    """

    def __init__(self, limit, slots):
        self._owner = Dictionary()
        self.header = self._owner.header.copy()
        self.header[hash_table.COUNT_LIMIT] = limit
        self.install(np.zeros(slots, np.uint64))

    def install(self, slots):
        """Use another hash table."""
        self.slots = slots
        self.header[hash_table.SLOTS] = slots.ctypes.data
        self.header[hash_table.SLOT_MASK] = len(slots) - 1

    def terms(self):
        """The texts in the arena, in the order of their ids."""
        count, starts = int(self.header[hash_table.COUNT]), self._owner._starts.array  # noqa: SLF001
        arena = self._owner._arena.array  # noqa: SLF001 - the owner itself counts no terms
        ends = starts[: count + 1].tolist()
        return [arena[start:end].tobytes() for start, end in pairwise(ends)]


def memory(text):
    """Bytes as an array: its `ctypes.data` is their address; room for at least one byte."""
    return np.frombuffer(text or b"\0", np.uint8)
