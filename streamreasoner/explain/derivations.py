"""Derivation of one present fact. Invariant: premises precede their conclusion, so no cycles.

A fact that became present at iteration i of its stratum has a derivation whose body facts of that
stratum were present at i - 1, so the trace guides the search and it never backtracks. Without `min`
and `max`, facts stay present within an epoch, so any derivation from facts of earlier iterations is
as good as the first one, and the proof has minimal height.

With recursive `min` and `max` a fact may outlive its first premises. Premises that are present at
the end of the epoch are preferred, even if they became present later. If those depend on the fact
itself, or none are left, the proof shows the first premises and until when they were present.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from streamreasoner.engine.ports import LAST_ITERATION
from streamreasoner.explain.ground import computed, conditions, premises
from streamreasoner.explain.matches import matches
from streamreasoner.explain.proof import Absent, Satisfied
from streamreasoner.facts import Fact
from streamreasoner.lang.ast import Aggregate, Atom
from streamreasoner.lang.normal_form import operand
from streamreasoner.values.builtins import AGGREGATES
from streamreasoner.values.kinds import NUMBERS
from streamreasoner.values.numbers import number
from streamreasoner.values.sums import CHOOSING, results

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamreasoner.explain.matches import Match, Source
    from streamreasoner.explain.rule_groups import RuleGroup, Rules
    from streamreasoner.explain.store import FactIndex, HeldFact, HeldFacts
    from streamreasoner.lang.ast import Rule


class Obligation(NamedTuple):
    """A fact that remains to be proved.

    Attributes:
        predicate: Its predicate.
        row: Its row in the state.
        latest: The last iteration at which it may be derived; `LAST_ITERATION` means any.
    """

    predicate: str
    row: HeldFact
    latest: int

    @property
    def fact(self) -> Fact:
        """The fact itself."""
        return Fact(self.predicate, self.row.arguments)


OpenPremise: TypeAlias = "Obligation | Absent | Satisfied"


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A rule with one of its matches."""

    rule: Rule
    match: Match
    premises: tuple[OpenPremise, ...]


@dataclass(frozen=True, slots=True)
class Justification:
    """How a fact is derived, and when; without rule matches it is asserted, stated or cut."""

    iteration: int
    rule_matches: tuple[RuleMatch, ...] = ()
    aggregated: tuple[Aggregate, ...] = ()
    total: int = 0
    cut: bool = False

    @property
    def obligations(self) -> Iterator[Obligation]:
        """The facts it depends on, still to be proved."""
        for rule_match in self.rule_matches:
            for premise in rule_match.premises:
                if isinstance(premise, Obligation):
                    yield premise


