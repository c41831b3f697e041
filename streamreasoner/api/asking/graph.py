"""The facts of a reasoner as an rdflib graph. Invariant: it is one epoch, and cannot be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import rdflib
from rdflib.query import Result
from rdflib.store import Store
from rdflib.term import Variable

from streamreasoner.api.nodes import to_node, to_ntriples
from streamreasoner.errors import DataError, TermError
from streamreasoner.query.sparql.answers import Solutions, Truth
from streamreasoner.query.sparql.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rdflib.graph import Graph
    from rdflib.term import Node

    from streamreasoner.query.indexed_triples import IndexedTriples
    from streamreasoner.query.sparql.answers import Answer
    from streamreasoner.query.sparql.facts import FactsOfEpoch

_READ_ONLY = (
    "The graph of a reasoner cannot be changed: it has what the rules derive. Assert and retract "
    "with Reasoner.apply, and take its graph again."
)


class EpochStore(Store):
    """A store of rdflib that reads the triples of one epoch.

    Args:
        facts: The facts of the epoch.
        triples: Its triples.
    """

    transaction_aware = False

    def __init__(self, facts: FactsOfEpoch, triples: IndexedTriples) -> None:
        super().__init__()
        self._facts = facts
        self._triples = triples
        self._namespaces: dict[str, rdflib.URIRef] = {}
        self._nodes: dict[int, Node] = {}

    def __len__(self, context: Graph | None = None) -> int:
        return len(self._triples)

    def triples(
        self, triple_pattern: Any, context: Graph | None = None
    ) -> Iterator[tuple[Any, Iterator[Graph | None]]]:
        """The triples that match a pattern of nodes, and of None for any node."""
        ids = [None if node is None else self._id(node) for node in triple_pattern]
        if -1 in ids:
            return
        for row in self._triples.matching(ids).tolist():
            yield tuple(map(self._node, row)), iter((context,))

    def query(
        self,
        query: Any,
        initNs: Mapping[str, object],  # noqa: N803  (as rdflib calls it)
        initBindings: Mapping[str, object],  # noqa: N803
        *_: object,
        **__: object,
    ) -> Result:
        """The answer of a query; raises NotImplementedError if rdflib has to find it."""
        if not isinstance(query, str) or initBindings:
            raise NotImplementedError
        prefixes = "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in initNs.items())
        return _result(evaluate(prefixes + query, self._facts))

    def bind(self, prefix: str, namespace: rdflib.URIRef, override: bool = True) -> None:  # noqa: FBT001, FBT002
        """Name a namespace."""
        if override or prefix not in self._namespaces:
            self._namespaces[prefix] = namespace

    def namespace(self, prefix: str) -> rdflib.URIRef | None:
        """The namespace of a prefix."""
        return self._namespaces.get(prefix)

    def prefix(self, namespace: rdflib.URIRef) -> str | None:
        """The prefix of a namespace."""
        return next((p for p, n in self._namespaces.items() if n == namespace), None)

    def namespaces(self) -> Iterator[tuple[str, rdflib.URIRef]]:
        """All prefixes and their namespaces."""
        yield from self._namespaces.items()

    def add(self, *_: object, **__: object) -> NoReturn:
        """Refuse it."""
        raise DataError(_READ_ONLY)

    addN = remove = add  # noqa: N815

    def _id(self, node: Node) -> int:
        try:
            found = self._facts.terms.find(to_ntriples(node))
        except TermError:
            return -1
        return -1 if found is None else found

    def _node(self, term_id: int) -> Node:
        node = self._nodes.get(term_id)
        if node is None:
            (text,) = self._facts.terms.decode(np.array([term_id], np.int32)).to_pylist()
            node = self._nodes[term_id] = to_node(text)
        return node


def _result(answer: Answer) -> Result:
    """An answer as rdflib has it."""
    if isinstance(answer, Truth):
        result = Result("ASK")
        result.askAnswer = answer.holds
        return result
    if isinstance(answer, Solutions):
        result = Result("SELECT")
        result.vars = [Variable(name) for name in answer.variables]
        result.bindings = [
            {
                variable: to_node(term)
                for variable, term in zip(result.vars, row, strict=True)
                if term is not None
            }
            for row in answer
        ]
        return result
    result = Result("CONSTRUCT")
    result.graph = rdflib.Graph()
    for s, p, o in answer:
        result.graph.add((to_node(s), to_node(p), to_node(o)))
    return result
