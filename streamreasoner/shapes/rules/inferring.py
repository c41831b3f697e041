"""Rules of shapes to rules. Invariant: a triple is derived for a target that meets all conditions.

For a rule R there is a predicate `R__focus(x)` where its focus nodes are read more than once.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import NOWHERE, TRIPLE, Atom, Call, Constant, Negation, Rule, Variable
from streamreasoner.lang.traversal import substituted
from streamreasoner.rdf.term_kind import is_iri, is_resource
from streamreasoner.shapes.inference import (
    Conforming,
    Intersection,
    PathValues,
    Term,
    This,
    Triple,
    Union,
    Without,
)
from streamreasoner.shapes.rules.conformance import INSTANCE, Conformance, combined, same
from streamreasoner.shapes.rules.guards import without_guards
from streamreasoner.shapes.rules.values import repeats, value_rules
from streamreasoner.shapes.shape import can_fail
from streamreasoner.sparql.prebound import derive_triples
from streamreasoner.sparql.rules.dataset import Dataset
from streamreasoner.sparql.rules.paths import Paths
from streamreasoner.sparql.rules.rulebook import Rulebook, atom

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    from streamreasoner.lang.ast import Literal
    from streamreasoner.shapes.inference import NodeExpression, ShapeRule
    from streamreasoner.shapes.shape import Shape
    from streamreasoner.sparql.algebra import Path

    Node: TypeAlias = Variable | Constant
    Found: TypeAlias = list[tuple[tuple[Literal, ...], Node]]

_THIS = Variable("this", NOWHERE)


class Inferring:
    """Writes the rules of one rule of a shape.

    Args:
        rule: The rule.
        shapes: All shapes, by their nodes.
        focus: Binds `this` to the targets of its shape; None for a rule of no shape.

    Attributes:
        tested: The shapes that nodes are tested with.
        classes: The classes whose instances are read.
    """

    def __init__(self, rule: ShapeRule, shapes: Mapping[str, Shape], focus: Atom | None) -> None:
        self.tested: dict[str, None] = {}
        self._rule = rule
        self._shapes = shapes
        self._focus = focus
        self._book = Rulebook(rule.name, ("this",))
        self._paths = Paths(self._book, Dataset(None, self._book))
        self._conformance = Conformance(shapes, self._book)

    @property
    def classes(self) -> dict[str, None]:
        """The classes whose instances are read."""
        return self._conformance.classes

    def rules(self) -> list[Rule]:
        """The rules.

        Raises:
            UnsupportedError: A query has no rules.
        """
        if isinstance(self._rule.derived, Triple):
            self._derive(self._rule.derived)
            rules = self._book.rules
        else:
            given = None if self._focus is None else (self._named_focus(), "this")
            made = derive_triples(self._rule.derived, self._rule.name, given)
            rules = [*self._book.rules, *without_guards(made)]
        return [
            replace(each, name=self._rule.title) if each.head.predicate == TRIPLE else each
            for each in rules
        ]

    def _named_focus(self) -> str:
        """The predicate of the nodes that meet the conditions."""
        assert self._focus is not None  # noqa: S101 - for the type
        if not self._rule.conditions and self._focus.arity == 1:
            return self._focus.predicate
        name = f"{self._rule.name}__focus"
        for way in self._focused():
            self._book.derive(name, (_THIS,), way)
        return name

    def _focused(self) -> list[tuple[Literal, ...]]:
        """Bodies that bind `this` to the nodes that meet the conditions."""
        assert self._focus is not None  # noqa: S101 - for the type
        ways: list[tuple[Literal, ...]] = [(self._focus,)]
        for node in self._rule.conditions:
            more = self._conforming(node, _THIS, (self._focus,))
            together = combined([ways, more])
            if together is None:
                together = [(*one, *other) for one, other in product(ways, more)]
            ways = together
        return ways

    def _conforming(
        self, node: str, term: Node, before: tuple[Literal, ...]
    ) -> list[tuple[Literal, ...]]:
        """Bodies that match if a term conforms to a shape.

        Args:
            node: The shape.
            term: The term.
            before: What binds it.
        """
        ways = self._conformance.ways(node, term)
        if ways is not None:
            return ways
        shape = self._shapes[node]
        if not can_fail(shape, self._shapes):
            return [()]
        self.tested[node] = None
        self._book.derive(f"{shape.name}__tested", (term,), before)
        fails = Atom(f"{shape.name}__fails", (term,), NOWHERE)
        return [(Negation(fails, NOWHERE),)]

    def _derive(self, triple: Triple) -> None:
        if self._focus is None:
            return
        for focused in self._focused():
            ends = [self._nodes(each, focused) for each in triple.parts]
            for found in product(*ends):
                subject, predicate, value = (node for _, node in found)
                body = (*focused, *(literal for literals, _ in found for literal in literals))
                tests = [*_tests(subject, predicate, body)]
                if tests and tests[0] is None:
                    continue
                literals = (each for each in (*body, *tests) if each is not None)
                head = Atom(TRIPLE, (subject, predicate, value), NOWHERE)
                self._book.add((head,), dict.fromkeys(literals))

    def _nodes(self, expression: NodeExpression, focused: tuple[Literal, ...]) -> Found:  # noqa: PLR0911 - one for each kind of expression
        """The nodes of an expression: what holds if a term is one of them, and the term."""
        match expression:
            case This():
                return [((), _THIS)]
            case Term(term):
                return [((), Constant(term, NOWHERE))]
            case Union(parts):
                return [each for part in parts for each in self._nodes(part, focused)]
            case Intersection(parts):
                first, *others = (self._nodes(part, focused) for part in parts)
                for other in others:
                    first = [both for one, two in product(first, other) for both in _both(one, two)]
                return first
            case PathValues(path, nodes):
                inner = self._nodes(nodes, focused)
                return [
                    found
                    for literals, start in inner
                    for found in self._followed(path, literals, start, focused)
                ]
            case Conforming(shape, nodes):
                return [
                    ((*literals, *way), term)
                    for literals, term in self._nodes(nodes, focused)
                    for way in self._conforming(shape, term, (*focused, *literals))
                ]
            case Without(nodes, removed):
                name = self._book.predicate("removed")
                for literals, node in self._nodes(removed, focused):
                    self._book.derive(name, (_THIS, node), (*focused, *literals))
                return [
                    ((*literals, Negation(Atom(name, (_THIS, node), NOWHERE), NOWHERE)), node)
                    for literals, node in self._nodes(nodes, focused)
                ]

    def _followed(
        self, path: Path, before: tuple[Literal, ...], start: Node, focused: tuple[Literal, ...]
    ) -> Found:
        """What a path leads to from a term."""
        end = Variable(self._book.fresh("value"), NOWHERE)
        if not repeats(path):
            ways = self._paths.ways(start, path, end, None)
            return [((*before, *way), end) for way in ways]
        name = self._book.predicate("path")
        self._book.derive(f"{name}__start", (start,), (*focused, *before))
        for rule in value_rules(name, f"{name}__start", path):
            self._book.add(rule.heads, rule.body)
        return [((*before, Atom(f"{name}__value", (start, end), NOWHERE)), end)]


def _both(
    one: tuple[tuple[Literal, ...], Node], two: tuple[tuple[Literal, ...], Node]
) -> Iterator[tuple[tuple[Literal, ...], Node]]:
    """A node of two expressions: the same term."""
    (left, first), (right, second) = one, two
    if isinstance(second, Variable) and second != _THIS:
        yield (*left, *(substituted(each, {second.name: first}) for each in right)), first
    elif isinstance(first, Variable) and first != _THIS:
        yield (*(substituted(each, {first.name: second}) for each in left), *right), second
    elif isinstance(first, Variable) or isinstance(second, Variable):
        equal = () if first == second else (same(first, second),)
        yield (*left, *right, *equal), first
    elif first.term == second.term:
        yield (*left, *right), first


def _tests(subject: Node, predicate: Node, body: tuple[Literal, ...]) -> Iterator[Literal | None]:
    """Tests of what may not be a subject or predicate; None if it is none."""
    if isinstance(subject, Constant):
        if not is_resource(subject.term):
            yield None
    elif not _stands(body, subject, 0):
        for kind in ("is_literal", "is_triple"):
            yield Negation(Call(kind, (subject,), NOWHERE), NOWHERE)
    if isinstance(predicate, Constant):
        if not is_iri(predicate.term):
            yield None
    elif not _stands(body, predicate, 1):
        yield Call("is_iri", (predicate,), NOWHERE)


def _stands(body: tuple[Literal, ...], variable: Variable, position: int) -> bool:
    return any(
        isinstance(literal, Atom)
        and literal.predicate == (TRIPLE if position else literal.predicate)
        and (literal.predicate in {TRIPLE, INSTANCE})
        and literal.arguments[position] == variable
        for literal in body
    )


def target_atom(kind: str, term: str) -> Atom | None:
    """An atom that binds `this` to the nodes of a target; None for a single node."""
    constant = Constant(term, NOWHERE)
    other = Variable("other", NOWHERE)
    match kind:
        case "targetClass":
            return Atom(INSTANCE, (_THIS, constant), NOWHERE)
        case "targetSubjectsOf":
            return Atom(TRIPLE, (_THIS, constant, other), NOWHERE)
        case "targetObjectsOf":
            return Atom(TRIPLE, (other, constant, _THIS), NOWHERE)
        case _:
            return None


def named_target(predicate: str) -> Atom:
    """An atom that binds `this` to the facts of a predicate."""
    return atom(predicate, ("this",))
