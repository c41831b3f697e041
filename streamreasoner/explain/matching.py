"""Matches of a rule with some variables bound. Invariant: every literal is used exactly once.

The parts of a body are ordered so that each uses only variables bound before it. Facts are tried in
text order, so the first match is deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from streamreasoner.explain.ground import holds, is_bound, operand, value
from streamreasoner.lang import ast
from streamreasoner.lang.binding import bindings as bindings_of
from streamreasoner.lang.normal_form import is_lattice

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from streamreasoner.explain.ground import Bindings
    from streamreasoner.explain.store import FactIndex, Row
    from streamreasoner.query.facts import Fact

    Source = Callable[[str, Mapping[int, str], frozenset[int]], Sequence[Row]]
    """Facts for the positive atoms: predicate, known terms, positions of the atom's constants."""


@dataclass(frozen=True, slots=True)
class Join:
    """A join with the positive atom of this index."""

    index: int
    atom: ast.Atom


@dataclass(frozen=True, slots=True)
class CheckArgument:
    """An argument of an atom to compare with an expression, once all its variables are bound."""

    index: int
    position: int
    expression: ast.Expression


@dataclass(frozen=True, slots=True)
class Assign:
    """The value of a variable; if the variable is bound already, the terms must be equal."""

    name: str
    expression: ast.Expression


@dataclass(frozen=True, slots=True)
class Filter:
    """A comparison, a test, or a negation."""

    literal: ast.Literal


@dataclass(frozen=True, slots=True)
class CheckHead:
    """A computed argument of the head, and the term it must equal."""

    expression: ast.Expression
    term: str


Part: TypeAlias = Join | CheckArgument | Assign | Filter | CheckHead


@dataclass(frozen=True, slots=True)
class Match:
    """Bindings and the facts of the positive atoms, by index; a complete match has all atoms."""

    bindings: Bindings
    facts: Mapping[int, Row]


@dataclass(frozen=True, slots=True)
class Goal:
    """What the head of a rule must satisfy to derive a given fact.

    Attributes:
        bindings: Variables bound by the fact's arguments.
        computed: Computed arguments of the head.
    """

    bindings: Bindings
    computed: tuple[CheckHead, ...]


def goal_for(rule: ast.Rule, fact: Fact) -> Goal | None:
    """The bindings under which a rule may derive a fact; None if there are none.

    Arguments that aggregate matches stay unbound.
    """
    head = rule.head
    if head.predicate != fact.predicate or head.arity != len(fact.arguments):
        return None
    aggregates_matches = not is_lattice(head)
    bindings: dict[str, str] = {}
    computed = []
    for argument, term in zip(head.arguments, fact.arguments, strict=True):
        if aggregates_matches and isinstance(argument, ast.Aggregate):
            continue
        match operand(argument):
            case ast.Constant(expected):
                if expected != term:
                    return None
            case ast.Variable(name):
                if bindings.setdefault(name, term) != term:
                    return None
            case expression:
                computed.append(CheckHead(expression, term))
    return Goal(bindings, tuple(computed))


def schedule(rule: ast.Rule, goal: Goal, *, as_written: bool) -> tuple[Part, ...]:
    """The parts of a rule in the order in which they are matched.

    Args:
        rule: A rule in normal form.
        goal: Variables bound in advance.
        as_written: Whether to keep textual order, except for literals that use later bindings;
            otherwise the atoms with the most bound arguments come first.
    """
    bound = set(goal.bindings)
    remaining = _body_parts(rule)
    parts: list[Part] = []
    while remaining:
        ready = [part for part in remaining if _is_ready(part, bound)]
        if not as_written:
            # Everything else is cheaper than a join, and reduces its input.
            ready.sort(
                key=lambda part: _unbound_key(part.atom, bound) if isinstance(part, Join) else ()
            )
        chosen = ready[0]
        remaining.remove(chosen)
        parts.append(chosen)
        match chosen:
            case Join(index, atom):
                remaining[:0] = _deferred(index, atom, bound)
                bound |= {each.name for each in atom.arguments if isinstance(each, ast.Variable)}
            case Assign(name):
                bound.add(name)
            case _:
                pass
    return (*parts, *goal.computed)


def _body_parts(rule: ast.Rule) -> list[Part]:
    """A part for each literal of the body, in the order of the text."""
    analysis = bindings_of(rule)
    assigned = {
        id(expression): Assign(name, expression) for name, expression in analysis.assignments
    }
    parts: list[Part] = []
    index = 0
    for literal in rule.body:
        match literal:
            case ast.Atom():
                parts.append(Join(index, literal))
                index += 1
            case ast.Comparison(left, _, right) if not any(
                each is literal for each in analysis.filters
            ):
                parts.append(assigned.get(id(right)) or assigned[id(left)])
            case _:
                parts.append(Filter(literal))
    return parts


