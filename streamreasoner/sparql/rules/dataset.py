"""The graphs of a query (section 13) and their terms. Invariant: all that is read is read here.

Without FROM and FROM NAMED, the default graph is the triples and the named graphs are those of the
quads. With either, the default graph is the triples of the graphs of FROM, each once.

A triple term is a pattern of the rule language in an atom. At an end of a path it is a variable,
which a hidden predicate takes apart. What no triple of RDF has never gets into rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang import constants
from streamreasoner.lang.ast import (
    NOWHERE,
    QUAD,
    TRIPLE,
    TRIPLE_PARTS,
    Atom,
    Call,
    Comparison,
    Constant,
    Variable,
)
from streamreasoner.rdf.term_kind import is_iri, is_resource
from streamreasoner.rdf.vocabulary import UNBOUND
from streamreasoner.sparql.algebra import TripleTerm
from streamreasoner.sparql.rules.rulebook import atom

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamreasoner.lang.ast import Expression, Literal
    from streamreasoner.sparql.algebra import Node, Query, Term, TriplePattern
    from streamreasoner.sparql.rules.rulebook import Rulebook


class Dataset:
    """The graphs of one query.

    Args:
        query: The query; None reads the default graph and the named graphs of the facts.
        book: Takes the rules of a default graph of several graphs.

    Attributes:
        named: The graphs that GRAPH finds; None: all.
        base: The IRI that relative ones are resolved against; empty: none.
    """

    def __init__(self, query: Query | None, book: Rulebook) -> None:
        self._book = book
        self._default: tuple[Constant, ...] | None = None
        self._merged: str | None = None
        self.base = "" if query is None else query.base
        self.named: tuple[Constant, ...] | None = None
        if query is not None and query.dataset is not None:
            self._default = query.default_graphs
            self.named = tuple(dict.fromkeys(query.named_graphs))

    def atom(
        self, subject: Expression, predicate: Expression, value: Expression, graph: Term | None
    ) -> Atom:
        """The atom of a triple of a graph, None for the default graph."""
        triple = (subject, predicate, value)
        if graph is not None:
            return Atom(QUAD, (*triple, graph), NOWHERE)
        match self._default:
            case None:
                return Atom(TRIPLE, triple, NOWHERE)
            case [only]:
                return Atom(QUAD, (*triple, only), NOWHERE)
            case several:
                return Atom(self._merge(several), triple, NOWHERE)

    def _merge(self, graphs: Sequence[Constant]) -> str:
        """The predicate of the triples of some graphs; no graph has the name `UNBOUND`."""
        if self._merged is None:
            self._merged = self._book.predicate("default")
            x, y, z = (Variable(self._book.fresh("node"), NOWHERE) for _ in range(3))
            for graph in graphs or (Constant(UNBOUND, NOWHERE),):
                self._book.derive(self._merged, (x, y, z), (self.atom(x, y, z, graph),))
        return self._merged


def may_match(pattern: TriplePattern) -> bool:
    """Whether a triple of RDF can have the triple terms of a pattern."""
    is_edge = isinstance(pattern.predicate, Constant | Variable)
    if is_edge and (isinstance(pattern.subject, TripleTerm) or not _is_node(pattern.subject)):
        return False
    return may_be(pattern.subject) and may_be(pattern.object)


def _is_node(node: Node) -> bool:
    return not isinstance(node, Constant) or is_resource(node.term)


def may_be(node: Node) -> bool:
    """Whether a term of RDF can be so."""
    while isinstance(node, TripleTerm):
        is_predicate = isinstance(node.predicate, Variable) or is_iri(node.predicate.term)
        if isinstance(node.subject, TripleTerm) or not _is_node(node.subject) or not is_predicate:
            return False
        node = node.object
    return True


class Nodes:
    """Writes the nodes of the patterns of one query.

    Args:
        book: Takes helper rules.
        dataset: The graphs of the query.
    """

    def __init__(self, book: Rulebook, dataset: Dataset) -> None:
        self._book = book
        self._dataset = dataset

    def expression(self, node: Node) -> Expression:
        """A node of a pattern as an argument of an atom."""
        if isinstance(node, TripleTerm):
            return constants.triple_term(map(self.expression, node.parts), node.span)
        return self.term(node)

    def term(self, node: Term) -> Term:
        """A term of a pattern as one of rules."""
        if isinstance(node, Constant):
            return node
        return Variable(self._book.variable(node.name), node.span)

    def end(self, node: Node, graph: Term | None) -> tuple[Term, tuple[Atom, ...]]:
        """A node as an end of a path in a graph, and what binds its variables."""
        if not isinstance(node, TripleTerm):
            return self.term(node), ()
        end = Variable(self._book.fresh("triple"), node.span)
        names: dict[str, None] = {}
        tests = tuple(self._parts(node, end, names))
        predicate, columns = self._book.predicate("triple"), (end.name, *names)
        nodes = [Variable(self._book.fresh("node"), NOWHERE) for _ in "spg"]
        some_graph = nodes[2] if isinstance(graph, Variable) else graph
        fact = self._dataset.atom(nodes[0], nodes[1], end, some_graph)
        found = atom(predicate, columns)
        self._book.derive(predicate, found.arguments, (fact, *tests))
        return end, (found,)

    def _parts(
        self, node: TripleTerm, value: Expression, names: dict[str, None]
    ) -> Iterator[Literal]:
        """What holds if a value is a triple term that matches; it binds the variables of names."""
        yield Call("is_triple", (value,), node.span)
        for function, part in zip(TRIPLE_PARTS, node.parts, strict=True):
            found = Call(function, (value,), node.span)
            if isinstance(part, TripleTerm):
                yield from self._parts(part, found, names)
                continue
            term = self.term(part)
            if isinstance(term, Variable) and term.name not in names:
                names[term.name] = None
                yield Comparison(term, "=", found, node.span)
            else:
                yield Call("same_term", (term, found), node.span)
