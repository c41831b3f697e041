"""Shapes to rules. Invariant: a violation is a validation result of SHACL, and the reverse.

For a shape S there are predicates of the nodes that it is checked for, of their value nodes, and,
if other shapes refer to it, of the nodes that do not conform:

| predicate        | its facts                                                               |
|------------------|-------------------------------------------------------------------------|
| `S__target(x)`   | x is a target of S, if S is also checked for the sake of other shapes    |
| `S__focus(x)`    | x is a focus node, whose violations are reported                        |
| `S__tested(x)`   | whether x conforms to S decides about another shape                     |
| `S__checked(x)`  | one of both, if there are both                                          |
| `S__value(x, v)` | v is a value node of x, if S is a property shape                        |
| `S__fails(x)`    | x does not conform to S                                                 |
| `!S_component(…)`| a violation; see `Violated.columns`                                     |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.ast import Rule
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.rdf.vocabulary import RDFS_SUB_CLASS_OF
from streamreasoner.shapes.rules.shape_rules import Mode, ShapeWriter
from streamreasoner.shapes.rules.shapes_graph import facts_of_shapes, reading_shapes, reads_shapes
from streamreasoner.shapes.rules.texts import Texts
from streamreasoner.shapes.shape import CLASS, can_fail
from streamreasoner.sparql.rules.rulebook import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.lang.ast import Span
    from streamreasoner.shapes.graph import Graph
    from streamreasoner.shapes.rules.shape_rules import Statement, Violated
    from streamreasoner.shapes.shape import Shape

_CLASSES = (
    f"shacl_class(?c, ?class) :- shacl_class(?d, ?class), [?c, <{RDFS_SUB_CLASS_OF}>, ?d] .",
    "shacl_instance(?x, ?class) :- [?x, a, ?type], shacl_class(?type, ?class) .",
)


class RuleWriter:
    """Writes the rules of some shapes.

    Args:
        shapes: The shapes by their nodes.
        graph: What they were read from.
        prefixes: Prefix name to IRI, for texts of violations.

    Attributes:
        violated: The constraints whose violations are derived.
        diagnostics: Queries that have no rules.
    """

    def __init__(
        self, shapes: Mapping[str, Shape], graph: Graph, prefixes: Mapping[str, str]
    ) -> None:
        self.violated: dict[str, Violated] = {}
        self.diagnostics: list[Diagnostic] = []
        self._shapes = shapes
        self._graph = graph
        self._prefixes = prefixes
        self._reported: dict[str, None] = {}
        self._tested: dict[str, None] = {}
        for node, shape in shapes.items():
            if shape.targets and can_fail(shape, shapes):
                self._visit(node, self._reported)
        self._nested = {node for each in self._reported for node in shapes[each].properties}

    def statements(self) -> Iterator[tuple[Statement, Span]]:
        """The statements with their places, those of a shape after each other."""
        reading: Span | None = None
        for node in dict.fromkeys([*self._reported, *self._tested]):
            for statement, span in self._of_shape(self._shapes[node]):
                if isinstance(statement, Rule):
                    rule = reading_shapes(statement)
                    reading = reading or (span if reads_shapes(rule) else None)
                    yield rule, span
                else:
                    yield statement, span
        yield from self._class_rules()
        if reading is not None:
            yield from ((rule, reading) for rule in facts_of_shapes(self._graph))

    def _of_shape(self, shape: Shape) -> Iterator[tuple[Statement, Span]]:
        mode = Mode(
            reported=shape.node in self._reported,
            tested=shape.node in self._tested,
            nested=shape.node in self._nested,
        )
        texts = Texts(shape, self._shapes, self._prefixes)
        writer = ShapeWriter(shape, self._shapes, texts, mode, self.violated)
        yield from ((each, shape.span) for each in writer.nodes())
        for node in shape.properties:
            child = self._shapes[node]
            if can_fail(child, self._shapes):
                yield from ((each, child.span) for each in writer.nested(child))
        for component in shape.components:
            try:
                yield from ((each, component.span) for each in writer.constraint(component))
            except UnsupportedError as error:
                problem = Diagnostic("SR223", str(error), component.span, error.hint)
                self.diagnostics.append(problem)

    def _class_rules(self) -> Iterator[tuple[Statement, Span]]:
        """The instances of the classes that are named, for all shapes."""
        classes: dict[str, Span] = {}
        for node in dict.fromkeys([*self._reported, *self._tested]):
            shape = self._shapes[node]
            for kind, term in shape.targets:
                if kind == CLASS:
                    classes.setdefault(term, shape.span)
            for component in shape.components:
                if component.name == "class":
                    classes.setdefault(component.values[0], component.span)
        for term, span in classes.items():
            yield f"shacl_class({term}, {term}) .", span
        if classes:
            span = next(iter(classes.values()))
            yield from ((rule, span) for rule in _CLASSES)

    def _visit(self, node: str, mode: dict[str, None]) -> None:
        if node in mode:
            return
        mode[node] = None
        for child in self._shapes[node].properties:
            if can_fail(self._shapes[child], self._shapes):
                self._visit(child, mode)
        for other in self._shapes[node].references:
            if can_fail(self._shapes[other], self._shapes):
                self._visit(other, self._tested)
