"""Facts of shapes as validation results. Invariant: there is a result for each way to a violation.

A property shape is checked for the value nodes of each shape that has it. One that is reached in
several ways has a result for each of them (section 3.4.2), although it has one violation.

Source: Shapes Constraint Language (SHACL), W3C Recommendation of 20 July 2017, section 3.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import NOWHERE, Constant
from streamreasoner.rdf.terms import parse, to_ntriples
from streamreasoner.rdf.vocabulary import UNBOUND
from streamreasoner.shapes.rules.shape_rules import FOCUS, MESSAGE, PATH, VALUE, WITHOUT_VALUE
from streamreasoner.shapes.rules.texts import Texts
from streamreasoner.shapes.shape import can_fail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from streamreasoner.program.constraints import Constraint
    from streamreasoner.shapes.compile import CompiledShapes
    from streamreasoner.shapes.rules.shape_rules import Violated
    from streamreasoner.shapes.shape import Shape
    from streamreasoner.sparql.algebra import Path

    Facts: TypeAlias = Callable[[Iterable[str]], Callable[[str], Iterable[tuple[str, ...]]]]


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """A validation result, with canonical terms.

    Attributes:
        focus: The focus node.
        path: The path, None without one.
        value: The value node, None without one.
        shape: The shape, an IRI or a blank node.
        component: The IRI of the constraint component.
        constraint: The node of a constraint in SPARQL, None for others.
        severity: The IRI of the severity.
        messages: Literals.
        predicate: The predicate of the violation.
    """

    focus: str
    path: Path | None
    value: str | None
    shape: str
    component: str
    constraint: str | None
    severity: str
    messages: tuple[str, ...]
    predicate: str


def validation_results(
    compiled: CompiledShapes,
    constraints: Mapping[str, Constraint],
    facts: Facts,
) -> Iterator[ValidationResult]:
    """The results, in the order of the shapes.

    Args:
        compiled: The shapes.
        constraints: The constraints of the program that they are part of.
        facts: The facts of predicates, as canonical terms.
    """
    ways = _Ways(compiled.shapes, facts)
    rows = facts(compiled.violated)
    for name, violated in compiled.violated.items():
        for row in rows(name):
            result = _result(compiled, constraints[name], violated, row)
            for _ in range(ways.to(violated.shape.node, result.focus)):
                yield result


def _result(
    compiled: CompiledShapes, constraint: Constraint, violated: Violated, row: Sequence[str]
) -> ValidationResult:
    shape, component = violated.shape, violated.component
    roles = [role for role, _ in violated.columns]
    bound = {role: term for role, term in zip(roles, row, strict=True) if term != UNBOUND}
    value = bound.get(VALUE)
    if VALUE not in roles and shape.path is None and component.name not in WITHOUT_VALUE:
        value = bound[FOCUS]
    path = shape.path
    if PATH in bound and violated.columns[roles.index(PATH)][1].startswith("?"):
        path = Constant(bound[PATH], NOWHERE)
    texts = Texts(shape, compiled.shapes, constraint.prefixes)
    names = [each[1:] for each in violated.variables]
    literals = texts.literals(component)
    messages: tuple[str, ...]
    if MESSAGE in bound:
        messages = (bound[MESSAGE],)
    elif literals:
        messages = tuple(
            _filled(literal, texts.filled(parse(literal).value, component, names), constraint, row)
            for literal in literals
        )
    else:
        messages = (to_ntriples(constraint.message(row)),)
    return ValidationResult(
        bound[FOCUS],
        path,
        value,
        shape.node,
        component.iri,
        component.source,
        shape.severity,
        messages,
        violated.name,
    )


def _filled(literal: str, template: str, constraint: Constraint, row: Sequence[str]) -> str:
    """A message with terms in place of placeholders, in its language."""
    text = to_ntriples(constraint.filled(template, row))
    language = parse(literal).language
    return text if language is None else f"{text}@{language}"


class _Ways:
    """Counts the ways in which a node is a focus node of a shape."""

    def __init__(self, shapes: Mapping[str, Shape], facts: Facts) -> None:
        self._shapes = shapes
        self._parents: dict[str, list[Shape]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._origins: dict[str, dict[str, list[str]]] = {}
        self._targets: dict[str, set[str]] = {}
        reached = [
            shape for shape in shapes.values() if shape.is_target and can_fail(shape, shapes)
        ]
        for shape in reached:
            for node in shape.properties:
                if can_fail(shapes[node], shapes):
                    self._parents.setdefault(node, []).append(shape)
                    if shapes[node] not in reached:
                        reached.append(shapes[node])
        self._facts = facts([*dict.fromkeys(self._predicates())])

    def _predicates(self) -> Iterator[str]:
        """The predicates that tell the ways."""
        for node, parents in self._parents.items():
            if self._shapes[node].is_target:
                yield f"{self._shapes[node].name}__target"
            for parent in parents:
                if parent.path is not None:
                    yield from (f"{parent.name}__focus", f"{parent.name}__value")

    def to(self, node: str, focus: str) -> int:
        """How often a node is a focus node of a shape."""
        if node not in self._parents:
            return 1
        key = node, focus
        if key not in self._counts:
            shape = self._shapes[node]
            count = int(shape.is_target and focus in self._targeted(shape))
            for parent in self._parents[node]:
                for origin in self._origins_of(parent, focus):
                    count += self.to(parent.node, origin)
            self._counts[key] = count
        return self._counts[key]

    def _targeted(self, shape: Shape) -> set[str]:
        if shape.node not in self._targets:
            self._targets[shape.node] = {node for (node,) in self._facts(f"{shape.name}__target")}
        return self._targets[shape.node]

    def _origins_of(self, parent: Shape, value: str) -> list[str]:
        """The focus nodes of a shape that a node is a value node of."""
        if parent.path is None:
            return [value]
        if parent.node not in self._origins:
            focus = {node for (node,) in self._facts(f"{parent.name}__focus")}
            found: dict[str, list[str]] = {}
            for origin, each in self._facts(f"{parent.name}__value"):
                if origin in focus:
                    found.setdefault(each, []).append(origin)
            self._origins[parent.node] = found
        return self._origins[parent.node].get(value, [])
