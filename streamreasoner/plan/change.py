"""From one program to the next. Invariant: a rule that is in neither part derives what it did.

What a rule adds to the trace depends on the rule, and on which of the facts that it reads are of
its own stratum: those have iterations, the facts of lower strata are there from the beginning. So a
rule that stays goes and comes again if its stratum gains or loses heads that it reads.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from streamreasoner.plan.algebra import Pattern, ProgramPlan, RuleBody, RulePlan

_Shape: TypeAlias = tuple[str, tuple[tuple[int, str], ...]]
_Known: TypeAlias = "tuple[RuleBody, frozenset[_Shape]]"


@dataclass(frozen=True, slots=True)
class ProgramChange:
    """What is different between two programs, each rule with its stratum in the one it is from.

    Attributes:
        withdrawn: Rules whose derivations go.
        added: Rules whose derivations come.
    """

    withdrawn: tuple[tuple[int, RulePlan], ...]
    added: tuple[tuple[int, RulePlan], ...]


def program_change(before: ProgramPlan, after: ProgramPlan) -> ProgramChange:
    """Compare two programs."""
    old, new = _rules(before), _rules(after)
    return ProgramChange(_surplus(old, new), _surplus(new, old))


def _rules(plan: ProgramPlan) -> dict[_Known, list[tuple[int, RulePlan]]]:
    """The rules of a program by all that decides their derivations; equal rules may occur twice."""
    found: dict[_Known, list[tuple[int, RulePlan]]] = defaultdict(list)
    for number, stratum in enumerate(plan.strata, start=1):
        heads = frozenset((head.predicate, head.constants) for head in stratum.heads)
        for rule in stratum.rules:
            read = frozenset(
                head for head in heads for pattern in rule.body.patterns if _unify(head, pattern)
            )
            found[rule.body, read].append((number, rule))
    return found


def _surplus(
    rules: dict[_Known, list[tuple[int, RulePlan]]],
    others: dict[_Known, list[tuple[int, RulePlan]]],
) -> tuple[tuple[int, RulePlan], ...]:
    return tuple(
        rule for known, given in rules.items() for rule in given[len(others.get(known, ())) :]
    )


def _unify(head: _Shape, pattern: Pattern) -> bool:
    predicate, constants = head
    if predicate != pattern.predicate:
        return False
    wanted = dict(pattern.constants)
    return all(wanted.get(position, term) == term for position, term in constants)
