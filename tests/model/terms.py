"""Terms of ids, one by one. Invariant: a text is looked up in the dictionary at most once."""

from __future__ import annotations

import numpy as np


class Terms:
    """The terms of a dictionary.

    Args:
        dictionary: Any dictionary of terms.
    """

    def __init__(self, dictionary):
        self._dictionary = dictionary
        self._texts = {}

    def id(self, text):
        """The id of a term, added if unseen."""
        return self._dictionary.intern(text)

    def text(self, identifier):
        """The term of an id."""
        if identifier not in self._texts:
            (self._texts[identifier],) = self._dictionary.decode(np.array([identifier])).to_pylist()
        return self._texts[identifier]
