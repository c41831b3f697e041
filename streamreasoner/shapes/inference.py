"""Rules of shapes as values. Invariant: a rule has only what the rule language can express.

Sources: SHACL Advanced Features, W3C Working Group Note of 8 June 2017, sections 6 and 8; SHACL 1.2
Inference Rules and SHACL 1.2 Node Expressions, W3C Working Drafts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from decimal import Decimal

    from streamreasoner.lang.ast import Span
    from streamreasoner.sparql.algebra import Path, Query


@dataclass(frozen=True, slots=True)
class This:
    """The focus node."""


@dataclass(frozen=True, slots=True)
class Term:
    """A constant."""

    term: str


@dataclass(frozen=True, slots=True)
class PathValues:
    """What a path leads to from some nodes."""

    path: Path
    nodes: NodeExpression


@dataclass(frozen=True, slots=True)
class Union:
    """The nodes of any of some expressions."""

    parts: tuple[NodeExpression, ...]


@dataclass(frozen=True, slots=True)
class Intersection:
    """The nodes of all of some expressions."""

    parts: tuple[NodeExpression, ...]


@dataclass(frozen=True, slots=True)
class Conforming:
    """The nodes that conform to a shape."""

    shape: str
    nodes: NodeExpression


@dataclass(frozen=True, slots=True)
class Without:
    """The nodes of one expression that are not among those of another."""

    nodes: NodeExpression
    removed: NodeExpression


NodeExpression: TypeAlias = This | Term | PathValues | Union | Intersection | Conforming | Without


@dataclass(frozen=True, slots=True)
class Triple:
    """What a triple rule derives: a triple for each combination of nodes."""

    subject: NodeExpression
    predicate: NodeExpression
    object: NodeExpression

    @property
    def parts(self) -> tuple[NodeExpression, ...]:
        """The three, in order."""
        return self.subject, self.predicate, self.object


@dataclass(frozen=True, slots=True)
class ShapeRule:
    """A rule of a shape, or of no shape.

    Attributes:
        node: The rule, an IRI or a blank node.
        name: Its name, which its predicates begin with.
        title: Its name in explanations.
        derived: What it derives.
        conditions: The nodes of the shapes that focus nodes conform to.
        layer: Its layer.
        order: Its order within the layer: that of its shape, then its own.
        once: Whether it comes before all others of its layer.
        span: Where it stands.
    """

    node: str
    name: str
    title: str
    derived: Triple | Query
    conditions: tuple[str, ...]
    layer: Decimal
    order: tuple[Decimal, Decimal]
    once: bool
    span: Span

    @property
    def references(self) -> tuple[str, ...]:
        """The nodes of the shapes that nodes are tested with."""
        if not isinstance(self.derived, Triple):
            return self.conditions
        parts = [*self.derived.parts]
        shapes = dict.fromkeys(self.conditions)
        for part in parts:
            match part:
                case Union(inner) | Intersection(inner):
                    parts += inner
                case PathValues(_, nodes):
                    parts.append(nodes)
                case Without(nodes, removed):
                    parts += (nodes, removed)
                case Conforming(shape, nodes):
                    shapes[shape] = None
                    parts.append(nodes)
                case _:
                    pass
        return tuple(shapes)
