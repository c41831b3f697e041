"""What solutions make of a template (SPARQL 1.2, section 16.2; SPARQL 1.2 Update, section 3.1.3).

Invariant: each row is an RDF triple, with the name of a graph if it is a quad.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never
from uuid import uuid4

import numpy as np

from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.query.sparql.query_terms import UNBOUND
from streamreasoner.query.sparql.solving.rows import Rows
from streamreasoner.rdf.texts import are_iris, are_resources
from streamreasoner.sparql.algebra import TripleTerm
from streamreasoner.values.builtins import apply

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from streamreasoner.query.sparql.query_terms import QueryTerms
    from streamreasoner.sparql.algebra import Node


def with_new_nodes(rows: Rows, names: Iterable[str], terms: QueryTerms) -> Rows:
    """Solutions with new blank nodes, one for each of them, as the values of variables."""
    columns = dict(rows.columns)
    for name in sorted(names):
        new = [terms.find(f"_:b{uuid4().hex}") for _ in range(rows.count)]
        columns[name] = np.array(new, np.int32)
    return Rows(columns, rows.count)


def constructed(
    template: Iterable[Sequence[Node]], rows: Rows, terms: QueryTerms, *, width: int
) -> NDArray[np.int32]:
    """The facts that solutions make of a template, int32 of shape (n, width), each once.

    What has an unbound variable is left out, and so is what RDF does not have.

    Args:
        template: The terms of each triple or quad.
        rows: The solutions.
        terms: The terms of the query.
        width: How many terms there are: 3 of triples, 4 of quads.
    """

    def column(term: Node) -> NDArray[np.int32]:
        match term:
            case Constant(text):
                return np.full(rows.count, terms.find(text), np.int32)
            case Variable(name):
                return rows.columns.get(name, np.full(rows.count, UNBOUND, np.int32))
            case TripleTerm(subject, predicate, value):
                return _triple_terms([*map(column, (subject, predicate, value))], terms)
            case _:
                assert_never(term)

    parts = [np.empty((0, width), np.int32)]
    parts += (np.stack([column(term) for term in fact], axis=1) for fact in template)
    found: NDArray[np.int32] = np.unique(np.concatenate(parts), axis=0)
    found = found[(found != UNBOUND).all(axis=1)]
    return found[_is_rdf(found, terms)]


def _triple_terms(parts: list[NDArray[np.int32]], terms: QueryTerms) -> NDArray[np.int32]:
    """The triple terms of subjects, predicates and objects; what is none is unbound."""
    distinct, places = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)
    texts = iter(terms.decode(distinct).to_pylist())
    found = [
        UNBOUND if None in triple or (term := apply("triple", triple)) is None else terms.find(term)
        for triple in zip(texts, texts, texts, strict=True)
    ]
    return np.array(found, np.int32)[places.ravel()]


def _is_rdf(ids: NDArray[np.int32], terms: QueryTerms) -> NDArray[np.bool_]:
    """Whether the subject and the graph are IRIs or blank nodes, and the predicate is an IRI."""
    distinct, places = np.unique(ids, return_inverse=True)
    texts = terms.decode(distinct)
    iris = np.asarray(are_iris(texts))[places].reshape(ids.shape)
    resources = np.asarray(are_resources(texts))[places].reshape(ids.shape)
    is_rdf: NDArray[np.bool_] = iris[:, 1] & resources[:, 0] & resources[:, 3:].all(1)
    return is_rdf
