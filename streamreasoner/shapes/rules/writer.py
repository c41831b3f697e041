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

from streamreasoner.lang.ast import TRIPLE, Rule
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.rdf.vocabulary import RDFS_SUB_CLASS_OF
from streamreasoner.shapes.rules.inferring import Inferring, named_target, target_atom
from streamreasoner.shapes.rules.shape_rules import (
    Mode,
    ShapeWriter,
    target_predicate,
    target_rules,
)
from streamreasoner.shapes.rules.shapes_graph import facts_of_shapes, reading_shapes, reads_shapes
from streamreasoner.shapes.rules.texts import Texts
from streamreasoner.shapes.shape import CLASS, can_fail
from streamreasoner.sparql.rules.rulebook import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamreasoner.lang.ast import Atom, Span
    from streamreasoner.shapes.graph import Graph
    from streamreasoner.shapes.inference import ShapeRule
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
        rules: The rules of no shape.
        graph: What they were read from.
        prefixes: Prefix name to IRI, for texts of violations.

    Attributes:
        violated: The constraints whose violations are derived.
        inferred: The rules of shapes, by the rules that derive their triples.
        diagnostics: Queries that have no rules.
    """

    def __init__(
        self,
        shapes: Mapping[str, Shape],
        rules: Iterable[ShapeRule],
        graph: Graph,
        prefixes: Mapping[str, str],
    ) -> None:
        self.violated: dict[str, Violated] = {}
        self.inferred: dict[Rule, ShapeRule] = {}
        self.diagnostics: list[Diagnostic] = []
        self._shapes = shapes
        self._graph = graph
        self._prefixes = prefixes
        self._reported: dict[str, None] = {}
        self._tested: dict[str, None] = {}
        self._classes: dict[str, Span] = {}
        for node, shape in shapes.items():
            if shape.is_target and can_fail(shape, shapes):
                self._visit(node, self._reported)
        self._nested = {node for each in self._reported for node in shapes[each].properties}
        self._inferring = [*self._inferences(rules)]

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
        yield from self._inferring
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
        try:
            yield from ((each, shape.span) for each in writer.nodes())
        except UnsupportedError as error:
            self._refuse(error, shape.span)
        for node in shape.properties:
            child = self._shapes[node]
            if can_fail(child, self._shapes):
                yield from ((each, child.span) for each in writer.nested(child))
        for component in shape.components:
            try:
                yield from ((each, component.span) for each in writer.constraint(component))
            except UnsupportedError as error:
                self._refuse(error, component.span)

    def _inferences(self, rules: Iterable[ShapeRule]) -> Iterator[tuple[Statement, Span]]:
        """The rules of the rules of shapes, and of no shape."""
        for node, shape in self._shapes.items():
            if not shape.rules or not shape.is_target:
                continue
            focus = None
            if len(shape.targets) == 1 and not shape.selected:
                ((kind, term),) = shape.targets
                focus = target_atom(kind, term)
            if focus is None:
                head = target_predicate(shape, nested=node in self._nested)
                if node not in self._reported:
                    yield from ((each, shape.span) for each in target_rules(shape, head))
                focus = named_target(head)
            self._know(shape)
            for rule in shape.rules:
                yield from self._inference(rule, focus)
        for rule in rules:
            yield from self._inference(rule, None)

    def _inference(self, rule: ShapeRule, focus: Atom | None) -> Iterator[tuple[Statement, Span]]:
        inferring = Inferring(rule, self._shapes, focus)
        try:
            for each in inferring.rules():
                if each.head.predicate == TRIPLE:
                    self.inferred.setdefault(each, rule)
                yield each, rule.span
        except UnsupportedError as error:
            self._refuse(error, rule.span)
        for tested in inferring.tested:
            self._visit(tested, self._tested)
        for name in inferring.classes:
            self._classes.setdefault(name, rule.span)

    def _refuse(self, error: UnsupportedError, span: Span) -> None:
        self.diagnostics.append(Diagnostic("SR223", str(error), span, error.hint))

    def _know(self, shape: Shape) -> None:
        """Remember the classes whose instances are targets of a shape."""
        for kind, term in shape.targets:
            if kind == CLASS:
                self._classes.setdefault(term, shape.span)

    def _class_rules(self) -> Iterator[tuple[Statement, Span]]:
        """The instances of the classes that are named, for all shapes."""
        classes = self._classes
        for node in dict.fromkeys([*self._reported, *self._tested]):
            shape = self._shapes[node]
            self._know(shape)
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
