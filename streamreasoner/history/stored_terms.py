"""The terms of a state, read only. Invariant: ids are those of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class StoredTerms:
    """Finds ids of terms and terms of ids, in memory of the size of their text.

    Args:
        terms: The terms by id.
    """

    def __init__(self, terms: pa.LargeStringArray) -> None:
        self._terms = terms

    def find(self, term: str) -> int | None:
        """Id of a canonical term, None if the state does not have it."""
        found = pc.index(self._terms, term).as_py()
        return None if found < 0 else int(found)

    def decode(self, ids: NDArray[np.integer]) -> pa.LargeStringArray:
        """The terms of ids (any shape, flattened), in the same order."""
        return self._terms.take(pa.array(ids.ravel()))
