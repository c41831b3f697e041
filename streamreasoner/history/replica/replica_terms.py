"""The terms of a replica. Invariant: readers may look terms up while others are added.

Terms are only appended, at stable addresses, so decoding needs no lock: an id is known only
after its term was added. The hash table is replaced when it grows, so finding takes turns with it.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.triple_index import TripleIndex

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


class ReplicaTerms:
    """Terms and their ids, as in the table `terms`.

    Attributes:
        triple_terms: Those of them.
    """

    def __init__(self) -> None:
        self.triple_terms = TripleIndex()
        self._dictionary = Dictionary()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._dictionary)

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self._dictionary.nbytes

    def find(self, term: str) -> int | None:
        """Id of a canonical term, or None if the state does not have it."""
        with self._lock:
            return self._dictionary.find(term)

    def decode(self, ids: NDArray[np.integer]) -> pa.LargeStringArray:
        """The terms of ids (any shape, flattened), in the same order."""
        return self._dictionary.decode(ids)

    def append(self, terms: pa.LargeStringArray) -> None:
        """Give terms the next ids; for the one thread that follows the state.

        Raises:
            EngineError: There is no room for them.
        """
        with self._lock:
            self._dictionary.encode(terms)
