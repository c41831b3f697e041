"""The graphs of a query (section 13). Invariant: every triple that a query reads is read here.

Without FROM and FROM NAMED, the default graph is the triples and the named graphs are those of the
quads. With either, the default graph is the triples of the graphs of FROM, each once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.ast import NOWHERE, QUAD, TRIPLE, Atom, Constant, Variable
from streamreasoner.rdf.vocabulary import UNBOUND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.lang.ast import Expression
    from streamreasoner.sparql.algebra import Query, Term
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
