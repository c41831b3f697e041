"""Dictionaries so small that kernels fill them. Invariant: memory lives as long as its object."""

from __future__ import annotations

from ctypes import string_at

import numpy as np
from dictionaries import learn

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.kernels import symbols, term_header, term_texts


class SmallDictionary:
    """The header of an empty dictionary with its own few slots.

    Attributes:
        header: The header.
        slots: The hash table.

    Args:
        limit: Terms after which it is full.
        slots: Slots of the hash table.
        sample: Texts whose symbols it compresses with from the beginning; None for none.
    """

    def __init__(self, limit, slots, sample=None):
        self._owner = Dictionary()
        self.header = self._owner.header.copy()
        self.header[term_header.COUNT_LIMIT] = limit
        self.install(np.zeros(slots, np.uint64))
        if sample is not None:
            self.learn(sample)

    def install(self, slots):
        """Use another hash table."""
        self.slots = slots
        self.header[term_header.SLOTS] = slots.ctypes.data
        self.header[term_header.SLOT_COUNT] = len(slots)

    def learn(self, sample):
        """Compress later texts, from the next block on, with the symbols of a sample."""
        learn(self.header, self._owner, tuple(sample))

    def text(self, term):
        """The text of an id."""
        buffer = np.empty(term_texts.LONGEST + symbols.SLACK, np.uint8)
        start, end = term_texts.text(self.header, term, buffer.ctypes.data)
        return string_at(start, end - start)

    def terms(self):
        """The texts, in the order of their ids."""
        return [self.text(term) for term in range(self.header[term_header.COUNT])]


def memory(text):
    """Bytes as an array: its `ctypes.data` is their address; room for at least one byte."""
    return np.frombuffer(text or b"\0", np.uint8)
