"""Differences between programs. Invariant: a rule in neither part derives the same as before.

The contribution of a rule to the trace depends on the rule, and on which of the facts it reads are
derived in its own stratum: those have iterations, while facts of lower strata are present from
iteration 0. A rule whose stratum gains or loses heads that it reads is therefore both withdrawn and
added.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_plan import ProgramPlan, RulePlan

_Shape: TypeAlias = tuple[str, tuple[tuple[int, str], ...]]
_Key: TypeAlias = tuple[tuple[object, ...], frozenset[_Shape]]


@dataclass(frozen=True, slots=True)
class ProgramChange:
    """The difference between two programs, as (stratum, rule) pairs.

    Attributes:
        withdrawn: Rules whose derivations are removed, with their strata in the old program.
        added: Rules whose derivations are added, with their strata in the new program.
    """

    withdrawn: tuple[tuple[int, RulePlan], ...]
    added: tuple[tuple[int, RulePlan], ...]


def program_change(before: ProgramPlan, after: ProgramPlan) -> ProgramChange:
    """Compare two programs."""
    old, new = _rules(before), _rules(after)
    return ProgramChange(_surplus(old, new), _surplus(new, old))


def _rules(plan: ProgramPlan) -> dict[_Key, list[tuple[int, RulePlan]]]:
    """Group the rules by everything that determines their derivations; rules may repeat."""
    rules: dict[_Key, list[tuple[int, RulePlan]]] = defaultdict(list)
    for number, stratum in enumerate(plan.strata, start=1):
        heads = frozenset((head.predicate, head.constants) for head in stratum.heads)
        for rule in stratum.rules:
            patterns = rule.tree.patterns
            read = frozenset(
                head for head in heads for pattern in patterns if _unify(head, pattern)
            )
            rules[rule.tree.parts, read].append((number, rule))
    return rules


def _surplus(
    rules: dict[_Key, list[tuple[int, RulePlan]]],
    others: dict[_Key, list[tuple[int, RulePlan]]],
) -> tuple[tuple[int, RulePlan], ...]:
    return tuple(rule for key, items in rules.items() for rule in items[len(others.get(key, ())) :])


def _unify(head: _Shape, pattern: Pattern) -> bool:
    predicate, constants = head
    if predicate != pattern.predicate:
        return False
    expected = dict(pattern.constants)
    return all(expected.get(position, term) == term for position, term in constants)
