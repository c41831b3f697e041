"""Dependencies (SPARQL 1.2 RL, Rule Dependency). Invariant: data plays no part in them.

R1 depends on R2 if a pattern of R1 that matches more than the base graph unifies with a template of
R2. The dependency is closed if the pattern is in a NOT, or if R1 is run once; otherwise it is open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.sparql.algebra import TripleTerm
from streamreasoner.sparql.rule_set import Absence, Assignment, Triple
from streamreasoner.srl.unification import unify
from streamreasoner.srl.well_formed import variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamreasoner.sparql.rule_set import Rule, RuleSet


@dataclass(frozen=True, slots=True)
class Dependency:
    """A pattern of a rule that can match what a template of another rule generates.

    Attributes:
        rule: Index of the rule that depends.
        on: Index of the rule that it depends on.
        closed: Whether the other rule has to be evaluated completely before.
        pattern: The pattern of `rule`.
        negated: Whether the pattern is in a NOT.
    """

    rule: int
    on: int
    closed: bool
    pattern: Triple
    negated: bool


def is_run_once(rule: Rule, blank_nodes: frozenset[str]) -> bool:
    """Whether a rule assigns a variable, or makes nodes or triple terms in its head."""
    return (
        any(isinstance(each, Assignment) for each in rule.body)
        or makes_nodes(rule, blank_nodes)
        or any(
            isinstance(term, TripleTerm) and any(variables(term))
            for triple in rule.head
            for term in triple.terms
        )
    )


def makes_nodes(rule: Rule, blank_nodes: frozenset[str]) -> bool:
    """Whether the head of a rule has blank nodes, new ones for each solution."""
    return any(each.name in blank_nodes for triple in rule.head for each in variables(triple))


def dependencies(rule_set: RuleSet) -> tuple[tuple[Dependency, ...], ...]:
    """The dependencies of each rule."""
    return tuple(
        tuple(_of_rule(index, rule, rule_set.rules, rule_set.blank_nodes))
        for index, rule in enumerate(rule_set.rules)
    )


def _of_rule(
    index: int, rule: Rule, rules: Sequence[Rule], blank_nodes: frozenset[str]
) -> Iterator[Dependency]:
    once = is_run_once(rule, blank_nodes)
    for pattern, negated in _patterns(rule):
        for on, other in enumerate(rules):
            if any(unify(pattern, template, blank_nodes) for template in other.head):
                yield Dependency(index, on, negated or once, pattern, negated)


def _patterns(rule: Rule) -> Iterator[tuple[Triple, bool]]:
    """The patterns that match what rules derive, and whether they are negated."""
    if rule.of_data:
        return
    for element in rule.body:
        match element:
            case Triple():
                yield element, False
            case Absence(body, of_data=False):
                yield from ((each, True) for each in body if isinstance(each, Triple))
            case _:
                pass
