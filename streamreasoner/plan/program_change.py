"""Differences between programs. Invariant: a rule in neither part derives the same as before.

The contribution of a rule to the trace depends on the rule, and on which of the facts it reads are
derived in its own stratum: those have iterations, while facts of lower strata are present from
iteration 0. A rule whose stratum gains or loses heads that it reads is therefore both withdrawn and
added.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.plan.program_plan import Lattice, ProgramPlan, Reduction, RulePlan

_Shape: TypeAlias = tuple[str, tuple[tuple[int, str], ...]]
_Key: TypeAlias = tuple[tuple[object, ...], frozenset[_Shape]]


@dataclass(frozen=True, slots=True, eq=False)
class FullEvaluation:
    """A rule to evaluate on all facts, once.

    Attributes:
        sign: 1 if the rule is added, -1 if it is withdrawn.
        stratum: Its stratum, in the program that it belongs to.
        rule: The rule.
    """

    sign: int
    stratum: int
    rule: RulePlan


@dataclass(frozen=True, slots=True)
class ProgramChange:
    """The difference between two programs.

    Attributes:
        before: The former program.
        after: The new program with the predicates of the former, whose facts stay in the state.
        evaluations: The rules whose derivations are withdrawn, then those whose are added.
    """

    before: ProgramPlan
    after: ProgramPlan
    evaluations: tuple[FullEvaluation, ...]

    @property
    def reductions(self) -> tuple[Reduction, ...]:
        """The reductions that the new program lacks."""
        kept = frozenset(self.after.reductions)
        return tuple(each for each in self.before.reductions if each not in kept)

    @property
    def lattices(self) -> tuple[Lattice, ...]:
        """The lattices that only one program has, sorted so that a replay has the same order."""
        return tuple(sorted({*self.before.lattices} ^ {*self.after.lattices}, key=repr))


def program_change(before: ProgramPlan, after: ProgramPlan) -> ProgramChange:
    """Compare two programs."""
    old, new = _rules(before), _rules(after)
    both = replace(
        after, arities=before.arities | after.arities, hidden=before.hidden | after.hidden
    )
    return ProgramChange(before, both, (*_surplus(old, new, -1), *_surplus(new, old, 1)))


def _rules(plan: ProgramPlan) -> dict[_Key, list[tuple[int, RulePlan]]]:
    """Group the rules by everything that determines their derivations; rules may repeat."""
    rules: dict[_Key, list[tuple[int, RulePlan]]] = defaultdict(list)
    for number, stratum in enumerate(plan.strata, start=1):
        heads = frozenset((head.predicate, head.constants) for head in stratum.heads)
        for rule in stratum.rules:
            patterns = rule.tree.patterns
            read = frozenset(head for head in heads for pattern in patterns if pattern.fits(*head))
            rules[rule.tree.parts, read].append((number, rule))
    return rules


def _surplus(
    rules: dict[_Key, list[tuple[int, RulePlan]]],
    others: dict[_Key, list[tuple[int, RulePlan]]],
    sign: int,
) -> Iterator[FullEvaluation]:
    for key, items in rules.items():
        for stratum, rule in items[len(others.get(key, ())) :]:
            yield FullEvaluation(sign, stratum, rule)
