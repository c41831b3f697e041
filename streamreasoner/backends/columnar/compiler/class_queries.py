"""What a program asks of a fact by its constants. Invariant: every grouping has a number here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.compiler.classes import ClassQueries
from streamreasoner.plan.program_plan import is_copy

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.backends.columnar.compiler.classes import Constants
    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.backends.columnar.compiler.rules import CompiledRules
    from streamreasoner.plan.algebra import Arrangement
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_change import ProgramChange
    from streamreasoner.plan.program_plan import ProgramPlan


def class_queries(
    plan: ProgramPlan,
    change: ProgramChange,
    rules: CompiledRules,
    numbering: Numbering,
    encode: Callable[[Pattern | Arrangement], Constants],
) -> ClassQueries:
    """Collect what a program asks; numbers the arrangements that no plan has used yet."""

    def heads(program: ProgramPlan) -> list[tuple[str, Constants, int]]:
        numbered = ((n, head) for n, s in enumerate(program.strata, start=1) for head in s.heads)
        return list(dict.fromkeys((h.predicate, encode(h), n) for n, h in numbered))

    return ClassQueries(
        arities=numbering.arities,
        relations=numbering.relations,
        heads=heads(plan),
        old_heads=heads(change.before),
        arranged=[(a.predicate, encode(a), numbering.grouping(a)) for a in rules.used],
        lattices=[
            (x.pattern.predicate, encode(x.pattern), (numbering.grouping(x), x))
            for x in plan.lattices
        ],
        driven=[
            (
                each.delta.delta.pattern.predicate,
                encode(each.delta.delta.pattern),
                (each.stratum, number, each.shared),
            )
            for number, each in rules.active
        ],
        counted=[
            (
                groups.predicate,
                encode(groups),
                (stratum, counter, groups.key[0] if groups.key else -1),
            )
            for (stratum, groups), counter in rules.counters.items()
        ],
        copied=[
            (
                each.pattern.predicate,
                encode(each.pattern),
                (
                    numbering.relations[each.predicate],
                    -1 if each.position is None else each.position,
                ),
            )
            for each in plan.copies
        ],
        distinguished=[
            (each.delta.delta.pattern.predicate, encode(each.delta.delta.pattern), None)
            for each in rules.withdrawn
        ],
        reductions={r.candidates: i for i, r in enumerate(plan.reductions, start=1)},
        hidden=plan.hidden,
        copies=frozenset(filter(is_copy, numbering.relations)),
        strata=len(plan.strata) + 1,
        groupings=len(numbering.groupings),
    )
