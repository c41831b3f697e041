"""Terms that mention others. Invariant: a triple term mentions what it contains, at any depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from streamreasoner.rdf.texts import are_triple_terms, column
from streamreasoner.rdf.triple_terms import parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray


def mentioning(terms: pa.LargeStringArray, wanted: Sequence[str]) -> NDArray[np.bool_]:
    """Which terms of a column are one of some terms, or contain one: bool of shape (n,)."""
    found = np.array(pc.is_in(terms, value_set=column(wanted)), np.bool_)
    rows = np.flatnonzero(are_triple_terms(terms))
    for row, term in zip(rows.tolist(), terms.take(rows).to_pylist(), strict=True):
        found[row] = not set(wanted).isdisjoint(parts(term))
    return found


def mentioned(terms: Iterable[str]) -> set[str]:
    """Some terms, and all that the triple terms among them contain."""
    return {part for term in terms for part in parts(term)}


def with_mentioned(terms: pa.LargeStringArray, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which terms of a column are chosen, or contained in one that is: bool of shape (n,)."""
    nested = terms.filter(pc.and_(chosen, are_triple_terms(terms)))
    found = pc.index_in(column([*mentioned(nested.to_pylist())]), terms)
    result = chosen.copy()
    result[found.drop_null().to_numpy()] = True
    return result
