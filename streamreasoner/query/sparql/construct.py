"""The triples of CONSTRUCT (SPARQL 1.1, section 16.2). Invariant: each is an RDF triple."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from uuid import uuid4

import numpy as np

from streamreasoner.lang.ast import Constant
from streamreasoner.query.sparql.terms import UNBOUND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from streamreasoner.query.sparql.solving.rows import Rows
    from streamreasoner.query.sparql.terms import QueryTerms
    from streamreasoner.sparql.algebra import Term, TriplePattern


def constructed(
    template: Sequence[TriplePattern], blank_nodes: frozenset[str], rows: Rows, terms: QueryTerms
) -> NDArray[np.int32]:
    """The triples that solutions make of a template, int32 of shape (n, 3), each once.

    A blank node of the template is a new one for each solution. What has no value, and what would
    be no triple, is left out.

    Args:
        template: The template.
        blank_nodes: The names of its variables that stand for blank nodes.
        rows: The solutions.
        terms: The terms of the query.
    """
    columns = dict(rows.columns)
    for name in sorted(blank_nodes):
        new = [terms.find(f"_:b{uuid4().hex}") for _ in range(rows.count)]
        columns[name] = np.array(new, np.int32)

    def column(term: Term) -> NDArray[np.int32]:
        if isinstance(term, Constant):
            return np.full(rows.count, terms.find(term.term), np.int32)
        return columns.get(term.name, np.full(rows.count, UNBOUND, np.int32))

    parts = [np.empty((0, 3), np.int32)]
    for triple in template:
        ends = (triple.subject, cast("Term", triple.predicate), triple.object)
        parts.append(np.stack([column(term) for term in ends], axis=1))
    distinct = np.unique(np.concatenate(parts), axis=0)
    distinct = distinct[(distinct != UNBOUND).all(axis=1)]
    return _only_triples(distinct, terms)


def _only_triples(ids: NDArray[np.int32], terms: QueryTerms) -> NDArray[np.int32]:
    """The rows whose subject is no literal and whose predicate is an IRI."""
    distinct, places = np.unique(ids[:, :2], return_inverse=True)
    firsts = np.array([text[0] for text in terms.decode(distinct).to_pylist()], "<U1")
    kinds = firsts[places].reshape(-1, 2)
    is_triple: NDArray[np.bool_] = (kinds[:, 0] != '"') & (kinds[:, 1] == "<")
    return ids[is_triple]
