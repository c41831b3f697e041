"""What a program asks of a fact by its constants. Invariant: every grouping has a number here."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.compiler.classes import ClassQueries
from streamreasoner.plan.algebra import Arrangement
from streamreasoner.plan.program_plan import is_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from streamreasoner.backends.columnar.compiler.classes import Constants
    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.backends.columnar.compiler.rules import CompiledRules
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
        nested=_nested(rules.used, numbering),
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


def _nested(used: AbstractSet[Arrangement], numbering: Numbering) -> dict[int, int]:
    """The arrangements that are nested in others, and each of these others.

    All facts of a nested arrangement are in one group of the other: they have its constants, and
    its key as another constant. No two are nested in the same group, and none in a nested one.
    """
    numbers = {each: numbering.grouping(each) for each in used if len(each.key) == 1}
    nested: dict[int, int] = {}
    groups: set[tuple[int, str]] = set()  # with an arrangement that is nested in it
    outers: set[int] = set()
    for inner, number in sorted(numbers.items(), key=itemgetter(1)):
        for group in _around(inner, numbers):
            if number not in outers and group[0] not in nested and group not in groups:
                groups.add(group)
                outers.add(group[0])
                nested[number] = group[0]
                break
    return nested


def _around(inner: Arrangement, numbers: Mapping[Arrangement, int]) -> Iterator[tuple[int, str]]:
    """The groups, by arrangement and key, that have all facts of an arrangement."""
    for position, term in inner.constants:
        others = tuple(each for each in inner.constants if each[0] != position)
        for constants in dict.fromkeys(((), others)):
            outer = Arrangement(inner.predicate, constants, (position,))
            if outer in numbers:
                yield numbers[outer], term
