"""Requests of SPARQL 1.2 Update as values. Invariant: terms are canonical N-Triples.

The operations are those of https://www.w3.org/TR/sparql12-update/. `DELETE WHERE { … }` is a
`Modify` whose pattern is its template.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Constant, Span
    from streamreasoner.sparql.algebra import Node, Select, Term


class Graphs(Enum):
    """Graphs of CLEAR and DROP that are not named."""

    DEFAULT = "DEFAULT"
    NAMED = "NAMED"
    ALL = "ALL"


@dataclass(frozen=True, slots=True)
class QuadPattern:
    """A triple of a template or of data; `graph` is None outside of GRAPH."""

    subject: Node
    predicate: Term
    object: Node
    graph: Term | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InsertData:
    """`INSERT DATA { … }`: constants and blank nodes, which are new ones."""

    quads: tuple[QuadPattern, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DeleteData:
    """`DELETE DATA { … }`: constants."""

    quads: tuple[QuadPattern, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Modify:
    """`WITH … DELETE { … } INSERT { … } USING … WHERE { … }`.

    Attributes:
        delete: What is deleted of each solution, before anything is inserted.
        insert: What is inserted; its blank nodes are new ones for each solution.
        select: The solutions, with all variables in scope.
        graph: That of WITH: the default graph of the templates and, without USING, of WHERE.
        using: The graphs of USING, the default graph of WHERE.
        using_named: The graphs of USING NAMED.
        base: The IRI that relative ones are resolved against; empty if there is none.
        span: Its first word.
    """

    delete: tuple[QuadPattern, ...]
    insert: tuple[QuadPattern, ...]
    select: Select
    graph: Constant | None
    using: tuple[Constant, ...]
    using_named: tuple[Constant, ...]
    base: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Load:
    """`LOAD source INTO GRAPH into`; None is the default graph."""

    source: Constant
    into: Constant | None
    silent: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Clear:
    """`CLEAR` and `DROP`, which `word` tells apart."""

    word: str
    graphs: Constant | Graphs
    silent: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Create:
    """`CREATE GRAPH graph`."""

    graph: Constant
    silent: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Transfer:
    """`ADD`, `MOVE` or `COPY`, which `word` tells apart; a graph of None is the default graph."""

    word: str
    source: Constant | None
    target: Constant | None
    silent: bool
    span: Span = field(compare=False, repr=False)


Operation: TypeAlias = InsertData | DeleteData | Modify | Load | Clear | Create | Transfer


@dataclass(frozen=True, slots=True)
class Update:
    """A request.

    Attributes:
        operations: In their order; each sees what those before have done.
        blank_nodes: The names of variables that stand for blank nodes.
        prefixes: Prefix name to IRI, at its end.
    """

    operations: tuple[Operation, ...]
    blank_nodes: frozenset[str]
    prefixes: tuple[tuple[str, str], ...]
