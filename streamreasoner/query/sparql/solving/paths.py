"""Property paths in SQL (SPARQL 1.1, section 18.4).

Invariant: a path is a table of its ends `s` and `o`, with the multiplicity that the specification
gives: sequences and alternatives keep duplicates, `?`, `*`, `+` and negated sets have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang.ast import Constant
from streamreasoner.sparql.algebra import (
    Alternative,
    Inverse,
    Negated,
    Repeat,
    Sequence,
    repeated,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.sparql.algebra import Path


@dataclass(frozen=True, slots=True)
class Ends:
    """The ids that the ends of a path have; None: any."""

    s: int | None = None
    o: int | None = None

    @property
    def condition(self) -> str:
        """Rows of `t` with these ends."""
        return " and ".join(
            ["true", *(f"t.{end} = {value}" for end, value in self._bound())],
        )

    def _bound(self) -> list[tuple[str, int]]:
        return [(end, value) for end, value in (("s", self.s), ("o", self.o)) if value is not None]


@dataclass(frozen=True, slots=True)
class PathTables:
    """Writes the tables of paths.

    Attributes:
        source: Table with the columns s, p and o, and g if `graph`.
        find: The id of a term.
        graph: Whether rows of different graphs are kept apart, by the column g.
    """

    source: str
    find: Callable[[str], int]
    graph: bool

    def table(self, path: Path, ends: Ends) -> str:
        """A query for the rows of a path whose ends have the given ids."""
        match path:
            case Constant(term):
                return (
                    f"select t.s, t.o{self._tg} from {self.source} t "
                    f"where t.p = {self.find(term)} and {ends.condition}"
                )
            case Inverse(inner):
                table = self.table(inner, Ends(ends.o, ends.s))
                return f"select o as s, s as o{self._g} from ({table})"
            case Sequence(steps):
                return self._sequence(steps, ends)
            case Alternative(paths):
                return " union all ".join(f"({self.table(each, ends)})" for each in paths)
            case Negated(predicates):
                return self._negated(predicates, ends)
            case Repeat():
                return self._repeated(repeated(path), ends)
            case _:
                assert_never(path)

    @property
    def _g(self) -> str:
        return ", g" if self.graph else ""

    @property
    def _tg(self) -> str:
        return ", t.g" if self.graph else ""

    def _sequence(self, steps: tuple[Path, ...], ends: Ends) -> str:
        last = len(steps) - 1
        tables = [
            self.table(step, Ends(ends.s if i == 0 else None, ends.o if i == last else None))
            for i, step in enumerate(steps)
        ]
        query = f"select t0.s, t{last}.o{', t0.g' if self.graph else ''} from ({tables[0]}) t0"
        for i, table in enumerate(tables[1:], 1):
            same_graph = f" and t{i}.g = t0.g" if self.graph else ""
            query += f" join ({table}) t{i} on t{i}.s = t{i - 1}.o{same_graph}"
        return query

    def _negated(self, predicates: tuple[Constant, ...], ends: Ends) -> str:
        ids = ", ".join(str(self.find(predicate.term)) for predicate in predicates)
        condition = f"t.p not in ({ids})" if ids else "true"
        return (
            f"select distinct t.s, t.o{self._tg} from {self.source} t "
            f"where {condition} and {ends.condition}"
        )

    def _repeated(self, path: Repeat, ends: Ends) -> str:
        inner = path.path
        more = (
            self._closure(self.table(inner, Ends()), ends) if path.many else self.table(inner, ends)
        )
        return more if path.least else f"({self._identity(ends)}) union ({more})"

    def _closure(self, once: str, ends: Ends) -> str:
        """The transitive closure, from a given end if there is one."""
        g = self._g
        same_graph = " and e.g = r.g" if self.graph else ""
        if ends.s is None and ends.o is not None:
            start, step, on = f"t.o = {ends.o}", "e.s, r.o", "e.o = r.s"
        else:
            start = "true" if ends.s is None else f"t.s = {ends.s}"
            step, on = "r.s, e.o", "e.s = r.o"
        rg = ", r.g" if self.graph else ""
        return (
            f"select t.s, t.o{self._tg} from (with recursive e as materialized ({once}), "
            f"r(s, o{g}) as (select t.s, t.o{self._tg} from e t where {start} "
            f"union select {step}{rg} from r join e on {on}{same_graph}) "
            f"select * from r) t where {ends.condition}"
        )

    def _identity(self, ends: Ends) -> str:
        """Zero steps: from each node of the graph to itself, and from the given terms."""
        g = self._g
        nodes = f"select s as n{g} from {self.source} union select o as n{g} from {self.source}"
        given = {value for value in (ends.s, ends.o) if value is not None}
        if not given:
            return f"select n as s, n as o{g} from ({nodes})"
        graphs = f"select distinct g from {self.source}" if self.graph else "select 1"
        if len(given) > 1:
            return f"select 0 as s, 0 as o{g} from ({graphs}) where false"
        (value,) = given
        return f"select {value} as s, {value} as o{g} from ({graphs})"
