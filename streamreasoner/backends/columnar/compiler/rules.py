"""Rules as the instructions of their plans. Invariant: a plan's number is its place in the list.

The rules of the program come first, then those that it withdraws from its predecessor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.compiler.instructions import (
    Instructions,
    check_size,
    shared_argument,
)
from streamreasoner.backends.columnar.compiler.intersections import is_cyclic
from streamreasoner.engine.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streamreasoner.backends.columnar.compiler.instructions import Fragment
    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.plan.algebra import Arrangement
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_change import ProgramChange
    from streamreasoner.plan.program_plan import DeltaPlan, ProgramPlan, RulePlan


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """A delta plan and its instructions.

    Attributes:
        delta: The plan.
        fragment: Its instructions.
        stratum: The stratum of its rule; 0 if the rule is withdrawn.
        source: Index of its rule among those of both programs, in normal form.
        shared: `layout.PLAN_SHARED`.
        cyclic: Whether groups intersect in a plan of its rule.
    """

    delta: DeltaPlan
    fragment: Fragment
    stratum: int
    source: int
    shared: int
    cyclic: bool


@dataclass(slots=True)
class CompiledRules:
    """All rules, compiled.

    Attributes:
        plans: Their plans.
        used: The arrangements that plans probe.
        counters: Number of the counter that a plan of a stratum reads the sizes of groups from.
        first: Number of the first plan of each rule, by identity: a program may repeat a rule.
    """

    plans: list[CompiledPlan] = field(default_factory=list)
    used: set[Arrangement] = field(default_factory=set)
    counters: dict[tuple[int, Arrangement], int] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)

    @property
    def active(self) -> Iterator[tuple[int, CompiledPlan]]:
        """The plans of the program itself, with their numbers."""
        return ((number, plan) for number, plan in enumerate(self.plans) if plan.stratum)

    @property
    def withdrawn(self) -> Iterator[CompiledPlan]:
        """The plans of the rules that it withdraws."""
        return (plan for plan in self.plans if not plan.stratum)

    def numbered(self, rule: RulePlan) -> Iterator[tuple[int, DeltaPlan]]:
        """The plans of a rule, with their numbers."""
        return enumerate(rule.plans, start=self.first[id(rule)])


@dataclass(frozen=True, slots=True)
class _Placed:
    """A rule, the stratum that counts for it, its index, and what its stratum derives."""

    rule: RulePlan
    stratum: int
    source: int
    heads: tuple[Pattern, ...]


def compile_rules(
    plan: ProgramPlan, change: ProgramChange, numbering: Numbering, intern: Callable[[str], int]
) -> CompiledRules:
    """Compile the rules of a program, and those that it withdraws.

    Raises:
        ProgramError: A rule is larger than the kernels' tables allow.
    """
    compiled = CompiledRules()

    def number(arrangement: Arrangement) -> int:
        compiled.used.add(arrangement)
        return numbering.grouping(arrangement)

    def fragments(placed: _Placed) -> list[Fragment]:
        def counter(groups: Arrangement) -> int:
            return compiled.counters.setdefault((placed.stratum, groups), len(compiled.counters))

        leaves = Instructions(intern, numbering.relations, number, counter, placed.heads)
        return [evaluate(delta, leaves) for delta in placed.rule.plans]

    every = [(placed, fragments(placed)) for placed in _placed(plan, change)]
    for placed, found in every:
        compiled.first[id(placed.rule)] = len(compiled.plans)
        cyclic = is_cyclic(found)
        for delta, fragment in zip(placed.rule.plans, found, strict=True):
            shared = shared_argument(delta, placed.heads)
            check_size(delta, fragment)
            compiled.plans.append(
                CompiledPlan(delta, fragment, placed.stratum, placed.source, shared, cyclic)
            )
    return compiled


def _placed(plan: ProgramPlan, change: ProgramChange) -> Iterator[_Placed]:
    """Every rule to compile."""
    for number, stratum in enumerate(plan.strata, start=1):
        for rule in stratum.rules:
            yield _Placed(rule, number, rule.source, stratum.heads)
    others = number_of_rules(plan)
    for each in change.evaluations:
        if each.sign < 0:
            # Evaluated before any delta is applied, so it counts in the stratum that applies none.
            heads = change.before.strata[each.stratum - 1].heads
            yield _Placed(each.rule, 0, others + each.rule.source, heads)


def number_of_rules(plan: ProgramPlan) -> int:
    """How many rules in normal form a plan is of, as far as it has any of them."""
    sources = [rule.source for stratum in plan.strata for rule in stratum.rules]
    return max((*sources, *(each.source for each in plan.reductions)), default=-1) + 1
