"""Solves the patterns of one query. Invariant: nothing of it is left once it is closed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from streamreasoner.query.sparql.computing.expressions import Expressions
from streamreasoner.query.sparql.limits import Running
from streamreasoner.query.sparql.query_terms import QueryTerms
from streamreasoner.query.sparql.solving.dataset import Dataset
from streamreasoner.query.sparql.solving.memory import Memory
from streamreasoner.query.sparql.solving.patterns import Patterns
from streamreasoner.query.sparql.solving.solutions_query import SolutionsAlgebra
from streamreasoner.rdf.vocabulary import XSD_DATE_TIME
from streamreasoner.sparql.algebra import TripleTerm, nodes

if TYPE_CHECKING:
    from typing import Self

    from streamreasoner.query.sparql.facts import FactsOfEpoch
    from streamreasoner.query.sparql.limits import QueryLimits
    from streamreasoner.query.sparql.solving.dataset import GraphNames
    from streamreasoner.query.sparql.solving.rows import Rows
    from streamreasoner.sparql.algebra import Select


def has_triple_terms(select: Select) -> bool:
    """Whether a pattern of a query has a triple term."""
    return any(isinstance(node, TripleTerm) for node in nodes(select))


class Solver:
    """What finds the solutions of a query.

    Attributes:
        terms: The terms of the query.
        dataset: Its graphs.
        memory: Its steps.

    Args:
        select: The query.
        facts: What it reads.
        graphs: The graphs of them that it is asked of.
        base: The IRI that IRI() resolves against; empty: none.
        limits: What it may use.
        has_triple_terms: What the function of this name says of it.
    """

    def __init__(
        self,
        select: Select,
        facts: FactsOfEpoch,
        graphs: GraphNames,
        base: str,
        limits: QueryLimits,
        *,
        has_triple_terms: bool,
    ) -> None:
        self._select = select
        triple_terms = facts.triple_terms.of(facts.terms) if has_triple_terms else None
        self.terms = QueryTerms(facts.terms, triple_terms)
        dataset = Dataset(facts.triples, facts.quads, facts.index)
        self.dataset = dataset.of(graphs, self.terms.find)
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        expressions = Expressions(f'"{now}"^^<{XSD_DATE_TIME}>', base)
        self._algebra = SolutionsAlgebra()
        self.memory = Memory(Running(facts.connect, limits), self._algebra.columns, self.terms)
        table = None
        if triple_terms is not None:
            table = self.memory.table(dict(zip("tspo", triple_terms.rows.T, strict=True)))
        self._patterns = Patterns(self.dataset, self.memory, self._algebra, expressions, table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.memory.close()

    def rows(self) -> Rows:
        """The solutions, in order if there is one."""
        return self.memory.rows(self._patterns.solutions(self._select))

    def has_solution(self) -> bool:
        """Whether there is a solution."""
        found = self._algebra.slice(self._patterns.solutions(self._select), 0, 1)
        return self.memory.rows(found).count > 0
