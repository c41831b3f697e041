"""The rules of a program by what they derive. Invariant: a fact belongs to at most one lattice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.explain.matching import goal_for
from streamreasoner.explain.proof import Competition
from streamreasoner.lang.ast import Aggregate, Constant
from streamreasoner.lang.normal_form import aggregates, is_lattice
from streamreasoner.query.facts import Fact
from streamreasoner.values.order import order_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.explain.matching import Goal
    from streamreasoner.explain.store import FactIndex, Row
    from streamreasoner.lang.ast import Rule, Span
    from streamreasoner.program.checked import CheckedProgram


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Rules that derive facts together: one rule, or all the rules of an aggregation.

    Attributes:
        rules: Rules in normal form, in the order of the program.
        aggregated: Positions of the aggregates, if matches are aggregated; empty for a lattice.
        recursive: Whether its stratum has a lattice, so that a fact can become absent again.
    """

    rules: tuple[Rule, ...]
    aggregated: tuple[int, ...]
    recursive: bool

    def goals(self, fact: Fact) -> tuple[tuple[Rule, Goal], ...]:
        """The rules that may derive a fact, each with its goal."""
        goals = ((rule, goal_for(rule, fact)) for rule in self.rules)
        return tuple((rule, goal) for rule, goal in goals if goal is not None)


@dataclass(frozen=True, slots=True)
class LatticeRule:
    """A lattice: only the best fact of each group is present."""

    rule: Rule
    position: int
    function: str

    def group(self, fact: Fact) -> dict[int, str]:
        """The arguments that all candidates of a fact's group share, by position."""
        return {at: term for at, term in enumerate(fact.arguments) if at != self.position}


class Rules:
    """A program, indexed for explanations."""

    def __init__(self, program: CheckedProgram) -> None:
        self._stated = {
            Fact(atom.predicate, _terms(atom.arguments)): atom.span for atom in program.facts
        }
        lattice_strata = [
            stratum
            for stratum in program.strata
            if any(is_lattice(program.rules[index].head) for index in stratum)
        ]
        recursive = {index for stratum in lattice_strata for index in stratum}
        groups: dict[object, list[int]] = {}
        for index, rule in enumerate(program.rules):
            groups.setdefault(_aggregation_key(rule) or index, []).append(index)
        self._rule_groups = tuple(
            RuleGroup(
                tuple(program.rules[index] for index in group),
                _aggregated(program.rules[group[0]]),
                group[0] in recursive,
            )
            for group in groups.values()
        )
        self._lattices = tuple(
            LatticeRule(rule, position, argument.function)
            for rule in program.rules
            if is_lattice(rule.head)
            for position, argument in enumerate(rule.head.arguments)
            if isinstance(argument, Aggregate)
        )

    def stated(self, fact: Fact) -> Span | None:
        """Where the program states a fact."""
        return self._stated.get(fact)

    def rule_groups(self, fact: Fact) -> Iterator[RuleGroup]:
        """The groups of rules that may derive a fact, in the order of the program."""
        return (
            rule_group
            for rule_group in self._rule_groups
            if rule_group.rules[0].head.predicate == fact.predicate and rule_group.goals(fact)
        )

    def lattice(self, fact: Fact) -> LatticeRule | None:
        """The lattice that a fact belongs to."""
        for lattice in self._lattices:
            head = lattice.rule.head
            if head.predicate == fact.predicate and all(
                not isinstance(argument, Constant) or argument.term == term
                for argument, term in zip(head.arguments, fact.arguments, strict=True)
            ):
                return lattice
        return None

    def competition(self, fact: Fact, store: FactIndex) -> Competition | None:
        """The competition that a present fact won; None without other candidates."""
        lattice = self.lattice(fact)
        if lattice is None:
            return None
        rows = store.lookup(fact.predicate, lattice.group(fact))
        others = [row for row in rows if row.total > 0 and row.arguments != fact.arguments]
        if not others:
            return None
        choose = min if lattice.function == "min" else max
        best = choose(others, key=lambda row: order_key(row.arguments[lattice.position]))
        return Competition(lattice.function, len(others) + 1, Fact(fact.predicate, best.arguments))

    def winner(self, fact: Fact, store: FactIndex) -> Row | None:
        """The present candidate of a fact's group."""
        lattice = self.lattice(fact)
        if lattice is None:
            return None
        return next(iter(store.present(fact.predicate, lattice.group(fact))), None)


def _aggregation_key(rule: Rule) -> object:
    """The key that the rules of one aggregation share; None for any other rule."""
    aggregated = tuple(
        (position, argument.function, argument.distinct)
        for position, argument in enumerate(rule.head.arguments)
        if isinstance(argument, Aggregate)
    )
    return (rule.head.predicate, aggregated) if aggregated and not is_lattice(rule.head) else None


def _aggregated(rule: Rule) -> tuple[int, ...]:
    if is_lattice(rule.head) or not aggregates(rule.head):
        return ()
    return tuple(
        position
        for position, argument in enumerate(rule.head.arguments)
        if isinstance(argument, Aggregate)
    )


def _terms(arguments: object) -> tuple[str, ...]:
    assert isinstance(arguments, tuple)  # noqa: S101 - facts have only constants
    return tuple(argument.term for argument in arguments)
