"""Shapes as values. Invariant: a shape has only what rules can express."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.lang.ast import Span
    from streamreasoner.shapes.inference import ShapeRule
    from streamreasoner.sparql.algebra import Path, Query

CLASS, NODE, SUBJECTS, OBJECTS = "targetClass", "targetNode", "targetSubjectsOf", "targetObjectsOf"
"""Kinds of targets, named as in SHACL."""

REFERRING = frozenset({"node", "not", "and", "or", "xone"})
"""Components whose values are shapes."""

QUALIFIED = frozenset({"qualifiedMinCount", "qualifiedMaxCount"})
"""Components whose values are a number, a shape, and the shapes that values may not conform to."""


@dataclass(frozen=True, slots=True)
class ConstraintQuery:
    """A query that finds what is wrong, or asks whether a value is right.

    Attributes:
        query: The query.
        terms: Values of its variables, other than those of a focus node or value.
    """

    query: Query
    terms: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Component:
    """A constraint of a shape.

    Attributes:
        name: Its name in those of violations: its first parameter in SHACL, or its own.
        values: Canonical terms of the parameter; of `pattern` also the one with its flags; of
            `closed` the properties that are allowed; see also `REFERRING` and `QUALIFIED`.
        span: Where it stands.
        iri: The IRI of its constraint component.
        messages: The texts of its violations, canonical literals; without any those of the shape.
        source: The node of a constraint in SPARQL.
        query: The query of a constraint in SPARQL.
    """

    name: str
    values: tuple[str, ...]
    span: Span
    iri: str
    messages: tuple[str, ...] = ()
    source: str | None = None
    query: ConstraintQuery | None = None

    @property
    def references(self) -> tuple[str, ...]:
        """The nodes of the shapes that values are tested with."""
        if self.name in REFERRING:
            return self.values
        return self.values[1:] if self.name in QUALIFIED else ()


@dataclass(frozen=True, slots=True)
class Shape:
    """A node shape or property shape.

    Attributes:
        node: The shape, an IRI or a blank node.
        name: Its name, which its predicates begin with.
        path: The path of a property shape, None for a node shape.
        targets: Kind and term of each target.
        components: Its constraints.
        properties: The nodes of its property shapes.
        messages: The texts of its violations, canonical literals; without any those of components.
        severity: The IRI of its severity.
        span: Where it begins.
        rules: What it infers of its targets.
        selected: The queries whose answers are targets, too.
    """

    node: str
    name: str
    path: Path | None
    targets: tuple[tuple[str, str], ...]
    components: tuple[Component, ...]
    properties: tuple[str, ...]
    messages: tuple[str, ...]
    severity: str
    span: Span
    rules: tuple[ShapeRule, ...] = ()
    selected: tuple[Query, ...] = ()

    @property
    def is_target(self) -> bool:
        """Whether it has targets."""
        return bool(self.targets or self.selected)

    @property
    def references(self) -> tuple[str, ...]:
        """The nodes of the shapes that values are tested with."""
        return tuple(node for component in self.components for node in component.references)


def can_fail(shape: Shape, shapes: Mapping[str, Shape]) -> bool:
    """Whether there may be a node that does not conform to a shape; shapes are not recursive."""
    return any(can_violate(each, shapes) for each in shape.components) or any(
        can_fail(shapes[node], shapes) for node in shape.properties
    )


def can_violate(component: Component, shapes: Mapping[str, Shape]) -> bool:
    """Whether a constraint may be violated, by the shapes that it refers to."""
    failing = (can_fail(shapes[node], shapes) for node in component.references)
    match component.name:
        case "node" | "and":
            return any(failing)
        case "or":
            return all(failing)
        case "qualifiedMaxCount":
            # A value that conforms to a sibling does not count.
            _, *siblings = failing
            return all(siblings)
        case _:
            return True
