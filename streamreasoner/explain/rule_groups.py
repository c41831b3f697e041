"""The rules of a program by what they derive. Invariant: a fact belongs to at most one lattice."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.explain.ground import fact_of
from streamreasoner.explain.proof import Competition
from streamreasoner.facts import Fact
from streamreasoner.lang.normal_form import is_lattice
from streamreasoner.plan.lower.aggregation import lattice, reducing_positions
from streamreasoner.plan.lower.demand import goal
from streamreasoner.plan.term_evaluation import matched
from streamreasoner.values.order import order_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.explain.store import FactIndex, HeldFact
    from streamreasoner.lang.ast import Aggregate, Rule, Span
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_plan import Lattice
    from streamreasoner.program.checked import CheckedProgram


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Rules that derive facts together: one rule, or all the rules of an aggregation.

    Attributes:
        rules: Rules in normal form, in the order of the program.
        goals: What a fact must match to be derived by each rule.
        aggregates: (position, aggregate), if matches are aggregated; empty for a lattice.
        recursive: Whether its stratum has a lattice, so that a fact can become absent again.
    """

    rules: tuple[Rule, ...]
    goals: tuple[Pattern, ...]
    aggregates: tuple[tuple[int, Aggregate], ...]
    recursive: bool

    def deriving(self, fact: Fact) -> Iterator[Rule]:
        """The rules that may derive a fact."""
        return (
            rule
            for rule, pattern in zip(self.rules, self.goals, strict=True)
            if matched(pattern, fact.arguments, {}) is not None
        )


class Rules:
    """A program, indexed for explanations."""

    def __init__(self, program: CheckedProgram) -> None:
        self._stated = {fact_of(atom): atom.span for atom in program.facts}
        rules = program.rules
        recursive = {
            index
            for stratum in program.strata
            if any(is_lattice(rules[each].head) for each in stratum)
            for index in stratum
        }
        groups: dict[object, list[int]] = {}
        for index, rule in enumerate(rules):
            groups.setdefault(_aggregation_key(rule) or index, []).append(index)
        self._rule_groups: dict[str, list[RuleGroup]] = defaultdict(list)
        for group in groups.values():
            members = tuple(rules[index] for index in group)
            head = members[0].head
            self._rule_groups[head.predicate].append(
                RuleGroup(
                    members,
                    tuple(map(goal, members)),
                    reducing_positions(head),
                    group[0] in recursive,
                )
            )
        self._lattices = tuple(
            lattice(rule.head, goal(rule)) for rule in rules if is_lattice(rule.head)
        )

    def stated(self, fact: Fact) -> Span | None:
        """Where the program states a fact."""
        return self._stated.get(fact)

    def rule_groups(self, fact: Fact) -> Iterator[RuleGroup]:
        """The groups of rules that may derive a fact, in the order of the program."""
        return (
            rule_group
            for rule_group in self._rule_groups[fact.predicate]
            if any(rule_group.deriving(fact))
        )

    def lattice(self, fact: Fact) -> Lattice | None:
        """The lattice that a fact belongs to."""
        return next(
            (
                each
                for each in self._lattices
                if each.pattern.predicate == fact.predicate
                and matched(each.pattern, fact.arguments, {}) is not None
            ),
            None,
        )

    def competition(self, fact: Fact, store: FactIndex) -> Competition | None:
        """The competition that a present fact won; None without other candidates."""
        found = self.lattice(fact)
        if found is None:
            return None
        rows = store.lookup(fact.predicate, _group(found, fact))
        others = [row for row in rows if row.total > 0 and row.arguments != fact.arguments]
        if not others:
            return None
        choose = min if found.function == "min" else max
        best = choose(others, key=lambda row: order_key(row.arguments[found.position]))
        return Competition(found.function, len(others) + 1, Fact(fact.predicate, best.arguments))

    def winner(self, fact: Fact, store: FactIndex) -> HeldFact | None:
        """The present candidate of a fact's group."""
        found = self.lattice(fact)
        if found is None:
            return None
        return next(iter(store.present(fact.predicate, _group(found, fact))), None)


def _aggregation_key(rule: Rule) -> object:
    """The key that the rules of one aggregation share; None for any other rule."""
    aggregates = tuple((at, each.operation) for at, each in reducing_positions(rule.head))
    return (rule.head.predicate, aggregates) if aggregates else None


def _group(lattice: Lattice, fact: Fact) -> dict[int, str]:
    """The arguments that all candidates of a fact's group share, by position."""
    return {at: fact.arguments[at] for at in lattice.key}
