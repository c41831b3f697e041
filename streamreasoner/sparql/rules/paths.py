"""Property paths as literals (section 18.4). Invariant: paths of any length are sets of pairs.

`path*` from or to a constant is the set of nodes that are reached from it; between two variables it
is the set of pairs. A path of no steps leads from each node of the graph, and each end that is a
constant, to itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, assert_never

from streamreasoner.lang.ast import (
    NOWHERE,
    Atom,
    Comparison,
    Constant,
    Variable,
    Wildcard,
)
from streamreasoner.lang.traversal import substituted
from streamreasoner.sparql.algebra import (
    Alternative,
    Inverse,
    Negated,
    Repeat,
    Sequence,
    repeated,
)
from streamreasoner.sparql.rules.bodies import NOTHING_GIVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from streamreasoner.lang.ast import Literal
    from streamreasoner.sparql.algebra import Path, Term
    from streamreasoner.sparql.rules.bodies import Body
    from streamreasoner.sparql.rules.dataset import Dataset
    from streamreasoner.sparql.rules.rulebook import Rulebook

Ways: TypeAlias = "list[tuple[Literal, ...]]"
"""Alternative conjunctions."""


class Paths:
    """Writes paths of one query.

    Args:
        book: Takes the rules of paths of any length.
        dataset: The graphs of the query.
        given: Binds variables that have their values before, whether they are nodes or not.
    """

    def __init__(self, book: Rulebook, dataset: Dataset, given: Body = NOTHING_GIVEN) -> None:
        self._book = book
        self._dataset = dataset
        self._given = given
        self._known: dict[tuple[object, ...], str] = {}

    def ways(  # noqa: PLR0911 - one for each kind of path
        self, start: Term, path: Path, end: Term, graph: Term | None, *, counted: bool = False
    ) -> Ways:
        """How a path leads from one term to another.

        Args:
            start: Its beginning.
            path: The path.
            end: Its end.
            graph: The graph whose triples it follows, None for the default graph.
            counted: Whether it matters how many ways there are.
        """
        match path:
            case Constant():
                return [(self._dataset.atom(start, path, end, graph),)]
            case Inverse(inner):
                return self.ways(end, inner, start, graph, counted=counted)
            case Alternative(paths):
                return [
                    way
                    for each in paths
                    for way in self.ways(start, each, end, graph, counted=counted)
                ]
            case Sequence(steps):
                return self._sequence(start, steps, end, graph, counted=counted)
            case Negated(predicates) if counted:
                # It is a set of pairs, however many predicates lead from one end to the other.
                name = self._once(
                    (path, _key(graph)), "other", lambda name: self._others(name, predicates, graph)
                )
                return [(Atom(name, _with((start, end), graph), NOWHERE),)]
            case Negated(predicates):
                return [self._other(start, predicates, end, graph)]
            case Repeat():
                return [(self._repeated(start, repeated(path), end, graph),)]
            case _:
                assert_never(path)

    def node(self, graph: Term | None) -> str:
        """The predicate of the nodes of a graph; with the graph, if that is a variable."""
        return self._once(("node", _key(graph)), "node", lambda name: self._nodes(name, graph))

    def _sequence(
        self,
        start: Term,
        steps: tuple[Path, ...],
        end: Term,
        graph: Term | None,
        *,
        counted: bool,
    ) -> Ways:
        ways: Ways = [()]
        for number, step in enumerate(steps, start=1):
            last = number == len(steps)
            following = end if last else Variable(self._book.fresh("step"), NOWHERE)
            more = self.ways(start, step, following, graph, counted=counted)
            ways = [way + each for way in ways for each in more]
            start = following
        return ways

    def _other(
        self, start: Term, predicates: tuple[Constant, ...], end: Term, graph: Term | None
    ) -> tuple[Literal, ...]:
        other = Variable(self._book.fresh("other"), NOWHERE)
        tests = (Comparison(other, "!=", each, NOWHERE) for each in predicates)
        return (self._dataset.atom(start, other, end, graph), *tests)

    def _others(self, name: str, predicates: tuple[Constant, ...], graph: Term | None) -> None:
        x, y = self._ends()
        self._book.derive(name, _with((x, y), graph), self._other(x, predicates, y, graph))

    def _repeated(self, start: Term, path: Repeat, end: Term, graph: Term | None) -> Atom:
        ends: tuple[Term, ...]
        if isinstance(start, Constant):
            ends = (end,)
            name = self._reached(start, path, graph)
        elif isinstance(end, Constant):
            inner = Inverse(path.path)
            name = self._reached(end, Repeat(inner, path.least, path.many), graph)
            ends = (start,)
        elif start.name in self._given.bound:
            ends = (start, end)
            name = self._led(start, path, graph)
        elif end.name in self._given.bound:
            ends = (end, start)
            name = self._led(end, Repeat(Inverse(path.path), path.least, path.many), graph)
        else:
            key = (path, _key(graph))
            name = self._once(key, "path", lambda name: self._pairs(name, path, graph))
            ends = (start, end)
        return Atom(name, _with(ends, graph), NOWHERE)

    def _reached(self, origin: Constant, path: Repeat, graph: Term | None) -> str:
        """The predicate of what a path leads to from a constant."""
        key = (origin, path, _key(graph))
        return self._once(key, "path", lambda name: self._reach(name, origin, path, graph))

    def _reach(self, name: str, origin: Constant, path: Repeat, graph: Term | None) -> None:
        x, y = self._ends()
        if path.least == 0 and isinstance(graph, Variable):
            self._book.derive(name, (origin, graph), (self.exists(graph),))
        elif path.least == 0:
            self._book.fact(name, (origin,))
        if path.least > 0 or not path.many:
            for way in self.ways(origin, path.path, y, graph):
                self._book.derive(name, _with((y,), graph), way)
        if path.many:
            for way in self.ways(x, path.path, y, graph):
                before = Atom(name, _with((x,), graph), NOWHERE)
                self._book.derive(name, _with((y,), graph), (before, *way))

    def _led(self, origin: Variable, path: Repeat, graph: Term | None) -> str:
        """The predicate of pairs of a given value and what a path leads to from it."""
        x, y = self._ends()
        terms = {origin.name: x}
        known = tuple(substituted(literal, terms) for literal in self._given.literals)

        def write(name: str) -> None:
            exists = () if not isinstance(graph, Variable) else (self.exists(graph),)
            if path.least == 0:
                self._book.derive(name, _with((x, x), graph), (*known, *exists))
            if path.least > 0 or not path.many:
                for way in self.ways(x, path.path, y, graph):
                    self._book.derive(name, _with((x, y), graph), (*known, *way))
            if path.many:
                self._longer(name, path, graph)

        return self._once((origin.name, path, _key(graph)), "path", write)

    def _pairs(self, name: str, path: Repeat, graph: Term | None) -> None:
        x, y = self._ends()
        if path.least == 0:
            node = Atom(self.node(graph), _with((x,), graph), NOWHERE)
            self._book.derive(name, _with((x, x), graph), (node,))
        if path.least > 0 or not path.many:
            for way in self.ways(x, path.path, y, graph):
                self._book.derive(name, _with((x, y), graph), way)
        if path.many:
            self._longer(name, path, graph)

    def _longer(self, name: str, path: Repeat, graph: Term | None) -> None:
        """Pairs that are a step further apart than others."""
        x, y = self._ends()
        z = Variable(self._book.fresh("node"), NOWHERE)
        for way in self.ways(y, path.path, z, graph):
            before = Atom(name, _with((x, y), graph), NOWHERE)
            self._book.derive(name, _with((x, z), graph), (before, *way))

    def _nodes(self, name: str, graph: Term | None) -> None:
        x, _ = self._ends()
        blank = Wildcard(NOWHERE)
        for ends in ((x, blank), (blank, x)):
            each = self._dataset.atom(ends[0], blank, ends[1], graph)
            self._book.derive(name, _with((x,), graph), (each,))

    def exists(self, graph: Term) -> Atom:
        """An atom that holds if a graph has a triple."""
        any_graph = Variable(self._book.fresh("graph"), NOWHERE)

        def write(name: str) -> None:
            blank = Wildcard(NOWHERE)
            any_triple = self._dataset.atom(blank, blank, blank, any_graph)
            self._book.derive(name, (any_graph,), (any_triple,))

        return Atom(self._once(("graph",), "graph", write), (graph,), NOWHERE)

    def _ends(self) -> tuple[Variable, Variable]:
        x, y = (Variable(self._book.fresh("node"), NOWHERE) for _ in range(2))
        return x, y

    def _once(self, key: tuple[object, ...], kind: str, write: Callable[[str], None]) -> str:
        """The predicate for a key, with the rules that are written when it is new."""
        if key not in self._known:
            self._known[key] = name = self._book.predicate(kind)
            write(name)
        return self._known[key]


def _with(terms: Iterable[Term], graph: Term | None) -> tuple[Term, ...]:
    """Terms, and the graph if it is a variable."""
    return (*terms, graph) if isinstance(graph, Variable) else tuple(terms)


def _key(graph: Term | None) -> object:
    """Rules for one graph that is a variable are those for all."""
    return Variable if isinstance(graph, Variable) else graph
