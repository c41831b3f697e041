"""Why a fact is absent. Invariant: each rule that could derive it reports where it fails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, takewhile
from typing import TYPE_CHECKING

from streamreasoner.engine.evaluate import applied
from streamreasoner.explain.ground import (
    atom_of,
    computed,
    conditions,
    fits,
    ground,
    premises,
    value,
    values,
)
from streamreasoner.explain.matches import CACHED_RULES, SelectLeaves
from streamreasoner.explain.proof import Absence, Attempt, Failure, FailureKind, Satisfied
from streamreasoner.facts import Fact
from streamreasoner.lang import ast, traversal
from streamreasoner.lang.binding import is_bound
from streamreasoner.lang.normal_form import operand
from streamreasoner.plan.algebra import Equation
from streamreasoner.plan.lower.demand import demand
from streamreasoner.values.builtins import TESTS, test

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.analysis.strata.told_apart import Written
    from streamreasoner.explain.ground import Bindings
    from streamreasoner.explain.matches import Match
    from streamreasoner.explain.proof import Absent
    from streamreasoner.explain.rule_groups import RuleGroup, Rules
    from streamreasoner.explain.store import FactIndex, HeldFact
    from streamreasoner.plan.lower.demand import Demand, Part

MAX_ATTEMPTS = 20_000
"""Maximum number of partial matches of one rule."""

_MAX_SHOWN = 3


@dataclass(frozen=True, slots=True)
class AbsenceSearch:
    """The search for reasons why a fact is absent from one state.

    Args:
        rules: The program.
        store: The facts.
        written: Rules as they are written.
    """

    rules: Rules
    store: FactIndex
    written: Written

    def absence(self, fact: Fact, row: HeldFact | None) -> Absence:
        """Why a fact is absent; *row* is its row in the state, if any."""
        winner = None
        if row is not None and row.total > 0:
            winner = self.rules.winner(fact, self.store)
        known = dict(enumerate(fact.arguments))
        return Absence(
            fact=fact,
            asserted=0 if row is None else row.asserted,
            stated=self.rules.stated(fact),
            beaten_by=None if winner is None else Fact(fact.predicate, winner.arguments),
            close=self._closest(fact.predicate, known),
            attempts=tuple(self._attempts(fact, winner)),
        )

    def _attempts(self, fact: Fact, winner: HeldFact | None) -> Iterator[Attempt]:
        for rule_group in self.rules.rule_groups(fact):
            for rule in rule_group.deriving(fact):
                copied = self.written.copied(rule)
                if copied is None:
                    yield self._attempt(rule_group, rule, fact, winner)
                else:
                    yield from self._attempts(Fact(copied, fact.arguments), winner)

    def _attempt(
        self, rule_group: RuleGroup, rule: ast.Rule, fact: Fact, winner: HeldFact | None
    ) -> Attempt:
        demanded = _demanded(rule)
        parts = [part for part, _ in demanded.parts]
        found = _PartialMatches(demanded, SelectLeaves(fact, self.store.present, self.store))
        *_, longest = found.first
        satisfied = len(found.first) - 1
        holds = tuple(_satisfied_parts(parts[:satisfied], longest))
        if satisfied == len(parts):
            failure = self._absent_despite_match(rule_group, fact, winner)
            return Attempt(rule, holds, failure, 1)
        failure = self._failure(parts[satisfied], rule, longest)
        if found.attempts > MAX_ATTEMPTS:
            failure = replace(failure, kind=FailureKind.UNFINISHED)
        return Attempt(rule, holds, failure, found.ways[satisfied])

    def _absent_despite_match(
        self, rule_group: RuleGroup, fact: Fact, winner: HeldFact | None
    ) -> Failure:
        """Why a fact is absent although a rule has a match for it."""
        if rule_group.aggregates:
            group = dict(enumerate(fact.arguments))
            for position, _ in rule_group.aggregates:
                del group[position]
            rows = self.store.present(fact.predicate, group)
            return Failure(FailureKind.OTHER_RESULT, (), _facts(fact.predicate, rows))
        if winner is not None:
            return Failure(FailureKind.BEATEN, (), (Fact(fact.predicate, winner.arguments),))
        return Failure(FailureKind.OWED, ())

    def _failure(self, part: Part, rule: ast.Rule, best: Match) -> Failure:
        """Why the longest partial match does not satisfy the next part."""
        if isinstance(part, Equation):
            return _unequal(part, rule, best)
        if _lacks_value(part, best.terms):
            return _no_value(part, best.terms)
        parts = conditions(part, best.terms)
        match parts[-1]:
            case ast.Atom(predicate) as atom:
                close = self._closest(predicate, _known(atom))
                return Failure(FailureKind.MISSING, parts, close)
            case ast.Negation(ast.Atom(predicate) as atom):
                rows = self.store.present(predicate, _known(atom))
                matching = [row for row in rows if fits(atom, row.arguments)]
                return Failure(FailureKind.PRESENT, parts, _facts(predicate, matching))
            case _:
                return Failure(FailureKind.FALSE, parts)

    def _closest(self, predicate: str, known: Mapping[int, str]) -> tuple[Fact, ...]:
        """The present facts that differ from the known arguments at the fewest positions."""
        for differing in range(1, len(known) + 1):
            close: set[tuple[str, ...]] = set()
            for positions in combinations(known, len(known) - differing):
                rows = self.store.present(predicate, {at: known[at] for at in positions})
                close.update(row.arguments for row in rows[:_MAX_SHOWN])
            if close:
                return tuple(Fact(predicate, arguments) for arguments in sorted(close)[:_MAX_SHOWN])
        return ()


@lru_cache(maxsize=CACHED_RULES)
def _demanded(rule: ast.Rule) -> Demand:
    return demand(rule, as_written=True)


class _PartialMatches:
    """The partial matches of a rule, until one is complete.

    Attributes:
        first: The first match that satisfies no part, one part, two parts, ...
        ways: The number of matches that do.
        attempts: The number of all of them.

    Args:
        demanded: The rule as written.
        leaves: The leaves of its plan.
    """

    def __init__(self, demanded: Demand, leaves: SelectLeaves) -> None:
        self.first: list[Match] = []
        self.ways: list[int] = []
        self.attempts = 0
        ends = {id(step): number for number, (_, step) in enumerate(demanded.parts, 1)}
        rows = self._counted(0, leaves.delta(demanded.plan.delta))
        for step in demanded.plan.steps:
            rows = applied(step, rows, leaves)
            if id(step) in ends:
                rows = self._counted(ends[id(step)], rows)
        next(rows, None)

    def _counted(self, satisfied: int, rows: Iterator[Match]) -> Iterator[Match]:
        """Matches that satisfy this many parts, as long as there are not too many."""

        def is_counted(match: Match) -> bool:
            self.attempts += 1
            if self.attempts > MAX_ATTEMPTS:
                return False
            if satisfied == len(self.first):
                self.first.append(match)
                self.ways.append(0)
            self.ways[satisfied] += 1
            return True

        return takewhile(is_counted, rows)


def _satisfied_parts(parts: Sequence[Part], best: Match) -> Iterator[Fact | Absent | Satisfied]:
    """The facts, absent atoms and conditions of a partial match."""
    facts = iter(best.facts)
    for part in parts:
        match part:
            case ast.Atom(predicate):
                yield Fact(predicate, next(facts).arguments)
            case Equation(_, expression):
                yield from map(Satisfied, computed(expression, best.terms))
            case _:
                yield from premises(part, best.terms)


def _unequal(equation: Equation, rule: ast.Rule, best: Match) -> Failure:
    """An expression has no value, or another one than an argument of the head or of an atom."""
    expression, terms = equation.expression, best.terms
    if equation.column.startswith("#head"):
        return _other_fact(rule, terms)
    term = value(expression, terms)
    if term is None:
        return _no_value(expression, terms)
    number, at = map(int, equation.column.removeprefix("$").split("."))
    predicate, arguments = rule.atoms[number].predicate, best.facts[number].arguments
    missing = Fact(predicate, (*arguments[:at], term, *arguments[at + 1 :]))
    return Failure(
        FailureKind.MISSING,
        (*computed(expression, terms), atom_of(missing)),
        (Fact(predicate, arguments),),
    )


def _other_fact(rule: ast.Rule, bindings: Bindings) -> Failure:
    """The body holds, but the head computes another fact."""
    operands = [operand(argument) for argument in rule.head.arguments]
    terms = values(operands, bindings)
    if terms is None:
        return _no_value(rule.head, bindings)
    parts = [each for expression in operands for each in computed(expression, bindings)]
    return Failure(FailureKind.OTHER_FACT, tuple(parts), (Fact(rule.head.predicate, terms),))


def _known(atom: ast.Atom) -> dict[int, str]:
    """The constants of an atom, by position."""
    arguments = enumerate(atom.arguments)
    return {at: each.term for at, each in arguments if isinstance(each, ast.Constant)}


def _facts(predicate: str, rows: Sequence[HeldFact]) -> tuple[Fact, ...]:
    return tuple(Fact(predicate, row.arguments) for row in rows[:_MAX_SHOWN])


def _no_value(node: ast.Expression | ast.Literal, bindings: Bindings) -> Failure:
    """The innermost part of a literal that has no value."""
    # A condition tells which part of a conditional counts, so it is named as a whole.
    children = () if isinstance(node, ast.Conditional) else traversal.children(node)
    inner = next((child for child in children if _lacks_value(child, bindings)), None)
    if inner is not None:
        return _no_value(inner, bindings)
    return Failure(FailureKind.NO_VALUE, (ground(node, bindings),))


def _lacks_value(node: ast.Expression | ast.Literal, bindings: Bindings) -> bool:
    match node:
        case ast.Constant() | ast.Variable() | ast.Wildcard():
            return False
        case ast.Call(name, arguments) if name in TESTS and is_bound(node, bindings):
            terms = values(arguments, bindings)
            return terms is None or test(name, terms) is None
        case ast.BinaryOperation() | ast.UnaryMinus() | ast.Call() | ast.Conditional():
            return is_bound(node, bindings) and value(node, bindings) is None
        case _:
            return any(_lacks_value(child, bindings) for child in traversal.children(node))
