"""The graphs of a query (SPARQL 1.1, section 13). Invariant: the default graph has no name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from streamreasoner.query.indexed_triples import IndexedTriples
    from streamreasoner.query.sparql.solving.solutions_query import SolutionsQuery


@dataclass(frozen=True, slots=True)
class Given:
    """Solutions that a pattern is evaluated for, each by itself.

    Attributes:
        solutions: The solutions.
        apart: Those of their variables that no query names: one with a number for each solution,
            and the graphs that it is of.
    """

    solutions: SolutionsQuery
    apart: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """What patterns match.

    Attributes:
        source: A table with the columns s, p and o, and g if there is a variable.
        variable: Has the name of the graph in each solution; None if there is one graph only.
        given: What it is evaluated for; None: one solution without variables.
        index: The same triples, for patterns that few of them match; None: there is no index.
    """

    source: str
    variable: str | None = None
    given: Given | None = None
    index: IndexedTriples | None = None

    @property
    def apart(self) -> tuple[str, ...]:
        """The variables of each solution that no query names."""
        graph = () if self.variable is None else (self.variable,)
        return graph if self.given is None else tuple(dict.fromkeys((*graph, *self.given.apart)))

    def of(self, given: Given | None) -> Scope:
        """The same for other solutions."""
        return replace(self, given=given)


@dataclass(frozen=True, slots=True)
class GraphNames:
    """The graphs that a query is asked of, as canonical IRIs; without any, those that there are.

    Attributes:
        default: Graphs whose union is the default graph.
        named: The named graphs; None: all.
    """

    default: tuple[str, ...] = ()
    named: tuple[str, ...] | None = ()

    def __bool__(self) -> bool:
        return bool(self.default or self.named)


@dataclass(frozen=True, slots=True)
class Dataset:
    """The default graph and the named graphs.

    Attributes:
        triples: Table of the default graph.
        quads: Table of the named graphs.
        index: The triples of the default graph; None: there is no index.
        chosen: The ids of the named graphs if they are chosen, be they empty; None: those of quads.
    """

    triples: str
    quads: str
    index: IndexedTriples | None = None
    chosen: tuple[int, ...] | None = None

    @property
    def default(self) -> Scope:
        """The default graph."""
        return Scope(self.triples, index=self.index)

    @property
    def names(self) -> str:
        """A query for the names of the named graphs, in the column g."""
        if self.chosen is None:
            return f"select distinct g from {self.quads}"
        return f"select unnest({[*self.chosen]}::integer[]) as g"

    def has(self, name: int) -> str:
        """A condition: whether there is a named graph."""
        if self.chosen is None:
            return f"exists (select 1 from {self.quads} where g = {name})"
        return "true" if name in self.chosen else "false"

    def named(self, name: int) -> Scope:
        """A named graph."""
        return Scope(f"(select s, p, o from {self.quads} where g = {name})")

    def each_named(self, variable: str) -> Scope:
        """All named graphs, each by itself."""
        return Scope(self.quads, variable)

    def of(self, graphs: GraphNames, find: Callable[[str], int]) -> Dataset:
        """The dataset of some of the graphs, if they are chosen; `find` has the ids of terms."""
        if not graphs:
            return self
        default = _among(map(find, graphs.default))
        chosen = None if graphs.named is None else tuple(dict.fromkeys(map(find, graphs.named)))
        named = "true" if chosen is None else _among(chosen)
        return Dataset(
            f"(select distinct s, p, o from {self.quads} where {default})",
            f"(select * from {self.quads} where {named})",
            chosen=chosen,
        )


def _among(names: Iterable[int]) -> str:
    return f"g in ({', '.join(listed)})" if (listed := [*map(str, names)]) else "false"
