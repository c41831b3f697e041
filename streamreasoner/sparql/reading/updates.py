"""Updates (SPARQL 1.1 Update, section 3). Invariant: data have constants and new nodes only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.sparql.algebra import BasicGraphPattern, Graph, Query, variables_of
from streamreasoner.sparql.reading.expressions import Group
from streamreasoner.sparql.reading.groups import EMPTY, joined
from streamreasoner.sparql.reading.modifiers import Modifiers
from streamreasoner.sparql.reading.queries import QueryReader
from streamreasoner.sparql.reading.triples import Triples
from streamreasoner.sparql.update import (
    Clear,
    Create,
    DeleteData,
    Graphs,
    InsertData,
    Load,
    Modify,
    QuadPattern,
    Transfer,
    Update,
)

if TYPE_CHECKING:
    from streamreasoner.sparql.algebra import Pattern, Term
    from streamreasoner.sparql.reading.term_reader import Place
    from streamreasoner.sparql.update import Operation

_NO_MODIFIERS = Modifiers(None, (), None, None, None, None)


@dataclass(frozen=True, slots=True)
class Part:
    """Triples of a template and their graph."""

    graph: Term | None
    triples: Triples


@dataclass(frozen=True, slots=True)
class Clause:
    """`WITH`, `USING`, `DELETE` or `INSERT` of an operation.

    Attributes:
        word: Which of them.
        value: Its graph or its template.
    """

    word: str
    value: Any


class Reader(QueryReader):
    """Reads the updates of one text."""

    def unit(self, _: Place, values: list[Query | Operation | None]) -> Query | Update:
        """A query, or updates."""
        found = [each for each in values if each is not None]
        match found:
            case [Query() as query]:
                return query
            case _:
                operations = tuple(each for each in found if not isinstance(each, Query))
                prefixes = tuple(self._prefixes.items())
                return Update(operations, frozenset(self._blank.values()), prefixes)

    def insert_data(self, place: Place, values: list[list[Part]]) -> InsertData:
        """`INSERT DATA { … }`; a label is of one operation (section 3.1.1 and 19.6)."""
        self._take_labels(each for part in values[0] for each in part.triples.labels)
        quads = self._quads(values[0], "INSERT DATA", variables=False, blank_nodes=True)
        return InsertData(quads, self._keyword(place, "INSERT"))

    def delete_data(self, place: Place, values: list[list[Part]]) -> DeleteData:
        """`DELETE DATA { … }`."""
        quads = self._quads(values[0], "DELETE DATA", variables=False, blank_nodes=False)
        return DeleteData(quads, self._keyword(place, "DELETE"))

    def delete_where(self, place: Place, values: list[list[Part]]) -> Modify:
        """`DELETE WHERE { … }`, whose template is the pattern."""
        quads = self._quads(values[0], "DELETE WHERE", variables=True, blank_nodes=False)
        pattern: Pattern = EMPTY
        span = self._keyword(place, "DELETE")
        for part in values[0]:
            found = BasicGraphPattern(part.triples.triples)
            pattern = joined(
                pattern, found if part.graph is None else Graph(part.graph, found, span)
            )
        select = self._all(place, "DELETE", Group(pattern, None), _NO_MODIFIERS)
        return Modify(quads, (), select, None, (), (), self._base, span)

    def modify(self, place: Place, values: list[Any]) -> Modify:
        """`WITH … DELETE { … } INSERT { … } USING … WHERE { … }`."""
        *clauses, group = values
        found: dict[str, list[Any]] = {}
        for clause in clauses:
            found.setdefault(clause.word, []).append(clause.value)
        select = self._all(place, "WHERE", group, _NO_MODIFIERS)
        deleted, inserted = (
            reduce(tuple.__add__, found.get(word, []), ()) for word in ("DELETE", "INSERT")
        )
        return Modify(
            deleted,
            inserted,
            select,
            found["WITH"][0] if "WITH" in found else None,
            tuple(found.get("USING", ())),
            tuple(found.get("USING NAMED", ())),
            self._base,
            self._span((place[0], place[0] + len("DELETE"))),
        )

    def with_graph(self, _: Place, values: list[Constant]) -> Clause:
        """`WITH graph`."""
        return Clause("WITH", values[0])

    def using(self, _: Place, values: list[Constant]) -> Clause:
        """`USING graph`."""
        return Clause("USING", values[0])

    def using_named(self, _: Place, values: list[Constant]) -> Clause:
        """`USING NAMED graph`."""
        return Clause("USING NAMED", values[-1])

    def deleted(self, _: Place, values: list[list[Part]]) -> Clause:
        """`DELETE { … }`."""
        return Clause("DELETE", self._quads(values[0], "DELETE", variables=True, blank_nodes=False))

    def inserted(self, _: Place, values: list[list[Part]]) -> Clause:
        """`INSERT { … }`."""
        return Clause("INSERT", self._quads(values[0], "INSERT", variables=True, blank_nodes=True))

    def load(self, place: Place, values: list[Any]) -> Load:
        """`LOAD source INTO GRAPH graph`."""
        source, into = (*(each for each in values if isinstance(each, Constant)), None)[:2]
        assert source is not None  # noqa: S101 - the grammar has one
        return Load(source, into, _is_silent(values), self._keyword(place, "LOAD"))

    def clear(self, place: Place, values: list[Any]) -> Clear:
        """`CLEAR` or `DROP`, and what."""
        word = values[0].upper()
        graphs = values[-1] if isinstance(values[-1], Constant) else Graphs(values[-1].upper())
        return Clear(word, graphs, _is_silent(values), self._keyword(place, word))

    def create(self, place: Place, values: list[Any]) -> Create:
        """`CREATE GRAPH graph`."""
        return Create(values[-1], _is_silent(values), self._keyword(place, "CREATE"))

    def transfer(self, place: Place, values: list[Any]) -> Transfer:
        """`ADD`, `MOVE` or `COPY`, from where to where."""
        word = values[0].upper()
        source, target = (each if isinstance(each, Constant) else None for each in values[-2:])
        return Transfer(word, source, target, _is_silent(values), self._keyword(place, word))

    def place(self, _: Place, values: list[Constant]) -> Constant:
        """`GRAPH graph` or `graph`."""
        return values[0]

    def graph_name(self, _: Place, values: list[Constant]) -> Constant:
        """`GRAPH graph`."""
        return values[0]

    def quads(self, _: Place, values: list[Any]) -> list[Part]:
        """`{ triples GRAPH graph { triples } }`."""
        parts: list[Part] = []
        for value in values:
            parts += [Part(None, value)] if isinstance(value, Triples) else value
        return parts

    def graph_quads(self, _: Place, values: list[Any]) -> list[Part]:
        """`GRAPH graph { triples }`."""
        graph, *blocks = values
        return [Part(graph, block) for block in blocks]

    def _quads(
        self, parts: list[Part], what: str, *, variables: bool, blank_nodes: bool
    ) -> tuple[QuadPattern, ...]:
        """The quads of a template or of data."""
        found = []
        hidden = set(self._blank.values())
        for part in parts:
            for triple in self._plain(part.triples, what):
                terms = (triple.subject, triple.predicate, triple.object, part.graph)
                for variable in (each for term in terms for each in variables_of(term)):
                    is_blank = variable.name in hidden
                    if not (blank_nodes if is_blank else variables):
                        kind = "a blank node" if is_blank else "a variable"
                        hint = _HINTS[is_blank]
                        raise self._refusal(f"{kind} in {what}", variable.span, hint)
                subject, predicate, value, graph = terms
                assert isinstance(predicate, Constant | Variable)  # noqa: S101 - it is plain
                span = self._span(part.triples.place)
                found.append(QuadPattern(subject, predicate, value, graph, span))
        return tuple(found)


_HINTS = (
    "write `INSERT { … } WHERE { … }` or `DELETE { … } WHERE { … }`",
    "write a variable, and DELETE … WHERE: a blank node stands for any node there",
)


def _is_silent(values: list[Any]) -> bool:
    return any(isinstance(each, str) and each.upper() == "SILENT" for each in values)
