"""Terms of a query as ids.

Invariant: equal ids are the same term, and the same term has one id. A term that no fact has gets a
negative id, so it matches no fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.rdf.triple_index import FIRST_PART

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamreasoner.facts import Terms
    from streamreasoner.rdf.triple_index import TripleTerms

UNBOUND = -1
"""The id of a variable that has no value."""
_FIRST_OWN = -2


class QueryTerms:
    """The terms of the facts, and those that the query adds.

    Args:
        terms: The terms of the facts.
        triple_terms: The triple terms of the facts; None if patterns have none.
    """

    def __init__(self, terms: Terms, triple_terms: TripleTerms | None = None) -> None:
        self._terms = terms
        self._triple_terms = triple_terms
        self._own: list[str] = []
        self._own_ids: dict[str, int] = {}

    def find(self, text: str) -> int:
        """The id of a canonical term."""
        found = self._terms.find(text)
        if self._triple_terms is not None and (found is None or found >= self._triple_terms.known):
            found = self._triple_terms.find(text)
        if found is not None:
            return found
        own = self._own_ids.setdefault(text, _FIRST_OWN - len(self._own))
        if own == _FIRST_OWN - len(self._own):
            self._own.append(text)
        return own

    def decode(self, ids: NDArray[np.integer]) -> pa.LargeStringArray:
        """The terms of ids (any shape, flattened), in the same order; null for an unbound one."""
        flat = ids.reshape(-1)
        if (flat >= 0).all():
            return self._terms.decode(flat.astype(np.int32))
        texts = np.full(len(flat), None, object)
        is_own = (flat <= _FIRST_OWN) & (flat > FIRST_PART)
        texts[is_own] = [self._own[_FIRST_OWN - own] for own in flat[is_own].tolist()]
        texts[flat >= 0] = self._terms.decode(flat[flat >= 0].astype(np.int32)).to_pylist()
        is_part = flat <= FIRST_PART
        if self._triple_terms is not None and is_part.any():
            texts[is_part] = self._triple_terms.decode(flat[is_part]).to_pylist()
        return pa.array(texts, pa.large_string())
