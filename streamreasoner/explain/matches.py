"""Matches of a rule for one fact. Invariant: no fact is selected before it is needed.

The leaves of a plan over selected facts are lazy. Facts are tried in text order, so the first match
is deterministic. A rule may have hundreds of conditions, so they are not generators, whose nesting
is limited.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import filterfalse
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from streamreasoner.engine.evaluate import evaluate
from streamreasoner.plan.algebra import Join
from streamreasoner.plan.lower.demand import demand
from streamreasoner.plan.operands import Column
from streamreasoner.plan.order.left_deep import left_deep
from streamreasoner.plan.term_evaluation import holds, matched, term, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from streamreasoner.explain.store import FactIndex, HeldFact
    from streamreasoner.facts import Fact
    from streamreasoner.lang.ast import Rule
    from streamreasoner.plan.algebra import Delta, Scan
    from streamreasoner.plan.operands import Comparison, Computation, Pattern, Test
    from streamreasoner.plan.program_plan import DeltaPlan

    Source: TypeAlias = Callable[[str, Mapping[int, str]], Sequence[HeldFact]]
    """Facts for the positive atoms: predicate, and known terms by position."""

CACHED_RULES = 1000
"""Rules whose plans are kept, as most explanations are of facts of the same rules."""


class Match(NamedTuple):
    """A partial match, or a complete one.

    Attributes:
        terms: Terms by column.
        facts: The facts of the joined atoms.
        head: The arguments of the head, with the operands of aggregates, of a complete match.
    """

    terms: Mapping[str, str]
    facts: tuple[HeldFact, ...] = ()
    head: tuple[str, ...] = ()


def matches(rule: Rule, fact: Fact, source: Source, store: FactIndex) -> Iterator[Match]:
    """The matches of a rule that derive a fact, each with its facts in the order of the text."""
    plan, order = _planned(rule)
    for terms, facts, head in evaluate(plan, SelectLeaves(fact, source, store)):
        yield Match(terms, tuple([facts[at] for at in order]), head)


@lru_cache(maxsize=CACHED_RULES)
def _planned(rule: Rule) -> tuple[DeltaPlan, list[int]]:
    """A plan that joins the cheapest atom first, and when it joins each atom."""
    tree = demand(rule, as_written=False).plan.tree
    plan = left_deep(tree)
    joined = [step.scan.pattern for step in plan.steps if isinstance(step, Join)]
    return plan, [joined.index(pattern) for pattern in tree.patterns]


class SelectLeaves:
    """The leaves of plans: iterators over partial matches, whose facts are in the order of joins.

    Args:
        fact: The delta.
        source: Facts for positive atoms.
        store: Facts for negated atoms.
    """

    def __init__(self, fact: Fact, source: Source, store: FactIndex) -> None:
        self._fact = fact
        self._source = source
        self._store = store

    def delta(self, node: Delta) -> Iterator[Match]:
        """The fact, if it matches."""
        terms = matched(node.pattern, self._fact.arguments, {})
        if terms is not None:
            yield Match(terms)

    def join(self, scan: Scan, left: Iterator[Match]) -> Iterator[Match]:
        """Each match with each fact that matches under its terms."""
        selected = _selection(scan.pattern, self._source)
        for match in left:
            for row in selected(match):
                terms = matched(scan.pattern, row.arguments, match.terms)
                if terms is not None:
                    yield Match(terms, (*match.facts, row))

    def antijoin(self, scan: Scan, left: Iterator[Match]) -> Iterator[Match]:
        """The matches under whose terms no fact is present."""
        return filterfalse(_selection(scan.pattern, self._store.present), left)

    def select(self, condition: Comparison | Test, left: Iterator[Match]) -> Iterator[Match]:
        """The matches for which the condition holds."""
        return filter(lambda match: holds(condition, match.terms), left)

    def extend(self, computation: Computation, left: Iterator[Match]) -> Iterator[Match]:
        """The matches with a value that is new, or equal to the one they have."""
        name = computation.column

        def extended(match: Match) -> Match | None:
            computed = value(computation, match.terms)
            if computed is None or match.terms.get(name, computed) != computed:
                return None
            return Match({**match.terms, name: computed}, match.facts)

        return filter(None, map(extended, left))

    def project(self, left: Iterator[Match], head: Pattern) -> Iterator[Match]:
        """The matches with their heads."""
        operands = [operand for operand in head.arguments if operand is not None]
        for terms, facts, _ in left:
            yield Match(terms, facts, tuple([term(operand, terms) for operand in operands]))


def _selection(pattern: Pattern, source: Source) -> Callable[[Match], Sequence[HeldFact]]:
    """Selects facts by the constants of a pattern, and by its columns that a match has."""
    constants = dict(pattern.constants)
    columns = [
        (position, operand.name)
        for position, operand in enumerate(pattern.arguments)
        if isinstance(operand, Column)
    ]

    def selected(match: Match) -> Sequence[HeldFact]:
        terms = match.terms
        known = {position: terms[name] for position, name in columns if name in terms}
        return source(pattern.predicate, constants | known)

    return selected
