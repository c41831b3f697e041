"""Triple patterns and property paths. Invariant: a triple has its place in textual order.

Patterns, templates and data have one grammar; `_plain` refuses in a template what only a pattern
can have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.rdf import vocabulary
from streamreasoner.sparql.algebra import (
    Alternative,
    Inverse,
    Negated,
    Repeat,
    Sequence,
    TriplePattern,
    TripleTerm,
)
from streamreasoner.sparql.reading.term_reader import TermReader

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from streamreasoner.lang.ast import Span
    from streamreasoner.sparql.algebra import Node, Path
    from streamreasoner.sparql.reading.term_reader import Place

    Object: TypeAlias = "tuple[Node | Composite, list[Reifier | Annotation]]"
    """An object, and what stands after it."""
    Objects: TypeAlias = "tuple[Path | Variable, list[Object]]"
    """A predicate and its objects."""

_FIRST, _REST, _NIL, _REIFIES = (
    f"<{vocabulary.RDF}{name}>" for name in ("first", "rest", "nil", "reifies")
)


@dataclass(frozen=True, slots=True)
class Composite:
    """A collection, `[ … ]` or `<< … >>`: a node, and the triples that describe it."""

    node: Node
    triples: tuple[TriplePattern, ...]


@dataclass(frozen=True, slots=True)
class Reifier:
    """`~ node` after a triple, which the node reifies."""

    node: Node


@dataclass(frozen=True, slots=True)
class Annotation:
    """`{| predicate object |}`, of the reifier before it or else of a new node."""

    node: Node
    predicates: list[Objects]


@dataclass(frozen=True, slots=True)
class Triples:
    """Triples of one subject as they are written.

    Attributes:
        triples: The triples.
        labels: The labels of their blank nodes, with the places.
        place: Where they stand.
    """

    triples: tuple[TriplePattern, ...]
    labels: tuple[tuple[str, Place], ...]
    place: Place


class TripleReader(TermReader):
    """Reads the triples and paths of one text."""

    def triples(self, place: Place, values: list[object]) -> Triples:
        """`subject predicate object, object; predicate object`."""
        found: list[TriplePattern] = []
        match values:
            case [Composite(triples=triples)]:
                found.extend(triples)
            case [node, list() as predicates]:
                subject = self._node(node, found)
                self._describe(subject, predicates, found)
        if self._unnamed:
            named = self._named
            found = [
                replace(each, subject=named(each.subject), object=named(each.object))
                for each in found
            ]
            self._unnamed.clear()
        return Triples(tuple(found), tuple(self._labels_since(place[0])), place)

    def predicates(self, _: Place, values: list[Objects]) -> list[Objects]:
        """`predicate object; predicate object`."""
        return values

    def verb_objects(self, place: Place, values: list[Any]) -> Objects:
        """`predicate object, object`, each with its reifiers and annotations."""
        verb, *rest = values
        objects: list[Object] = []
        for value in rest:
            if not isinstance(value, Reifier | Annotation):
                objects.append((value, []))
                continue
            if not isinstance(verb, Constant | Variable):
                message = "a reifier or annotation is of a triple, and this is a property path"
                hint = "write a triple of one predicate, and annotate that"
                raise self._refusal(message, place, hint)
            objects[-1][1].append(value)
        return verb, objects

    def reifier(self, place: Place, values: list[Node]) -> Reifier:
        """`~ node` or `~`."""
        return Reifier(values[0] if values else self._blank_node(f"~{place[0]}", place))

    def annotation(self, place: Place, values: list[list[Objects]]) -> Annotation:
        """`{| predicate object |}`."""
        return Annotation(self._blank_node(f"{{|{place[0]}", place), values[0])

    def reified(self, place: Place, values: list[Any]) -> Composite:
        """`<< subject predicate object ~ node >>`: the node, which reifies the triple."""
        subject, predicate, value, *reifiers = values
        node = reifiers[0].node if reifiers else self._blank_node(f"<<{place[0]}", place)
        parts: list[TriplePattern] = []
        triple = (self._node(subject, parts), predicate, self._node(value, parts))
        return Composite(node, (self._reifies(node, triple, self._span(place)), *parts))

    def _reifies(self, node: Node, triple: tuple[Any, ...], span: Span) -> TriplePattern:
        return TriplePattern(node, Constant(_REIFIES, span), self._triple_term(triple, span))

    def collection(self, place: Place, values: list[Node | Composite]) -> Composite:
        """`(1 2)`, as nested lists of RDF."""
        span = self._span(place)
        first, rest, nil = (Constant(term, span) for term in (_FIRST, _REST, _NIL))
        found: list[TriplePattern] = []
        parts: list[TriplePattern] = []
        head = node = self._blank_node(f"({place[0]}", place)
        for index, value in enumerate(values):
            if index:
                after = self._blank_node(f"({place[0]}.{index}", place)
                found.append(TriplePattern(node, rest, after))
                node = after
            found.append(TriplePattern(node, first, self._node(value, parts)))
        found.append(TriplePattern(node, rest, nil))
        return Composite(head, (*found, *parts))

    def blank_list(self, place: Place, values: list[list[Objects]]) -> Composite:
        """`[ predicate object ]`."""
        node = self._blank_node(f"[{place[0]}", place)
        found: list[TriplePattern] = []
        self._describe(node, values[0], found)
        return Composite(node, tuple(found))

    def _describe(
        self, subject: Node, predicates: list[Objects], found: list[TriplePattern]
    ) -> None:
        for verb, objects in predicates:
            for value, marks in objects:
                parts: list[TriplePattern] = []
                node = self._node(value, parts)
                found += [TriplePattern(subject, verb, node), *parts]
                self._annotate((subject, verb, node), marks, found)

    def _annotate(
        self,
        triple: tuple[Any, ...],
        marks: list[Reifier | Annotation],
        found: list[TriplePattern],
    ) -> None:
        """Add the reifiers of a triple, and what annotations say of them."""
        reifier: Node | None = None
        for mark in marks:
            if isinstance(mark, Reifier) or reifier is None:
                reifier = mark.node
                found.append(self._reifies(reifier, triple, reifier.span))
            if isinstance(mark, Annotation):
                self._describe(reifier, mark.predicates, found)
                reifier = None

    def _node(self, value: object, triples: list[TriplePattern]) -> Node:
        """The term of a node, whose triples are added."""
        if isinstance(value, Composite):
            triples.extend(value.triples)
            return value.node
        assert isinstance(value, Constant | Variable | TripleTerm)  # noqa: S101 - by the grammar
        return value

    def alternative(self, _: Place, values: list[Path]) -> Path:
        """`path | path`."""
        return Alternative(tuple(values))

    def sequence(self, _: Place, values: list[Any]) -> Path:
        """`path / path`."""
        return Sequence(tuple(each for each in values if not isinstance(each, str)))

    def inverse(self, _: Place, values: list[Path]) -> Path:
        """`^path`."""
        return Inverse(values[0])

    def repeated(self, _: Place, values: list[Any]) -> Path:
        """`path*`, `path+` or `path?`."""
        path, modifier = values
        return Repeat(path, int(modifier == "+"), many=modifier != "?")

    def nested_path(self, _: Place, values: list[Path]) -> Path:
        """`( path )`."""
        return values[0]

    def excluded_inverse(self, _: Place, values: list[Constant]) -> Inverse:
        """`^predicate` in a negated property set."""
        return Inverse(values[0])

    def negated(self, _: Place, values: list[Constant | Inverse]) -> Path:
        """`!(predicate | ^predicate)`: by section 18.2.2.3 two sets, one for each direction."""
        forward = tuple(each for each in values if isinstance(each, Constant))
        backward = tuple(
            each.path
            for each in values
            if isinstance(each, Inverse) and isinstance(each.path, Constant)
        )
        paths: list[Path] = [Negated(forward)] if forward or not backward else []
        paths += [Inverse(Negated(backward))] if backward else []
        return paths[0] if len(paths) == 1 else Alternative(tuple(paths))

    def _plain(self, triples: Triples, what: str) -> tuple[TriplePattern, ...]:
        """The triples of a template or of data, which have no paths."""
        for triple in triples.triples:
            if not isinstance(triple.predicate, Constant | Variable):
                message = f"{what} cannot have a property path"
                raise self._refusal(message, triples.place, "write one triple for each step")
        return triples.triples
