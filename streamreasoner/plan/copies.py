"""The plan of a part. Invariant: rules differ from those of the whole state in what they read only.

An atom that reads facts which its part does not own reads their copies. A copy belongs to the
stratum of the fact, so that its iterations mean the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from streamreasoner.plan import algebra
from streamreasoner.plan.operands import Pattern
from streamreasoner.plan.program_plan import DeltaPlan, RulePlan, StratumPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from streamreasoner.plan.division import Division, Placed
    from streamreasoner.plan.program_plan import Copy, ProgramPlan


def with_copies(plan: ProgramPlan, division: Division, others: Iterable[Copy] = ()) -> ProgramPlan:
    """The plan of a part, which is the same for all parts.

    Args:
        plan: The program.
        division: How it is divided.
        others: Copies that a part has besides those that the rules read.
    """
    copies = tuple(dict.fromkeys((*division.copies, *others)))
    arities = {copy.predicate: plan.arities[copy.pattern.predicate] for copy in copies}
    return replace(
        plan,
        arities=plan.arities | arities,
        hidden=plan.hidden.union(arities),
        strata=tuple(
            replace(
                stratum,
                rules=tuple(map(_reading, stratum.rules, placed)),
                copies=tuple(dict.fromkeys(_copied(stratum, copies))),
            )
            for stratum, placed in zip(plan.strata, division.strata, strict=True)
        ),
        copies=copies,
    )


def _copied(stratum: StratumPlan, copies: Sequence[Copy]) -> Iterator[Pattern]:
    """The patterns of the copies of what a stratum derives."""
    for head in stratum.heads:
        for copy in copies:
            if copy.pattern.fits(head.predicate, head.constants):
                yield Pattern(copy.predicate, head.arguments)


def _reading(rule: RulePlan, placed: Placed) -> RulePlan:
    """A rule that reads copies."""
    if not placed.reads:
        return rule
    plans = (DeltaPlan(_renamed(plan.tree, placed.reads)) for plan in rule.plans)
    return replace(rule, tree=_renamed(rule.tree, placed.reads), plans=tuple(plans))


def _renamed(tree: algebra.Project, reads: Mapping[Pattern, Copy]) -> algebra.Project:
    """A tree over copies."""

    def pattern(original: Pattern) -> Pattern:
        copy = reads.get(original)
        return original if copy is None else Pattern(copy.predicate, original.arguments)

    def change(node: algebra.PlanTree) -> algebra.PlanTree:
        match node:
            case algebra.Scan(read, age):
                return algebra.Scan(pattern(read), age)
            case algebra.Delta(read, negated):
                return algebra.Delta(pattern(read), negated)
            case algebra.Antijoin(below):
                return algebra.Antijoin(
                    below, algebra.Scan(pattern(node.scan.pattern), node.scan.age)
                )
            case _:
                return node

    return cast("algebra.Project", algebra.mapped(tree, change))
