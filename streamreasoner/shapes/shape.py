"""Shapes as values. Invariant: a shape has only what rules can express."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Span

CLASS, NODE, SUBJECTS, OBJECTS = "targetClass", "targetNode", "targetSubjectsOf", "targetObjectsOf"
"""Kinds of targets, named as in SHACL."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a path: from subject to object, or back if it is inverse."""

    predicate: str
    inverse: bool = False


@dataclass(frozen=True, slots=True)
class Component:
    """A constraint of a shape.

    Attributes:
        name: Its name, that of its first parameter in SHACL.
        values: Canonical terms of the parameter; of `pattern` also the flags; of `closed` the
            properties that are allowed; of `node`, `and`, `or` and `not` the nodes of shapes.
        span: Where it stands.
    """

    name: str
    values: tuple[str, ...]
    span: Span


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
        message: The text of its violations, None for those of its components.
        severity: The IRI of its severity.
        span: Where it begins.
    """

    node: str
    name: str
    path: tuple[Step, ...] | None
    targets: tuple[tuple[str, str], ...]
    components: tuple[Component, ...]
    properties: tuple[str, ...]
    message: str | None
    severity: str
    span: Span

    @property
    def references(self) -> tuple[str, ...]:
        """The nodes of the shapes that values are tested with."""
        return tuple(
            node
            for component in self.components
            if component.name in {"node", "and", "or", "not"}
            for node in component.values
        )
