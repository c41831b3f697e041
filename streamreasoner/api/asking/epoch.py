"""The facts of a session as queries read them. Invariant: they are those of one epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rdflib import Graph

from streamreasoner.api.asking.graph import EpochStore
from streamreasoner.engine.turn import in_turn
from streamreasoner.lang.ast import ARITIES, QUAD, TRIPLE
from streamreasoner.query.indexed_triples import IndexedTriples
from streamreasoner.query.sparql.facts import facts_of_arrays
from streamreasoner.rdf.triple_index import TripleIndex

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from streamreasoner.engine.session import Session
    from streamreasoner.engine.turn import Turn
    from streamreasoner.facts import Terms
    from streamreasoner.query.sparql.facts import FactsOfEpoch


class EpochFacts:
    """The present triples and quads of a session, copied once an epoch.

    Args:
        session: The session.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.turn = session.turn
        self._epoch = -1
        self._copy: tuple[FactsOfEpoch, IndexedTriples] | None = None
        self._triple_terms = TripleIndex()

    @in_turn
    def facts(self) -> FactsOfEpoch:
        """What queries read."""
        return self._current()[0]

    @in_turn
    def graph(self) -> Graph:
        """The triples as an rdflib graph, which stays as it is and cannot be changed."""
        return Graph(store=EpochStore(*self._current()))

    def _current(self) -> tuple[FactsOfEpoch, IndexedTriples]:
        session = self._session
        if self._copy is None or self._epoch != session.next_epoch:
            terms = TermsOfEpoch(session.dictionary, len(session.dictionary), self.turn)
            triples = IndexedTriples(self._rows(TRIPLE))
            facts = facts_of_arrays(terms, triples, self._rows(QUAD), self._triple_terms)
            self._copy = facts, triples
            self._epoch = session.next_epoch
        return self._copy

    def _rows(self, predicate: str) -> NDArray[np.int32]:
        """The present facts of triples or quads, which the program may not have."""
        if predicate in self._session.program.arities:
            return self._session.evaluated.facts(predicate)
        return np.empty((0, ARITIES[predicate]), np.int32)


class TermsOfEpoch:
    """The terms that a dictionary had at one epoch.

    Terms that come later are not found, so that a query which computes one has one id for it.

    Args:
        terms: The dictionary.
        count: How many terms it has.
        turn: Taken to find one; decoding needs none, as assigned terms never change.
    """

    def __init__(self, terms: Terms, count: int, turn: Turn) -> None:
        self._terms = terms
        self._count = count
        self.turn = turn

    def __len__(self) -> int:
        return self._count

    def find(self, term: str) -> int | None:
        """Id of a canonical term, or None if there is none."""
        with self.turn:
            found = self._terms.find(term)
        return None if found is None or found >= self._count else found

    def decode(self, ids: NDArray[np.integer]) -> pa.LargeStringArray:
        """The terms of ids (any shape, flattened), in the same order."""
        return self._terms.decode(ids)
