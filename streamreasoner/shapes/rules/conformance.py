"""Conformance as bodies of rules. Invariant: a node conforms to a shape if a body has a match.

Only what data adds to can be said so: that there are values, not what all values are. Rules whose
conditions are of this kind may depend on each other, and need no node to be tested before.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.lang.ast import NOWHERE, Atom, Call, Constant, Negation, Variable
from streamreasoner.lang.traversal import substituted
from streamreasoner.rdf.term_kind import is_blank_node
from streamreasoner.shapes.rules.values import repeats
from streamreasoner.shapes.shape import can_fail
from streamreasoner.sparql.rules.dataset import Dataset
from streamreasoner.sparql.rules.paths import Paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from streamreasoner.lang.ast import Literal
    from streamreasoner.shapes.shape import Component, Shape
    from streamreasoner.sparql.algebra import Path
    from streamreasoner.sparql.rules.rulebook import Rulebook

Ways: TypeAlias = "list[tuple[Literal, ...]]"
"""Alternative conjunctions."""

INSTANCE = "shacl_instance"
"""The predicate of the instances of the classes that shapes name."""

_MOST = 32
_NOT = "not "
_KINDS = {
    "IRI": ("is_iri",),
    "BlankNode": ("is_blank",),
    "Literal": ("is_literal",),
    "BlankNodeOrIRI": ("not is_literal", "not is_triple"),
    "BlankNodeOrLiteral": ("not is_iri", "not is_triple"),
    "IRIOrLiteral": ("not is_blank", "not is_triple"),
}


class Conformance:
    """Writes what a node has to have to conform to a shape.

    Args:
        shapes: All shapes, by their nodes.
        book: Names variables.

    Attributes:
        classes: The classes that are tested.
    """

    def __init__(self, shapes: Mapping[str, Shape], book: Rulebook) -> None:
        self.classes: dict[str, None] = {}
        self._shapes = shapes
        self._book = book
        self._paths = Paths(book, Dataset(None, book))

    def ways(self, node: str, term: Variable | Constant) -> Ways | None:
        """The bodies that match if a term conforms to a shape; None if it cannot be said so."""
        shape = self._shapes[node]
        if not can_fail(shape, self._shapes):
            return [()]
        if shape.path is not None:
            return self._of_path(shape, shape.path, term)
        parts = [self._of_node(each, term) for each in shape.components]
        parts += (self.ways(each, term) for each in shape.properties)
        return combined(parts)

    def _of_node(self, component: Component, term: Variable | Constant) -> Ways | None:  # noqa: PLR0911 - one for each kind
        match component.name:
            case "hasValue":
                (value,) = component.values
                return [] if is_blank_node(value) else [(same(term, Constant(value, NOWHERE)),)]
            case "class":
                (value,) = component.values
                self.classes[value] = None
                return [(Atom(INSTANCE, (term, Constant(value, NOWHERE)), NOWHERE),)]
            case "nodeKind":
                return [tuple(_test(name, term) for name in _KINDS[component.values[0]])]
            case "node" | "and":
                return combined([self.ways(each, term) for each in component.values])
            case "or":
                ways: Ways = []
                for each in component.values:
                    more = self.ways(each, term)
                    if more is None:
                        return None
                    ways += more
                return ways
            case _:
                return None

    def _of_path(self, shape: Shape, path: Path, term: Variable | Constant) -> Ways | None:
        if shape.properties or repeats(path):
            return None
        return combined([self._of_values(each, path, term) for each in shape.components])

    def _of_values(
        self, component: Component, path: Path, term: Variable | Constant
    ) -> Ways | None:
        """What says that there is a value."""
        match component.name, component.values:
            case "hasValue", (value,):
                end = Constant(value, NOWHERE)
                return [] if is_blank_node(value) else self._paths.ways(term, path, end, None)
            case "minCount", ("1",):
                return self._paths.ways(term, path, self._fresh(), None)
            case "qualifiedMinCount", ("1", counted):
                counting = self._fresh()
                inner = self.ways(counted, counting)
                ways = self._paths.ways(term, path, counting, None)
                found = combined([ways, inner])
                return None if found is None else [_known(each, counting) for each in found]
            case _:
                return None

    def _fresh(self) -> Variable:
        return Variable(self._book.fresh("value"), NOWHERE)


def _test(name: str, term: Variable | Constant) -> Call | Negation:
    test = Call(name.removeprefix(_NOT), (term,), NOWHERE)
    return Negation(test, NOWHERE) if name.startswith(_NOT) else test


def combined(parts: Iterable[Ways | None]) -> Ways | None:
    """All of some conditions; None if one cannot be said, or there are too many ways."""
    ways: Ways = [()]
    for part in parts:
        if part is None or len(ways) * len(part) > _MOST:
            return None
        ways = [tuple(dict.fromkeys((*one, *other))) for one, other in product(ways, part)]
    return ways


def same(term: Variable | Constant, other: Variable | Constant) -> Literal:
    """A test whether two terms are the same."""
    return Call("same_term", (term, other), NOWHERE)


def _known(literals: Sequence[Literal], variable: Variable) -> tuple[Literal, ...]:
    """The literals with a constant in place of a variable that has to be the same."""
    for literal in literals:
        match literal:
            case Call("same_term", (Variable(name), Constant() as term)) if name == variable.name:
                rest = (each for each in literals if each is not literal)
                return tuple(substituted(each, {name: term}) for each in rest)
            case _:
                pass
    return tuple(literals)
