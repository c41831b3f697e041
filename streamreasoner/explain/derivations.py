"""Derivation of one present fact. Invariant: premises precede their conclusion, so no cycles.

A fact that became present at iteration i of its stratum has a derivation whose body facts of that
stratum were present at i - 1, so the trace guides the search and it never backtracks. Without `min`
and `max`, facts stay present within an epoch, so any derivation from facts of earlier iterations is
as good as the first one, and the proof has minimal height.

With recursive `min` and `max` a fact may outlive its first premises. Premises that are present in
the end are preferred, even if they make the iteration later; where they depend on the fact itself,
or none are left, the proof shows until when the first premises were present.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from streamreasoner.engine.ports import LAST_ITERATION
from streamreasoner.explain.aggregates import aggregate
from streamreasoner.explain.ground import computed, conditions, operand, value
from streamreasoner.explain.matching import Walk, schedule
from streamreasoner.explain.proof import Absent, Condition, Fact
from streamreasoner.lang.ast import Aggregate, Atom, Negation
from streamreasoner.rdf.functions.numbers import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamreasoner.explain.matching import Match, Source
    from streamreasoner.explain.rules import Deriver, Rules
    from streamreasoner.explain.store import Row, Rows, Store
    from streamreasoner.lang.ast import Rule


class Place(NamedTuple):
    """A fact to be proved.

    Attributes:
        predicate: Its predicate.
        row: Its row in the state.
        latest: The last iteration at which it may be derived; `LAST_ITERATION` if any will do.
    """

    predicate: str
    row: Row
    latest: int

    @property
    def fact(self) -> Fact:
        """The fact itself."""
        return Fact(self.predicate, self.row.arguments)


PlacedPremise: TypeAlias = "Place | Absent | Condition"


@dataclass(frozen=True, slots=True)
class Instance:
    """A rule with one of its matches."""

    rule: Rule
    match: Match
    premises: tuple[PlacedPremise, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """How a fact is derived, and when; without instances it is asserted, stated or cut."""

    iteration: int
    instances: tuple[Instance, ...] = ()
    aggregated: tuple[Aggregate, ...] = ()
    total: int = 0
    cut: bool = False

    @property
    def places(self) -> Iterator[Place]:
        """The facts it depends on."""
        for instance in self.instances:
            for premise in instance.premises:
                if isinstance(premise, Place):
                    yield premise


class Derivations:
    """Derivations of the present facts of one state.

    Args:
        rules: The program.
        store: The facts.
        most_matches: Maximum number of matches shown for an aggregate.
    """

    def __init__(self, rules: Rules, store: Store, most_matches: int) -> None:
        self._rules = rules
        self._store = store
        self._most_matches = most_matches
        self._direct: dict[Place, Found | None] = {}
        self._circular: set[Fact] = set()

    def avoid(self, facts: Iterable[Fact]) -> None:
        """Prove these facts from their first premises, even if those were replaced later."""
        self._circular.update(facts)

    def of(self, place: Place) -> Found:
        """The derivation of a fact that is not asserted."""
        found = None
        recursive = any(each.recursive for each in self._rules.derivers(place.fact))
        if place.row.until < 0:
            key = place._replace(latest=0)
            if key not in self._direct:
                self._direct[key] = self._from_lasting(place, recursive=recursive)
            found = self._direct[key]
            if found is None and recursive and place.fact not in self._circular:
                found = self._from_later(place)
        if found is None:
            found = self._from_passing(place)
        if found is None:
            raise AssertionError(f"{place.fact} is present, but no rule derives it.")
        return found

    def _from_lasting(self, place: Place, *, recursive: bool) -> Found | None:
        """The first derivation from facts present before this one and in the end."""
        iteration = place.row.since
        source = self._lasting(place.row.stratum, iteration)
        latest = iteration - 1 if recursive else LAST_ITERATION
        for deriver in self._rules.derivers(place.fact):
            if deriver.aggregated:
                if (found := self._aggregation(place, deriver)) is not None:
                    return found
                continue
            for rule, match in self._matches(deriver, place.fact, source):
                return Found(iteration, (self._instance(rule, match, place, latest),))
        return None

    def _from_later(self, place: Place) -> Found | None:
        """The earliest derivation from facts present in the end, even if they appeared later."""
        stratum = place.row.stratum
        source = self._lasting(stratum, place.latest)
        earliest = LAST_ITERATION
        best = None
        for deriver in self._rules.derivers(place.fact):
            if deriver.aggregated:
                continue
            for rule, match in self._matches(deriver, place.fact, source):
                own = [row.since for row in match.facts.values() if row.stratum == stratum]
                if max(own, default=0) < earliest:
                    earliest = max(own, default=0)
                    best = rule, match
        if best is None:
            return None
        return Found(earliest + 1, (self._instance(*best, place, earliest),))

    def _from_passing(self, place: Place) -> Found | None:
        """The first derivation from the facts present one iteration before this one."""
        before = place.row.since - 1
        source = self._passing(place.row.stratum, before)
        for deriver in self._rules.derivers(place.fact):
            if deriver.aggregated:
                continue
            for rule, match in self._matches(deriver, place.fact, source):
                return Found(place.row.since, (self._instance(rule, match, place, before),))
        return None

    def _aggregation(self, place: Place, deriver: Deriver) -> Found | None:
        """The matches of the fact's group, if their aggregates equal the fact's arguments."""
        fact = place.fact
        aggregates = [
            argument
            for position in deriver.aggregated
            if isinstance(argument := deriver.rules[0].head.arguments[position], Aggregate)
        ]
        source = self._lasting(place.row.stratum, place.row.since)
        matches: list[tuple[Rule, Match, tuple[str, ...]]] = []
        for rule, match in self._matches(deriver, fact, source):
            terms = [
                value(operand(rule.head.arguments[position]), match.bindings)
                for position in deriver.aggregated
            ]
            known = tuple(term for term in terms if term is not None)
            if len(known) == len(terms):
                matches.append((rule, match, known))
        if not matches:
            return None
        columns = zip(*(terms for _, _, terms in matches), strict=True)
        results = [
            aggregate(each.function, column, distinct=each.distinct)
            for each, column in zip(aggregates, columns, strict=True)
        ]
        if results != [fact.arguments[position] for position in deriver.aggregated]:
            return None
        contributing = _contributing(matches, aggregates)
        shown = islice(contributing, self._most_matches)
        return Found(
            place.row.since,
            tuple(self._instance(rule, match, place, LAST_ITERATION) for rule, match, _ in shown),
            tuple(aggregates),
            len(contributing),
        )

    def _matches(
        self, deriver: Deriver, fact: Fact, source: Source
    ) -> Iterator[tuple[Rule, Match]]:
        for rule, given in deriver.goals(fact):
            walk = Walk(schedule(rule, given, as_written=False), source, self._store)
            for match in walk.matches(given.bindings):
                yield rule, match

    def _lasting(self, stratum: int, before: int) -> Source:
        """Facts present in the end; those of *stratum* only if present before an iteration."""

        def rows(predicate: str, known: Mapping[int, str], constant: frozenset[int]) -> Rows:
            return self._store.held(predicate, known, constant).before(stratum, before)

        return rows

    def _passing(self, stratum: int, iteration: int) -> Source:
        """Present facts; those of *stratum* as of an iteration."""

        def rows(predicate: str, known: Mapping[int, str], constant: frozenset[int]) -> Rows:
            then = self._store.held(predicate, known, constant, iteration)
            return self._store.held(predicate, known, constant).at(stratum, then)

        return rows

    @staticmethod
    def _instance(rule: Rule, match: Match, place: Place, latest: int) -> Instance:
        """The premises of a rule under a match, in the order of its text."""
        premises: list[PlacedPremise] = []
        index = 0
        for literal in rule.body:
            if isinstance(literal, Atom):
                for argument in literal.arguments:
                    premises += map(Condition, computed(argument, match.bindings))
                row = match.facts[index]
                premises.append(
                    Place(literal.predicate, row, _latest(place.row.stratum, latest, row))
                )
                index += 1
                continue
            *before, last = conditions(literal, match.bindings)
            premises += map(Condition, before)
            match last:
                case Negation(Atom() as atom):
                    premises.append(Absent(atom))
                case _:
                    premises.append(Condition(last))
        for argument in rule.head.arguments:
            premises += map(Condition, computed(operand(argument), match.bindings))
        # A value that both body and head compute is listed once.
        distinct = [
            premise
            for at, premise in enumerate(premises)
            if not isinstance(premise, Condition) or premise not in premises[:at]
        ]
        return Instance(rule, match, tuple(distinct))


def _latest(stratum: int, latest: int, row: Row) -> int:
    """The last iteration for a body fact: before the head, if it is of the same stratum."""
    return latest if row.stratum == stratum and row.until < 0 else LAST_ITERATION


def _contributing(
    matches: list[tuple[Rule, Match, tuple[str, ...]]], aggregates: list[Aggregate]
) -> list[tuple[Rule, Match, tuple[str, ...]]]:
    """The matches that a single aggregate counts; all of them if there are several aggregates."""
    match aggregates:
        case [Aggregate("sum" | "avg")]:
            return [match for match in matches if number(match[2][0]) is not None]
        case [Aggregate("count", distinct=True)]:
            first: dict[str, tuple[Rule, Match, tuple[str, ...]]] = {}
            for match in matches:
                first.setdefault(match[2][0], match)
            return list(first.values())
        case _:
            return matches
