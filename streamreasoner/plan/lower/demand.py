"""A rule driven by one fact of its head. Invariant: every literal is a step of its own.

    path(?x, ?z) :- path(?x, ?y), edge(?y, ?z)    becomes    Δpath(?x, ?z) ⋈ path(?x, ?y) ⋈ ...

The steps are in the order of the text, but a literal that reads later bindings waits for them.
Nothing is rewritten, so that each step can be shown as the literal that it stands for.

A computed argument is a column of its own, `$1.0` or `#head0`, which must equal the value. So is
`_` in a positive atom: each of its facts is a match.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.lang import ast
from streamreasoner.lang.ast import TRIPLE_PARTS
from streamreasoner.lang.binding import bindings, is_bound, is_known
from streamreasoner.lang.normal_form import operand
from streamreasoner.plan import algebra
from streamreasoner.plan.expressions import Extension
from streamreasoner.plan.lower.aggregation import reducing_positions
from streamreasoner.plan.lower.steps import condition
from streamreasoner.plan.lower.triple_patterns import TriplePatterns
from streamreasoner.plan.operands import Column, Operand, Pattern, Value
from streamreasoner.plan.program_plan import DeltaPlan

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

Part: TypeAlias = "ast.Literal | algebra.Equation"
"""A literal, or an expression that is assigned, or that an argument must equal."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The rows of a rule that derive a fact.

    Attributes:
        plan: The plan that the fact drives.
        parts: The parts of the rule, each with the last of its steps.
    """

    plan: DeltaPlan
    parts: tuple[tuple[Part, algebra.PlanTree], ...]


def goal(rule: ast.Rule, late: Collection[str] = ()) -> Pattern:
    """What a fact must match to be derived by a rule; arguments that aggregate are open."""
    head = rule.head
    open_positions = dict(reducing_positions(head))
    arguments: list[Operand | None] = []
    for position, argument in enumerate(head.arguments):
        match operand(argument):
            case _ if position in open_positions:
                arguments.append(None)
            case ast.Constant(term):
                arguments.append(Value(term))
            case ast.Variable(name) if name not in late:
                arguments.append(Column(name))
            case _:
                arguments.append(Column(f"#head{position}"))
    return Pattern(head.predicate, tuple(arguments))


def demand(rule: ast.Rule, *, as_written: bool) -> Demand:
    """Drive a rule in normal form by a fact of its head.

    Args:
        rule: The rule.
        as_written: Whether assigned variables are compared with the fact at the end, so that the
            rows are those of the text; otherwise they are bound from the start.
    """
    assigned = {name for name, _ in bindings(rule).assignments}
    chain = _Chain(rule, goal(rule, assigned if as_written else ()))
    if not as_written:
        chain.bind_terms()
    return chain.demand()


class _Chain:
    """Adds the parts of a rule to a delta, one after the other."""

    def __init__(self, rule: ast.Rule, fact: Pattern) -> None:
        self._rule = rule
        self._fact = fact
        self._bound = set(fact.columns)
        self._rows = Extension(algebra.Delta(fact))
        self._waiting: list[Part] = [*self._body(), *self._checks()]
        self._joined = 0

    def demand(self) -> Demand:
        """The chain of all parts."""
        parts = []
        while self._waiting:
            part = next(each for each in self._waiting if self._is_ready(each))
            self._waiting.remove(part)
            self._add(part)
            parts.append((part, self._rows.tree))
        arguments = tuple(self._rows.operand(operand(each)) for each in self._rule.head.arguments)
        head = Pattern(self._fact.predicate, arguments)
        return Demand(DeltaPlan(algebra.Project(self._rows.tree, head)), tuple(parts))

    def bind_terms(self) -> None:
        """Bind what the triple terms of the head are made of, as the fact has it."""
        for argument, given in zip(self._rule.head.arguments, self._fact.arguments, strict=True):
            if isinstance(argument, ast.TripleTerm) and isinstance(given, Column):
                self._take_apart(given.name, argument)

    def _body(self) -> Iterator[Part]:
        """The parts of the body, in the order of the text."""
        found = bindings(self._rule)
        names = {id(expression): name for name, expression in found.assignments}
        filters = {id(literal) for literal in found.filters}
        for literal in self._rule.body:
            if isinstance(literal, ast.Comparison) and id(literal) not in filters:
                expression = literal.right if id(literal.right) in names else literal.left
                yield algebra.Equation(names[id(expression)], expression)
            else:
                yield literal

    def _checks(self) -> Iterator[algebra.Equation]:
        """Comparisons of the arguments of the head that the fact does not bind."""
        for argument, given in zip(self._rule.head.arguments, self._fact.arguments, strict=True):
            if isinstance(given, Column) and given.name.startswith("#"):
                yield algebra.Equation(given.name, operand(argument))

    def _is_ready(self, part: Part) -> bool:
        """Whether the variables that it reads are bound; a join binds those that are not."""
        node = part.expression if isinstance(part, algebra.Equation) else part
        return isinstance(part, ast.Atom) or is_bound(node, self._bound)

    def _add(self, part: Part) -> None:
        rows = self._rows
        match part:
            case ast.Atom():
                pattern, opened = self._joined_pattern(part)
                rows.tree = algebra.Join(rows.tree, algebra.Scan(pattern))
                self._bound.update(pattern.columns)
                for column, term in opened:
                    self._take_apart(column, term)
            case algebra.Equation(column):
                rows.define(part)
                self._bound.add(column)
            case ast.Negation(ast.Atom() as written):
                atom = TriplePatterns().negated(written)
                operands = (
                    None if isinstance(each, ast.Wildcard) else rows.operand(each)
                    for each in atom.arguments
                )
                scan = algebra.Scan(Pattern(atom.reads, tuple(operands)))
                rows.tree = algebra.Antijoin(rows.tree, scan)
            case _:
                self._select(part)

    def _select(self, literal: ast.Literal) -> None:
        # The operands extend the rows before they are selected.
        test = condition(literal, self._rows.operand)
        self._rows.tree = algebra.Select(self._rows.tree, test)

    def _take_apart(self, column: str, term: ast.TripleTerm) -> None:
        """Bind the variables of a triple term in a column, and compare what is bound."""
        rows, whole = self._rows, ast.Variable(column, term.span)
        if all(isinstance(part, ast.Wildcard) for part in term.parts):
            self._select(ast.Call("is_triple", (whole,), term.span))
        for name, part in zip(TRIPLE_PARTS, term.parts, strict=True):
            value = ast.Call(name, (whole,), part.span)
            match part:
                case ast.Wildcard():
                    pass
                case ast.Variable() if part.name not in self._bound:
                    rows.define(algebra.Equation(part.name, value))
                    self._bound.add(part.name)
                case ast.TripleTerm():
                    inner = rows.operand(value)
                    assert isinstance(inner, Column)  # noqa: S101 - what is computed has a column
                    self._take_apart(inner.name, part)
                case _:
                    self._select(ast.Call("same_term", (value, part), part.span))

    def _joined_pattern(self, atom: ast.Atom) -> tuple[Pattern, list[tuple[str, ast.TripleTerm]]]:
        """The pattern of an atom, and its columns of triple terms to take apart.

        Other arguments whose values are not known yet are compared later.
        """
        operands: list[Operand] = []
        later: list[Part] = []
        opened: list[tuple[str, ast.TripleTerm]] = []
        for position, argument in enumerate(atom.arguments):
            place = algebra.Equation(f"${self._joined}.{position}", argument)
            operands.append(Column(place.column))
            match argument:
                case ast.Variable() | ast.Constant():
                    operands[-1] = self._rows.operand(argument)
                case ast.Wildcard():
                    pass
                case ast.TripleTerm() if not is_known(argument, self._bound):
                    opened.append((place.column, argument))
                case _ if is_bound(argument, self._bound):
                    self._rows.define(place)
                case _:
                    later.append(place)
        self._waiting[:0] = later
        self._joined += 1
        return Pattern(atom.reads, tuple(operands)), opened