class Derivations:
    """Derivations of the present facts of one state.

    Args:
        rules: The program.
        store: The facts.
        most_matches: Maximum number of matches shown for an aggregate.
    """

    def __init__(self, rules: Rules, store: FactIndex, max_matches: int) -> None:
        self._rules = rules
        self._store = store
        self._max_matches = max_matches
        self._justifications: dict[Obligation, Justification | None] = {}
        self._circular: set[Fact] = set()

    def mark_circular(self, facts: Iterable[Fact]) -> None:
        """Mark facts to be proved from their first premises, even if those were replaced later."""
        self._circular.update(facts)

    def justify(self, obligation: Obligation) -> Justification:
        """The derivation of a fact that is not asserted."""
        justification = None
        recursive = any(each.recursive for each in self._rules.rule_groups(obligation.fact))
        if obligation.row.until < 0:
            key = obligation._replace(latest=0)
            if key not in self._justifications:
                self._justifications[key] = self._from_final_facts(obligation, recursive=recursive)
            justification = self._justifications[key]
            if justification is None and recursive and obligation.fact not in self._circular:
                justification = self._from_later_facts(obligation)
        if justification is None:
            justification = self._from_previous_iteration(obligation)
        if justification is None:
            raise AssertionError(f"{obligation.fact} is present, but no rule derives it.")
        return justification

    def _from_final_facts(self, obligation: Obligation, *, recursive: bool) -> Justification | None:
        """The first derivation from facts present before this one and at the end of the epoch."""
        iteration = obligation.row.since
        source = self._final_facts(obligation.row.stratum, iteration)
        latest = iteration - 1 if recursive else LAST_ITERATION
        for rule_group in self._rules.rule_groups(obligation.fact):
            if rule_group.aggregates:
                if (justification := self._aggregation(obligation, rule_group)) is not None:
                    return justification
                continue
            for rule, match in self._matches(rule_group, obligation.fact, source):
                return Justification(
                    iteration, (self._rule_match(rule, match, obligation, latest),)
                )
        return None

    def _from_later_facts(self, obligation: Obligation) -> Justification | None:
        """The earliest derivation from facts present at the end, even if they appeared later."""
        stratum = obligation.row.stratum
        source = self._final_facts(stratum, obligation.latest)
        earliest = LAST_ITERATION
        best = None
        for rule, match in self._unaggregated(obligation.fact, source):
            own = [row.since for row in match.facts if row.stratum == stratum]
            if max(own, default=0) < earliest:
                earliest = max(own, default=0)
                best = rule, match
        if best is None:
            return None
        return Justification(earliest + 1, (self._rule_match(*best, obligation, earliest),))

    def _from_previous_iteration(self, obligation: Obligation) -> Justification | None:
        """The first derivation from the facts present in the iteration before this one."""
        before = obligation.row.since - 1
        source = self._facts_at(obligation.row.stratum, before)
        for found in self._unaggregated(obligation.fact, source):
            rule_match = self._rule_match(*found, obligation, before)
            return Justification(obligation.row.since, (rule_match,))
        return None

    def _aggregation(self, obligation: Obligation, rule_group: RuleGroup) -> Justification | None:
        """The matches of the fact's group, if their aggregates equal the fact's arguments."""
        fact, aggregates = obligation.fact, rule_group.aggregates
        source = self._final_facts(obligation.row.stratum, obligation.row.since)
        found = [*self._matches(rule_group, fact, source)]
        if not found:
            return None
        if not all(
            fact.arguments[at]
            in results(each.operation, Counter(match.head[at] for _, match in found).items())
            for at, each in aggregates
        ):
            return None
        contributing = _contributing(found, aggregates, fact)
        return Justification(
            obligation.row.since,
            tuple(
                self._rule_match(rule, match, obligation, LAST_ITERATION)
                for rule, match in islice(contributing, self._max_matches)
            ),
            tuple(each for _, each in aggregates),
            len(contributing),
        )

    def _matches(
        self, rule_group: RuleGroup, fact: Fact, source: Source
    ) -> Iterator[tuple[Rule, Match]]:
        for rule in rule_group.deriving(fact):
            for match in matches(rule, fact, source, self._store):
                yield rule, match

    def _unaggregated(self, fact: Fact, source: Source) -> Iterator[tuple[Rule, Match]]:
        """The matches that derive a fact by themselves."""
        for rule_group in self._rules.rule_groups(fact):
            if not rule_group.aggregates:
                yield from self._matches(rule_group, fact, source)

    def _final_facts(self, stratum: int, before: int) -> Source:
        """Facts present at the end; those of *stratum* only if present before an iteration."""

        def rows(predicate: str, known: Mapping[int, str]) -> HeldFacts:
            return self._store.lookup(predicate, known).before(stratum, before)

        return rows

    def _facts_at(self, stratum: int, iteration: int) -> Source:
        """Present facts; those of *stratum* as of an iteration."""

        def rows(predicate: str, known: Mapping[int, str]) -> HeldFacts:
            then = self._store.lookup(predicate, known, iteration)
            return self._store.lookup(predicate, known).at(stratum, then)

        return rows

    @staticmethod
    def _rule_match(rule: Rule, match: Match, obligation: Obligation, latest: int) -> RuleMatch:
        """The premises of a rule under a match, in the order of its text."""
        found: list[OpenPremise] = []
        facts = iter(match.facts)
        for literal in rule.body:
            if isinstance(literal, Atom):
                *values, _ = conditions(literal, match.terms)
                found += map(Satisfied, values)
                row = next(facts)
                before = _latest(obligation.row.stratum, latest, row)
                found.append(Obligation(literal.predicate, row, before))
            else:
                found += premises(literal, match.terms)
        for argument in rule.head.arguments:
            found += map(Satisfied, computed(operand(argument), match.terms))
        # A value that both body and head compute is listed once.
        distinct = [
            premise
            for at, premise in enumerate(found)
            if not isinstance(premise, Satisfied) or premise not in found[:at]
        ]
        return RuleMatch(rule, match, tuple(distinct))


def _latest(stratum: int, latest: int, row: HeldFact) -> int:
    """The last iteration for a body fact: before the head, if it is of the same stratum."""
    return latest if row.stratum == stratum and row.until < 0 else LAST_ITERATION


def _contributing(
    matches: list[tuple[Rule, Match]], aggregates: tuple[tuple[int, Aggregate], ...], fact: Fact
) -> list[tuple[Rule, Match]]:
    """The matches that a single aggregate counts; all of them if there are several aggregates."""
    match aggregates:
        case [(at, Aggregate(name))] if name in CHOOSING:
            return [match for match in matches if match[1].head[at] == fact.arguments[at]]
        case [(at, Aggregate(name))] if AGGREGATES[name].parameters == (NUMBERS,):
            return [match for match in matches if number(match[1].head[at]) is not None]
        case [(at, Aggregate("count", distinct=True))]:
            first: dict[str, tuple[Rule, Match]] = {}
            for match in matches:
                first.setdefault(match[1].head[at], match)
            return list(first.values())
        case _:
            return matches
