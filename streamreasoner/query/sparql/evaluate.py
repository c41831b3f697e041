"""Evaluates a query. Invariant: it reads the facts of one epoch, and changes nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from streamreasoner.errors import LimitError, QueryError
from streamreasoner.query.sparql.answers import Answer, Solutions, Triples, Truth
from streamreasoner.query.sparql.construct import constructed, with_new_nodes
from streamreasoner.query.sparql.limits import QueryLimits
from streamreasoner.query.sparql.query_terms import UNBOUND
from streamreasoner.query.sparql.solver import Solver, has_triple_terms
from streamreasoner.query.sparql.solving.dataset import GraphNames
from streamreasoner.rdf.texts import are_blank_nodes
from streamreasoner.sparql.parse import parse_query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamreasoner.lang.ast import Variable
    from streamreasoner.query.sparql.facts import FactsOfEpoch
    from streamreasoner.query.sparql.query_terms import QueryTerms
    from streamreasoner.query.sparql.solving.dataset import Dataset
    from streamreasoner.query.sparql.solving.memory import Memory
    from streamreasoner.query.sparql.solving.rows import Rows
    from streamreasoner.sparql.algebra import Path, Query, Term

NO_LIMITS = QueryLimits()
NO_GRAPHS = GraphNames()
_SHORT = 1 << 12
"""Characters of a query that is remembered, so that it is read once however often it is asked."""
_MOST_REMEMBERED = 256


def evaluate(
    text: str,
    facts: FactsOfEpoch,
    limits: QueryLimits = NO_LIMITS,
    source: str = "<query>",
    *,
    graphs: GraphNames = NO_GRAPHS,
    base: str = "",
) -> Answer:
    """The answer of a query in SPARQL 1.1.

    Args:
        text: The query.
        facts: What it reads.
        limits: What it may use.
        source: Name of the text in diagnostics.
        graphs: What it is asked of, in place of its FROM and FROM NAMED.
        base: The IRI that relative ones are resolved against, before any BASE.

    Raises:
        ProgramError: It is not SPARQL 1.1; the message says where.
        TermError: The base is not an absolute IRI.
        QueryError: It asks for what is not supported.
        LimitError: It exceeds a limit.
    """
    prepare = _remembered if len(text) <= _SHORT else _prepared
    query, has_terms = prepare(text, source, base)
    if query.windows:
        raise QueryError(
            "A query about windows is a continuous one: add it with `streamreasoner rules add` or "
            "Reasoner.add_query. Ask here for what holds now, without FROM NAMED WINDOW."
        )
    graphs = graphs or GraphNames(
        tuple(graph.term for graph in query.default_graphs),
        tuple(graph.term for graph in query.named_graphs),
    )
    solver = Solver(query.select, facts, graphs, query.base, limits, has_triple_terms=has_terms)
    with solver:
        answer = _answer(query, solver)
    if isinstance(answer, Truth):
        return answer
    if limits.rows is not None and len(answer) > limits.rows:
        raise LimitError(
            f"The answer has {len(answer):,} rows, and {limits.rows:,} is the limit. Ask for less, "
            "for instance with LIMIT, or raise the limit."
        )
    return answer


def _prepared(text: str, source: str, base: str) -> tuple[Query, bool]:
    """A query, and whether it has triple terms."""
    query = parse_query(text, source, base)
    return query, has_triple_terms(query.select)


_remembered = lru_cache(maxsize=_MOST_REMEMBERED)(_prepared)


def _answer(query: Query, solver: Solver) -> Answer:
    terms, prefixes = solver.terms, dict(query.prefixes)
    if query.form == "ASK":
        return Truth(solver.has_solution())
    rows = solver.rows()
    match query.form:
        case "CONSTRUCT":
            with_nodes = with_new_nodes(rows, query.blank_nodes, terms)
            ends = [(each.subject, _term(each.predicate), each.object) for each in query.template]
            return Triples(constructed(ends, with_nodes, terms, width=3), terms, prefixes)
        case "DESCRIBE":
            start = _to_describe(query, rows, terms)
            return Triples(described(start, solver.dataset, solver.memory), terms, prefixes)
        case _:
            return _solutions(query, rows, terms)


def _term(predicate: Path | Variable) -> Term:
    """The predicate of a template, which has no paths."""
    return cast("Term", predicate)


def _solutions(query: Query, rows: Rows, terms: QueryTerms) -> Solutions:
    names = tuple(variable.name for variable in query.select.variables)
    ids = np.full((rows.count, len(names)), UNBOUND, np.int32)
    for position, name in enumerate(names):
        ids[:, position] = rows.columns[name]
    return Solutions(names, ids, terms, dict(query.prefixes))


def _to_describe(query: Query, rows: Rows, terms: QueryTerms) -> NDArray[np.int32]:
    """The ids of the terms that DESCRIBE names and finds."""
    named = [terms.find(term.term) for term in query.described]
    found = np.concatenate([np.array(named, np.int32), *rows.columns.values()])
    return np.unique(found[found != UNBOUND])


def described(start: NDArray[np.int32], dataset: Dataset, memory: Memory) -> NDArray[np.int32]:
    """The triples that describe resources, int32 of shape (n, 3), each once.

    It is the concise bounded description (https://www.w3.org/submissions/CBD/) but for reification:
    all triples of a resource, and those of the blank nodes that it leads to.

    Args:
        start: The ids of the resources.
        dataset: Its default graph describes them.
        memory: The steps of the query.
    """
    seen = frontier = np.unique(start)
    parts = [np.empty((0, 3), np.int32)]
    while len(frontier):
        wanted = memory.table({"id": frontier})
        found = memory.fetch(
            f"select s, p, o from {dataset.triples} t where s in (select id from {wanted})"
        )
        parts.append(np.stack([found[column] for column in "spo"], axis=1))
        objects = np.unique(parts[-1][:, 2])
        blank = objects[np.asarray(are_blank_nodes(memory.terms.decode(objects)))]
        frontier = np.setdiff1d(blank, seen)
        seen = np.union1d(seen, frontier)
    return np.unique(np.concatenate(parts), axis=0)
