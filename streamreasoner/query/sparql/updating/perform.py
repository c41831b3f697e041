"""The operations of SPARQL 1.2 Update (https://www.w3.org/TR/sparql12-update/, section 3).

Invariant: each operation reads what those before it have made of the facts. A graph exists if it
has facts, so that CREATE makes nothing, and DROP is CLEAR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never
from uuid import uuid4

from streamreasoner.errors import DataError, QueryError
from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.query.sparql.construct import constructed, with_new_nodes
from streamreasoner.query.sparql.solver import Solver, has_triple_terms
from streamreasoner.query.sparql.solving.dataset import GraphNames
from streamreasoner.query.sparql.updating.edits import Edits
from streamreasoner.rdf.triple_terms import triple_term
from streamreasoner.sparql.algebra import TripleTerm, variables_of
from streamreasoner.sparql.update import (
    Clear,
    Create,
    DeleteData,
    Graphs,
    InsertData,
    Load,
    Modify,
    Transfer,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamreasoner.query.sparql.limits import QueryLimits
    from streamreasoner.query.sparql.query_terms import QueryTerms
    from streamreasoner.query.sparql.solving.rows import Rows
    from streamreasoner.query.sparql.updating.edits import Asserted, Quad
    from streamreasoner.sparql.algebra import Node
    from streamreasoner.sparql.update import QuadPattern, Update


def perform(request: Update, before: Asserted, limits: QueryLimits) -> Edits:
    """What a request changes.

    Args:
        request: The request.
        before: What is asserted before it.
        limits: What each WHERE may use.

    Raises:
        QueryError: An operation fails, or asks for what is not supported.
        DataError: A document cannot be read.
    """
    edits = Edits(before)
    for operation in request.operations:
        match operation:
            case InsertData(quads):
                edits.insert(_data(quads))
            case DeleteData(quads):
                edits.delete(_data(quads))
            case Modify():
                _modify(operation, request.blank_nodes, before, edits, limits)
            case Load():
                _load(operation, before, edits)
            case Clear(_, graphs):
                _clear(graphs, edits)
            case Create():
                _create(operation, edits)
            case Transfer():
                _transfer(operation, edits)
            case _:
                assert_never(operation)
    return edits


def _modify(
    operation: Modify,
    blank_nodes: frozenset[str],
    before: Asserted,
    edits: Edits,
    limits: QueryLimits,
) -> None:
    """`DELETE … INSERT … WHERE …` (section 3.1.3): deletes, then inserts."""
    asked, facts = _asked(operation), before.facts(edits)
    has_terms = has_triple_terms(operation.select)
    solver = Solver(
        operation.select, facts, asked, operation.base, limits, has_triple_terms=has_terms
    )
    with solver:
        rows = solver.rows()
        new = {
            variable.name
            for quad in operation.insert
            for term in (quad.subject, quad.object)
            for variable in variables_of(term)
            if variable.name in blank_nodes
        }
        of_new = with_new_nodes(rows, new, solver.terms)
        deleted = list(_quads(operation.delete, operation.graph, rows, solver.terms))
        inserted = list(_quads(operation.insert, operation.graph, of_new, solver.terms))
    edits.delete(deleted)
    edits.insert(inserted)


def _asked(operation: Modify) -> GraphNames:
    """The graphs of WHERE: those of USING, or else the one of WITH and all named ones."""
    if operation.using or operation.using_named:
        using, named = (
            tuple(graph.term for graph in graphs)
            for graphs in (operation.using, operation.using_named)
        )
        return GraphNames(using, named)
    return GraphNames() if operation.graph is None else GraphNames((operation.graph.term,), None)


def _quads(
    template: Iterable[QuadPattern], graph: Constant | None, rows: Rows, terms: QueryTerms
) -> Iterator[Quad]:
    """What solutions make of a template, in a graph unless it names others."""
    for width in (3, 4):
        facts = [fact for quad in template if len(fact := _ends(quad, graph)) == width]
        ids = constructed(facts, rows, terms, width=width)
        texts = terms.decode(ids).to_pylist()
        yield from zip(*[iter(texts)] * width, strict=True)


def _ends(quad: QuadPattern, graph: Constant | None = None) -> tuple[Node, ...]:
    name = quad.graph or graph
    triple = quad.subject, quad.predicate, quad.object
    return triple if name is None else (*triple, name)


def _data(quads: Iterable[QuadPattern]) -> Iterator[Quad]:
    """The quads of INSERT DATA and DELETE DATA; a blank node is a new one."""
    nodes: dict[str, str] = {}

    def text(term: Node) -> str:
        match term:
            case Constant(known):
                return known
            case Variable(name):
                return nodes.setdefault(name, f"_:b{uuid4().hex}")
            case TripleTerm(subject, predicate, value):
                return triple_term(text(subject), text(predicate), text(value))
            case _:
                assert_never(term)

    for quad in quads:
        yield tuple(map(text, _ends(quad)))


def _load(operation: Load, before: Asserted, edits: Edits) -> None:
    try:
        quads = list(before.load(operation.source.term[1:-1]))
    except DataError:
        if operation.silent:
            return
        raise
    if operation.into is not None:
        if any(len(quad) > 3 for quad in quads):  # noqa: PLR2004 - the terms of a triple
            raise QueryError(
                f"LOAD {operation.source.term} fails, as the document has graphs of its own. Leave "
                "INTO GRAPH out."
            )
        quads = [(*quad, operation.into.term) for quad in quads]
    edits.insert(quads)


def _create(operation: Create, edits: Edits) -> None:
    if edits.quads(operation.graph.term) and not operation.silent:
        raise QueryError(
            f"CREATE GRAPH {operation.graph.term} fails, as the graph has facts. Leave it out, or "
            "write CREATE SILENT."
        )


def _clear(graphs: Constant | Graphs, edits: Edits) -> None:
    for name in _named(graphs, edits):
        edits.delete(edits.quads(name))


def _named(graphs: Constant | Graphs, edits: Edits) -> list[str | None]:
    """The graphs of CLEAR and DROP; None is the default graph."""
    match graphs:
        case Constant(term):
            return [term]
        case Graphs.DEFAULT:
            return [None]
        case Graphs.NAMED:
            return [*edits.graphs()]
        case Graphs.ALL:
            return [None, *edits.graphs()]
        case _:
            assert_never(graphs)


def _transfer(operation: Transfer, edits: Edits) -> None:
    """ADD, COPY and MOVE (sections 3.2.3 to 3.2.5)."""
    source, target = (
        None if graph is None else graph.term for graph in (operation.source, operation.target)
    )
    found = edits.quads(source)
    if source is not None and not found:
        if operation.silent:
            return
        raise QueryError(
            f"{operation.word} {source} fails, as the graph has no facts. Check its name, or write "
            f"{operation.word} SILENT."
        )
    if source == target:
        return
    if operation.word != "ADD":
        edits.delete(edits.quads(target))
    if operation.word == "MOVE":
        edits.delete(found)
    edits.insert(quad[:3] if target is None else (*quad[:3], target) for quad in found)