def _deferred(index: int, atom: ast.Atom, bound: Collection[str]) -> list[Part]:
    """Checks of the arguments of an atom that are still unbound when it is joined."""
    bound_names = dict.fromkeys(bound, "")
    return [
        CheckArgument(index, position, argument)
        for position, argument in enumerate(atom.arguments)
        if not isinstance(argument, ast.Variable | ast.Wildcard)
        and not is_bound(argument, bound_names)
    ]


class MatchSearch:
    """The search for matches of one rule.

    Attributes:
        deepest: Number of parts that the longest partial match satisfies.
        best: The first partial match of that length.
        ways: Number of partial matches of that length.
        attempts: Number of parts tried.

    Args:
        parts: The parts of the rule, from `schedule`.
        source: Facts for positive atoms.
        store: Facts for negated atoms.
        max_attempts: Maximum number of attempts; None means no limit.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        source: Source,
        store: FactIndex,
        max_attempts: int | None = None,
    ) -> None:
        self._parts = parts
        self._source = source
        self._store = store
        self._max_attempts = max_attempts
        self.deepest = -1
        self.best = Match({}, {})
        self.ways = 0
        self.attempts = 0

    @property
    def gave_up(self) -> bool:
        """Whether the search stopped before trying all matches."""
        return self._max_attempts is not None and self.attempts > self._max_attempts

    def matches(self, bindings: Bindings) -> Iterator[Match]:
        """The complete matches."""
        return self._from(0, Match(bindings, {}))

    def _from(self, at: int, match: Match) -> Iterator[Match]:
        self.attempts += 1
        if self.gave_up:
            return
        if at > self.deepest:
            self.deepest, self.best, self.ways = at, match, 0
        if at == self.deepest:
            self.ways += 1
        if at == len(self._parts):
            yield match
            return
        part = self._parts[at]
        if isinstance(part, Join):
            for extended in self._join(part, match):
                yield from self._from(at + 1, extended)
        elif (satisfied := self._satisfied(part, match)) is not None:
            yield from self._from(at + 1, satisfied)

    def _join(self, join: Join, match: Match) -> Iterator[Match]:
        atom = join.atom
        known = known_arguments(atom, match.bindings)
        if known is None:
            return
        for row in self._source(atom.predicate, known, constants(atom)):
            bindings = dict(match.bindings)
            if all(
                bindings.setdefault(argument.name, term) == term
                for argument, term in zip(atom.arguments, row.arguments, strict=True)
                if isinstance(argument, ast.Variable)
            ):
                yield Match(bindings, {**match.facts, join.index: row})

    def _satisfied(
        self, part: CheckArgument | Assign | Filter | CheckHead, match: Match
    ) -> Match | None:
        bindings = match.bindings
        match part:
            case CheckArgument(index, position, expression):
                term = value(expression, bindings)
                return match if term == match.facts[index].arguments[position] else None
            case Assign(name, expression):
                term = value(expression, bindings)
                if term is None or bindings.get(name, term) != term:
                    return None
                return Match({**bindings, name: term}, match.facts)
            case Filter(ast.Negation(ast.Atom() as atom)):
                blocking = self.blocking(atom, bindings)
                return match if blocking is not None and not blocking else None
            case Filter(literal):
                return match if holds(literal, bindings) else None
            case CheckHead(expression, term):
                return match if value(expression, bindings) == term else None
            case _:
                assert_never(part)

    def blocking(self, atom: ast.Atom, bindings: Bindings) -> Sequence[Row] | None:
        """Facts that match a negated atom; None if one of its arguments has no value."""
        known = known_arguments(atom, bindings)
        return (
            None if known is None else self._store.present(atom.predicate, known, constants(atom))
        )


def known_arguments(atom: ast.Atom, bindings: Bindings) -> dict[int, str] | None:
    """The bound arguments of an atom, by position; None if one has no value."""
    known: dict[int, str] = {}
    for position, argument in enumerate(atom.arguments):
        if not isinstance(argument, ast.Wildcard) and is_bound(argument, bindings):
            term = value(argument, bindings)
            if term is None:
                return None
            known[position] = term
    return known


def constants(atom: ast.Atom) -> frozenset[int]:
    """The positions of an atom's constants."""
    return frozenset(
        position
        for position, argument in enumerate(atom.arguments)
        if isinstance(argument, ast.Constant)
    )


def _is_ready(part: Part, bound: Collection[str]) -> bool:
    bound_names = dict.fromkeys(bound, "")
    match part:
        case Assign(_, expression) | CheckArgument(_, _, expression):
            return is_bound(expression, bound_names)
        case Filter(literal):
            return is_bound(literal, bound_names)
        case Join() | CheckHead():
            return True


def _unbound_key(atom: ast.Atom, bound: Collection[str]) -> tuple[bool, int, int]:
    """Sort key that is less for an atom with fewer unbound arguments.

    A variable bound by the goal is more selective than a constant, which many facts share.
    """
    bound_names = dict.fromkeys(bound, "")
    known = [
        not isinstance(argument, ast.Wildcard) and is_bound(argument, bound_names)
        for argument in atom.arguments
    ]
    constant = len(constants(atom))
    return not all(known), constant - sum(known), known.count(False)
