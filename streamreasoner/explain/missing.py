"""Why a fact is absent. Invariant: each rule that could derive it reports where it fails."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from streamreasoner.explain.ground import (
    NOWHERE,
    atom_of,
    computed,
    conditions,
    ground,
    holds,
    is_bound,
    operand,
    pattern,
    value,
)
from streamreasoner.explain.matching import (
    Assign,
    CheckArgument,
    CheckHead,
    Filter,
    Goal,
    Join,
    MatchSearch,
    known_arguments,
    schedule,
)
from streamreasoner.explain.proof import (
    Absence,
    Absent,
    Attempt,
    Condition,
    Failure,
    FailureKind,
)
from streamreasoner.lang import ast
from streamreasoner.lang.binding import bindings as bindings_of
from streamreasoner.query.facts import Fact
from streamreasoner.values.builtins import TESTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.explain.ground import Bindings
    from streamreasoner.explain.matching import Match, Part
    from streamreasoner.explain.rule_groups import RuleGroup, Rules
    from streamreasoner.explain.store import FactIndex, Row

MAX_ATTEMPTS = 20_000
"""Maximum number of parts tried for one rule."""

_MAX_SHOWN = 3


@dataclass(frozen=True, slots=True)
class AbsenceSearch:
    """The search for reasons why a fact is absent from one state.

    Args:
        rules: The program.
        store: The facts.
    """

    rules: Rules
    store: FactIndex

    def absence(self, fact: Fact, row: Row | None) -> Absence:
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
            attempts=tuple(
                self._attempt(rule_group, rule, goal, fact, winner)
                for rule_group in self.rules.rule_groups(fact)
                for rule, goal in rule_group.goals(fact)
            ),
        )

    def _attempt(
        self, rule_group: RuleGroup, rule: ast.Rule, goal: Goal, fact: Fact, winner: Row | None
    ) -> Attempt:
        goal = _without_assigned(rule, goal)
        parts = schedule(rule, goal, as_written=True)
        search = MatchSearch(parts, self.store.present, self.store, MAX_ATTEMPTS)
        complete = next(search.matches(goal.bindings), None)
        best = search.best
        if complete is not None:
            failure = self._absent_despite_match(rule_group, fact, winner)
        else:
            failure = self._failure(parts[search.deepest], rule, best, search)
            if search.gave_up:
                failure = Failure(FailureKind.UNFINISHED, failure.parts, failure.facts)
        satisfied = tuple(_satisfied_parts(parts[: search.deepest], best))
        return Attempt(rule, satisfied, failure, 1 if complete is not None else search.ways)

    def _absent_despite_match(
        self, rule_group: RuleGroup, fact: Fact, winner: Row | None
    ) -> Failure:
        """Why a fact is absent although a rule has a match for it."""
        if rule_group.aggregated:
            group = {
                at: term
                for at, term in enumerate(fact.arguments)
                if at not in rule_group.aggregated
            }
            rows = self.store.present(fact.predicate, group)
            return Failure(FailureKind.OTHER_RESULT, (), _facts(fact.predicate, rows))
        if winner is not None:
            return Failure(FailureKind.BEATEN, (), (Fact(fact.predicate, winner.arguments),))
        return Failure(FailureKind.OWED, ())

    def _failure(self, part: Part, rule: ast.Rule, best: Match, search: MatchSearch) -> Failure:
        """Why the longest partial match does not satisfy the next part."""
        bindings = best.bindings
        match part:
            case Join(_, atom):
                return self._no_matching_fact(atom, bindings)
            case CheckArgument(index, position, expression):
                row = best.facts[index].arguments
                return _argument_mismatch(rule.atoms[index], row, position, expression, bindings)
            case Assign(_, expression):
                return _no_value(expression, bindings)
            case CheckHead():
                return _other_fact(rule, bindings)
            case Filter(literal):
                return self._false_condition(literal, bindings, search)

    def _no_matching_fact(self, atom: ast.Atom, bindings: Bindings) -> Failure:
        known = known_arguments(atom, bindings)
        if known is None:
            return _no_value(atom, bindings)
        values = [each for argument in atom.arguments for each in computed(argument, bindings)]
        close = self._closest(atom.predicate, known)
        return Failure(FailureKind.MISSING, (*values, pattern(atom, bindings)), close)

    @staticmethod
    def _false_condition(literal: ast.Literal, bindings: Bindings, search: MatchSearch) -> Failure:
        match literal:
            case ast.Negation(ast.Atom() as atom):
                rows = search.blocking(atom, bindings)
                if rows is None:
                    return _no_value(atom, bindings)
                facts = _facts(atom.predicate, rows)
                return Failure(FailureKind.PRESENT, tuple(conditions(literal, bindings)), facts)
            case _:
                if holds(literal, bindings) is None:
                    return _no_value(literal, bindings)
                return Failure(FailureKind.FALSE, tuple(conditions(literal, bindings)))

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


def _without_assigned(rule: ast.Rule, goal: Goal) -> Goal:
    """A goal that leaves assigned variables unbound and compares them with the head at the end.

    A rule that computes another term then reports the fact that it derives instead.
    """
    assigned = {name for name, _ in bindings_of(rule).assignments}
    bindings = {name: term for name, term in goal.bindings.items() if name not in assigned}
    deferred = (
        CheckHead(ast.Variable(name, NOWHERE), term)
        for name, term in goal.bindings.items()
        if name in assigned
    )
    return Goal(bindings, (*goal.computed, *deferred))


def _satisfied_parts(parts: tuple[Part, ...], best: Match) -> Iterator[Fact | Absent | Condition]:
    """The facts, absent atoms and conditions of a partial match."""
    bindings = best.bindings
    for part in parts:
        match part:
            case Join(index, atom):
                yield Fact(atom.predicate, best.facts[index].arguments)
            case CheckArgument(_, _, expression) | Assign(_, expression) | CheckHead(expression):
                yield from map(Condition, computed(expression, bindings))
            case Filter(literal):
                *before, last = conditions(literal, bindings)
                yield from map(Condition, before)
                match last:
                    case ast.Negation(ast.Atom() as absent):
                        yield Absent(absent)
                    case _:
                        yield Condition(last)


def _argument_mismatch(
    atom: ast.Atom,
    arguments: Sequence[str],
    position: int,
    expression: ast.Expression,
    bindings: Bindings,
) -> Failure:
    """A fact matches in all but a computed argument."""
    term = value(expression, bindings)
    if term is None:
        return _no_value(expression, bindings)
    missing = Fact(atom.predicate, (*arguments[:position], term, *arguments[position + 1 :]))
    close = Fact(atom.predicate, tuple(arguments))
    return Failure(
        FailureKind.MISSING, (*computed(expression, bindings), atom_of(missing)), (close,)
    )


def _other_fact(rule: ast.Rule, bindings: Bindings) -> Failure:
    """The body holds, but the head computes another fact."""
    operands = [operand(argument) for argument in rule.head.arguments]
    terms = [value(expression, bindings) for expression in operands]
    known = tuple(term for term in terms if term is not None)
    if len(known) < len(terms):
        return _no_value(rule.head, bindings)
    values = [each for expression in operands for each in computed(expression, bindings)]
    return Failure(FailureKind.OTHER_FACT, tuple(values), (Fact(rule.head.predicate, known),))


def _facts(predicate: str, rows: Sequence[Row]) -> tuple[Fact, ...]:
    return tuple(Fact(predicate, row.arguments) for row in rows[:_MAX_SHOWN])


def _no_value(node: ast.Expression | ast.Literal, bindings: Bindings) -> Failure:
    """The innermost part of a literal that has no value."""
    inner = next((child for child in ast.children(node) if _lacks_value(child, bindings)), None)
    if inner is not None:
        return _no_value(inner, bindings)
    return Failure(FailureKind.NO_VALUE, (ground(node, bindings),))


def _lacks_value(node: ast.Expression | ast.Literal, bindings: Bindings) -> bool:
    match node:
        case ast.Constant() | ast.Variable() | ast.Wildcard():
            return False
        case ast.Atom(_, arguments) | ast.Aggregate(_, arguments):
            return any(_lacks_value(argument, bindings) for argument in arguments)
        case ast.Call(name) if name in TESTS:
            return holds(node, bindings) is None
        case ast.BinaryOperation() | ast.UnaryMinus() | ast.Call():
            return is_bound(node, bindings) and value(node, bindings) is None
        case _:
            return False
