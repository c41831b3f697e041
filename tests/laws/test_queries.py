"""A query has the solutions that pyoxigraph finds in the same triples and quads, as often."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyoxigraph
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_queries import GRAPHS, NODES, PATH_QUERIES, PREDICATES, QUADS, QUERIES, TRIPLES
from sparql_judge import written
from thorough import THOROUGH

from streamreasoner.errors import ProgramError
from streamreasoner.query import indexed_triples
from streamreasoner.query.indexed_triples import IndexedTriples
from streamreasoner.query.sparql.evaluate import evaluate
from streamreasoner.query.sparql.facts import facts_of_arrays
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.terms import canonical

if TYPE_CHECKING:
    from streamreasoner.query.sparql.facts import FactsOfEpoch

# A graph without triples is none here, and one for pyoxigraph. Each graph has all nodes, as for
# pyoxigraph a path of no steps does not lead to a term that no triple has.
NODES_OF_ALL = list(zip(NODES, [PREDICATES[0]] * 3, [*NODES[1:], NODES[0]], strict=True))
ONE_OF_EACH = [(*triple, graph) for triple in NODES_OF_ALL for graph in GRAPHS]
WAYS = st.sampled_from((0, 20, indexed_triples.MOST))
DATA = st.tuples(
    st.lists(TRIPLES, max_size=16, unique=True).map(
        lambda triples: [*dict.fromkeys((*NODES_OF_ALL, *triples))]
    ),
    st.lists(QUADS, max_size=4, unique=True).map(
        lambda quads: [*dict.fromkeys((*ONE_OF_EACH, *quads))]
    ),
)


@settings(max_examples=20_000 if THOROUGH else 30)
@given(DATA, QUERIES, WAYS)
def test_query_has_the_solutions_of_pyoxigraph(data, query, most):
    """Query has the solutions of pyoxigraph, whichever patterns the index finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexed_triples, "MOST", most)
        assert solutions(data, query) == expected(data, query)


@settings(max_examples=10_000 if THOROUGH else 20)
@given(DATA, PATH_QUERIES, WAYS)
def test_query_with_paths_has_the_solutions_of_pyoxigraph(data, query, most):
    """Query with paths has the solutions of pyoxigraph, whichever patterns the index finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexed_triples, "MOST", most)
        assert solutions(data, query) == expected(data, query)


def solutions(data: tuple[list, list], query: str) -> Counter:
    """How often each solution is in our answer."""
    try:
        answer = evaluate(query, facts_of(*data))
    except ProgramError as error:
        # The strategies do not look for it, and pyoxigraph lets some of it pass.
        assume("is bound already" not in str(error))
        raise
    order = sorted(range(len(answer.variables)), key=lambda at: answer.variables[at])
    return Counter(tuple(row[at] for at in order) for row in answer)


def facts_of(triples: list, quads: list) -> FactsOfEpoch:
    """Facts of rows of terms."""
    dictionary = Dictionary()
    ids = [
        np.array([[dictionary.intern(term) for term in row] for row in rows], np.int32)
        for rows in (triples, quads)
    ]
    triples = IndexedTriples(ids[0].reshape(-1, 3))
    return facts_of_arrays(dictionary, triples, ids[1].reshape(-1, 4))


def expected(data: tuple[list, list], query: str) -> Counter:
    """How often each solution is in that of pyoxigraph."""
    store = pyoxigraph.Store()
    lines = "".join(f"{' '.join(row)} .\n" for rows in data for row in rows)
    store.load(lines, format=pyoxigraph.RdfFormat.N_QUADS)
    try:
        found = store.query(query)
    except SyntaxError:
        # A variable is bound twice: the strategies do not look for it.
        assume(False)  # noqa: FBT003
    names = sorted(variable.value for variable in found.variables)
    try:
        return Counter(tuple(text(row[name]) for name in names) for row in found)
    except RuntimeError:
        # A pattern has a triple term that no triple is, such as one with a literal as subject.
        assume(False)  # noqa: FBT003


def text(term: object) -> str | None:
    """A term of pyoxigraph as a canonical term."""
    return None if term is None else canonical(written(term))
