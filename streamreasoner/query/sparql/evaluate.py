"""Evaluates a query. Invariant: it reads the facts of one epoch, and changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.errors import LimitError, QueryError
from streamreasoner.query.sparql.answers import Answer, Solutions, Triples, Truth
from streamreasoner.query.sparql.computing.expressions import Expressions
from streamreasoner.query.sparql.construct import constructed
from streamreasoner.query.sparql.describe import described
from streamreasoner.query.sparql.limits import QueryLimits, Running
from streamreasoner.query.sparql.solving.dataset import Dataset, GraphNames
from streamreasoner.query.sparql.solving.memory import Memory
from streamreasoner.query.sparql.solving.patterns import Patterns
from streamreasoner.query.sparql.solving.relation import Relations
from streamreasoner.query.sparql.terms import UNBOUND, QueryTerms
from streamreasoner.rdf.vocabulary import XSD_DATE_TIME
from streamreasoner.sparql.parse import parse_query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamreasoner.query.sparql.facts import FactsOfEpoch
    from streamreasoner.query.sparql.solving.rows import Rows
    from streamreasoner.sparql.algebra import Query

NO_LIMITS = QueryLimits()
NO_GRAPHS = GraphNames()


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
    query = parse_query(text, source, base)
    if query.windows:
        raise QueryError(
            "A query about windows is a continuous one: add it with `streamreasoner rules add` or "
            "Reasoner.add_query. Ask here for what holds now, without FROM NAMED WINDOW."
        )
    terms = QueryTerms(facts.terms)
    running = Running(facts.connection, limits)
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    graphs = graphs or GraphNames(
        tuple(graph.term for graph in query.default_graphs),
        tuple(graph.term for graph in query.named_graphs),
    )
    default, named = (
        [terms.find(name) for name in names] for names in (graphs.default, graphs.named)
    )
    dataset = Dataset(facts.triples, facts.quads).of(default, named)
    expressions = Expressions(f'"{now}"^^<{XSD_DATE_TIME}>', query.base)
    relations = Relations()
    memory = Memory(running, relations.columns, terms)
    patterns = Patterns(dataset, memory, relations, expressions)
    try:
        found = patterns.solutions(query.select)
        answer: Answer
        match query.form:
            case "ASK":
                return Truth(memory.rows(relations.slice(found, 0, 1)).count > 0)
            case "CONSTRUCT":
                rows = memory.rows(found)
                ids = constructed(query.template, query.blank_nodes, rows, terms)
                answer = Triples(ids, terms, dict(query.prefixes))
            case "DESCRIBE":
                start = _to_describe(query, memory.rows(found), terms)
                answer = Triples(described(start, dataset, memory), terms, dict(query.prefixes))
            case _:
                answer = _solutions(query, memory.rows(found), terms)
    finally:
        memory.close()
    if limits.rows is not None and len(answer) > limits.rows:
        raise LimitError(
            f"The answer has {len(answer):,} rows, and {limits.rows:,} is the limit. Ask for less, "
            "for instance with LIMIT, or raise the limit."
        )
    return answer


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
