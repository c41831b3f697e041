"""Compile a program into the tables that kernels read. Invariant: every offset stays in its table.

A program that replaces another is compiled together with the withdrawn rules and reductions of its
predecessor, so that the state distinguishes both while it changes over. Records hold the numbers of
relations and groupings: a number is assigned once and never changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from streamreasoner.backends.columnar.classes import Classes, ClassQueries
from streamreasoner.backends.columnar.instructions import (
    Instructions,
    Operands,
    check_arities,
    check_size,
    shared_argument,
)
from streamreasoner.backends.columnar.intersections import Intersections, is_cyclic
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.engine.evaluate import evaluate
from streamreasoner.plan.algebra import Arrangement
from streamreasoner.plan.operands import RESULT, Column
from streamreasoner.plan.program_change import ProgramChange
from streamreasoner.plan.program_plan import Lattice, ProgramPlan, Reduction
from streamreasoner.values.sums import CHOOSING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.classes import Constants
    from streamreasoner.backends.columnar.instructions import Fragment
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_change import FullEvaluation
    from streamreasoner.plan.program_plan import RulePlan


Grouping: TypeAlias = Arrangement | Lattice | Reduction
"""Groups facts by a key: for a join, a lattice or an aggregate."""


@dataclass(slots=True)
class Numbering:
    """The numbers assigned so far.

    Attributes:
        relations: Number of each predicate.
        groupings: Number of each grouping.
        arities: Arity of every predicate, including those of earlier programs.
    """

    relations: dict[str, int] = field(default_factory=dict)
    groupings: dict[Grouping, int] = field(default_factory=dict)
    arities: dict[str, int] = field(default_factory=dict)

    def add_relations(self, arities: dict[str, int]) -> None:
        """Number the predicates of a program, in alphabetical order."""
        for predicate in sorted(arities):
            self.relations.setdefault(predicate, len(self.relations))
        self.arities |= arities

    def grouping(self, grouping: Grouping) -> int:
        """The number of a grouping."""
        return self.groupings.setdefault(grouping, len(self.groupings))

    @property
    def indexed(self) -> tuple[int, ...]:
        """The groupings whose groups are found through an array by id."""
        return tuple(
            number
            for grouping, number in self.groupings.items()
            if not isinstance(grouping, Reduction) and len(grouping.key) == 1
        )


_FUNCTIONS = {
    "count": layout.FUNCTION_COUNT,
    "count distinct": layout.FUNCTION_DISTINCT,
    "sum": layout.FUNCTION_SUM,
    "avg": layout.FUNCTION_AVERAGE,
    "group_concat": layout.FUNCTION_CONCATENATION,
    "lowest": layout.FUNCTION_LOWEST,
    "highest": layout.FUNCTION_HIGHEST,
}
_MOST_CHOSEN = 1 << 29
SPARE = 1024
"""Values that a group lists beyond twice as many as it shows."""


@dataclass(frozen=True, slots=True)
class ProgramTables:
    """The program as the kernels read it.

    Attributes:
        columns: An array by column of the address table.
        strata: Number of strata, including the input.
        groupings: Number of groupings.
        trie_mask: Mask of the hash table of trie children.
        indexed: The groupings whose groups are found through an array by id.
        counters: Number of counters of the sizes of groups.
        group_units: The most units that the groups of one fact take if all of them are new.
        lattices_indexed: Whether the groups of every lattice are found through an array by id.
        reductions: Row of each reduction.
        separators: By the row of a reduction that concatenates, what stands between two texts.
        rules: Number of its rules in normal form; the column WORK has them first, then those of the
            program that it replaces.
        cyclic: Strata with rules in whose plans groups intersect.
        sorts: How many arguments of arrangements groups are sorted by.
        drivers: Of a rule to evaluate in full: number of each of its plans, with the classes of the
            facts that drive the plan.
        logged: By stratum, the lattices whose heads a load can log, for `log.begin`.
        targeted: By the same strata, the plans whose heads have targets, for `targets.collect`.
    """

    columns: dict[int, NDArray[np.int32] | NDArray[np.int64]]
    strata: int
    groupings: int
    trie_mask: int
    indexed: tuple[int, ...]
    counters: int
    group_units: int
    lattices_indexed: bool
    reductions: dict[Reduction, int]
    separators: dict[int, str]
    rules: int
    cyclic: frozenset[int]
    sorts: int
    drivers: dict[FullEvaluation, list[tuple[int, list[int]]]]
    logged: dict[int, NDArray[np.int32]]
    targeted: dict[int, NDArray[np.int32]]

    def for_empty_state(self) -> ProgramTables:
        """The same program for another state, which has no facts yet."""
        columns = {number: column.copy() for number, column in self.columns.items()}
        for number in _STATE:
            columns[number][:] = 0
        columns[layout.WORK] = _unused_work(len(columns[layout.WORK]))
        return replace(self, columns=columns)


_STATE = (layout.CLASS_SIZES, layout.CLASS_JOURNALED, layout.SORT_LOOKUPS, layout.LOGGED)
"""Columns of the program that kernels write, besides WORK: they are of one state."""


def compile_program(
    plan: ProgramPlan,
    numbering: Numbering,
    intern: Callable[[str], int],
    change: ProgramChange | None = None,
) -> ProgramTables:
    """Compile every delta plan of a program.

    Args:
        plan: The program.
        numbering: Extended with new predicates and groupings.
        intern: Returns the id of a term in canonical N-Triples syntax.
        change: What distinguishes it from the program that it replaces.

    Raises:
        ProgramError: The program is larger than the kernels' tables allow.
    """
    check_arities(plan.arities)
    numbering.add_relations(plan.arities)
    change = change or ProgramChange(ProgramPlan({}, ()), plan, ())
    reductions = (*plan.reductions, *change.reductions)
    kept = len(plan.reductions)
    used: set[Arrangement] = set()

    def number(arrangement: Arrangement) -> int:
        used.add(arrangement)
        return numbering.grouping(arrangement)

    counters: dict[tuple[int, Arrangement], int] = {}

    def fragments_of(rule: RulePlan, stratum: int, heads: tuple[Pattern, ...]) -> list[Fragment]:
        def counter(groups: Arrangement) -> int:
            return counters.setdefault((stratum, groups), len(counters))

        leaves = Instructions(intern, numbering.relations, number, counter, heads)
        return [evaluate(delta, leaves) for delta in rule.plans]

    plans = [(s, delta) for s, each in enumerate(plan.strata, start=1) for delta in each.plans]
    placed = [
        (rule, number, stratum.heads)
        for number, stratum in enumerate(plan.strata, start=1)
        for rule in stratum.rules
    ]
    rules = [rule for rule, *_ in placed]
    sources = [rule.source for rule in rules for _ in rule.plans]
    withdrawn = [each.rule for each in change.evaluations if each.sign < 0]
    number_of_rules = _number_of_rules(plan)
    sources += [number_of_rules + rule.source for rule in withdrawn for _ in rule.plans]
    rules += withdrawn
    # Evaluated before any delta is applied, so they count in the stratum that applies none.
    placed += [
        (each.rule, 0, change.before.strata[each.stratum - 1].heads)
        for each in change.evaluations
        if each.sign < 0
    ]
    starts = accumulate((len(rule.plans) for rule in rules), initial=0)
    first = dict(zip(map(id, rules), starts, strict=False))
    all_plans = [delta for rule in rules for delta in rule.plans]
    fragments = [fragment for each in placed for fragment in fragments_of(*each)]
    keys = [shared_argument(delta, heads) for rule, _, heads in placed for delta in rule.plans]
    for delta, fragment in zip(all_plans, fragments, strict=True):
        check_size(delta, fragment)

    used.update(plan.keyed)
    used.update(members for each in reductions for members in _members(each))
    intersections = Intersections()
    cyclic = [
        each
        for rule in rules
        for each in [is_cyclic(fragments[first[id(rule)] :][: len(rule.plans)])] * len(rule.plans)
    ]

    def encode(pattern: Pattern | Arrangement) -> Constants:
        return tuple((position, intern(term)) for position, term in pattern.constants)

    def heads(program: ProgramPlan) -> list[tuple[str, Constants, int]]:
        numbered = ((n, head) for n, s in enumerate(program.strata, start=1) for head in s.heads)
        return list(dict.fromkeys((h.predicate, encode(h), n) for n, h in numbered))

    for lattice in plan.lattices:
        numbering.grouping(lattice)
    for reduction in reductions:
        numbering.grouping(reduction)
    classes = Classes(
        ClassQueries(
            arities=numbering.arities,
            relations=numbering.relations,
            heads=heads(plan),
            old_heads=heads(change.before),
            arranged=[(a.predicate, encode(a), number(a)) for a in used],
            lattices=[
                (x.pattern.predicate, encode(x.pattern), (numbering.grouping(x), x))
                for x in plan.lattices
            ],
            driven=[
                (d.delta.pattern.predicate, encode(d.delta.pattern), (stratum, index, key))
                for index, ((stratum, d), key) in enumerate(zip(plans, keys, strict=False))
            ],
            counted=[
                (
                    groups.predicate,
                    tuple((p, intern(term)) for p, term in groups.constants),
                    (stratum, counter, groups.key[0] if groups.key else -1),
                )
                for (stratum, groups), counter in counters.items()
            ],
            distinguished=[
                (d.delta.pattern.predicate, encode(d.delta.pattern), None)
                for d in all_plans[len(plans) :]
            ],
            reductions={r.candidates: i for i, r in enumerate(plan.reductions, start=1)},
            hidden=plan.hidden,
            strata=len(plan.strata) + 1,
            groupings=len(numbering.groupings),
        )
    )

    def drivers(rule: RulePlan) -> list[tuple[int, list[int]]]:
        return [
            (
                first[id(rule)] + i,
                classes.matching(d.delta.pattern.predicate, encode(d.delta.pattern)),
            )
            for i, d in enumerate(rule.plans)
            if not d.delta.negated
        ]

    operands = Operands()
    trie_slots = classes.trie_slots()
    driven, driven_from = classes.driven()
    columns = {
        layout.RELATIONS: _int32(
            x for p, root in classes.roots.items() for x in (numbering.arities[p], root)
        ),
        layout.CLASSES: _int32(x for row in classes.rows for x in row),
        layout.LINK_OFFSETS: classes.link_offsets().reshape(-1),
        layout.MEMBERSHIPS: _int32(classes.memberships),
        layout.ARRANGEMENTS: _arrangements(numbering, operands, reductions),
        layout.TRIE_NODES: _int32(x for node in classes.nodes for x in node),
        layout.TRIE_SLOTS: trie_slots,
        layout.DISPATCH: np.zeros(layout.DISPATCH_WIDTH * len(classes.rows), np.int32),
        layout.DISPATCHED: _int32(classes.dispatched),
        layout.COUNTED: _int32(classes.counted),
        layout.DRIVEN: driven,
        layout.DRIVEN_FROM: driven_from,
        layout.CLASS_SIZES: np.zeros(len(classes.rows), np.int32),
        layout.CLASS_JOURNALED: np.zeros(2 * len(classes.rows), np.int32),
        layout.REDUCTIONS: _int32(
            x
            for row, reduction in enumerate(reductions)
            for x in (
                numbering.grouping(reduction),
                len(reduction.key),
                _function(reduction),
                numbering.relations[reduction.head.predicate],
                operands.add(_result_codes(reduction, intern)),
                len(reduction.head.arguments),
                _work_row(reduction.source + (number_of_rules if row >= kept else 0)),
                _limit(reduction),
                2 * _limit(reduction) + SPARE,
                max(map(numbering.grouping, _members(reduction)), default=-1),
            )
        ),
        layout.WORK: _unused_work(_work_row(number_of_rules + _number_of_rules(change.before))),
        **_plans(fragments, sources, keys, cyclic, intersections, operands),
        layout.SORT_LOOKUPS: np.zeros(max(len(intersections.sorts), 1), np.int64),
        layout.LOGGED: np.zeros(len(numbering.relations), np.int32),
    }
    columns[layout.SORTS] = _int32(
        x
        for sort in intersections.sorts
        for x in (
            numbering.grouping(sort.arrangement) if sort.arrangement in used else -1,
            *sort.arrangement.key,
            sort.position,
            numbering.relations[sort.arrangement.predicate],
            operands.add(x for each in encode(sort.arrangement) for x in each),
            len(sort.arrangement.constants),
        )
    )
    columns[layout.OPERANDS] = _int32(operands.values)
    logged = _logged(plan, numbering)
    strata = [s for s, _ in plans]
    targeted = {s: _targeted(columns, strata, s, rows) for s, rows in logged.items()}
    return ProgramTables(
        columns=columns,
        strata=len(plan.strata) + 1,
        groupings=len(numbering.groupings),
        indexed=numbering.indexed,
        counters=len(counters),
        group_units=_group_units(numbering, classes),
        lattices_indexed=all(numbering.grouping(x) in numbering.indexed for x in plan.lattices),
        trie_mask=len(trie_slots) // 2 - 1,
        reductions={reduction: row for row, reduction in enumerate(reductions)},
        separators={
            row: each.parameter
            for row, each in enumerate(reductions)
            if _function(each) == layout.FUNCTION_CONCATENATION
        },
        rules=number_of_rules,
        cyclic=frozenset(s for (s, _), each in zip(plans, cyclic, strict=False) if each),
        sorts=len(intersections.sorts),
        drivers={each: drivers(each.rule) for each in change.evaluations},
        logged=logged,
        targeted=targeted,
    )


def _logged(plan: ProgramPlan, numbering: Numbering) -> dict[int, NDArray[np.int32]]:
    """The lattices whose groups are the facts of a predicate with one equal argument, of two.

    Strata where the schema decides negation are left out: they derive at iterations far ahead.
    """
    logged: dict[int, NDArray[np.int32]] = {}
    for stratum, each in enumerate(plan.strata, start=1):
        heads = {head.predicate for head in each.heads}
        rows = [
            (
                numbering.relations[lattice.pattern.predicate],
                numbering.grouping(lattice),
                lattice.position,
                1 if lattice.function == "min" else -1,
            )
            for lattice in plan.lattices
            if lattice.pattern.predicate in heads
            and len(lattice.pattern.arguments) == layout.LOGGED_ARITY
            and not lattice.pattern.constants
        ]
        if rows and each.guarded is None:
            logged[stratum] = np.array(rows[: layout.LOG_LATTICES_MOST], np.int32).reshape(-1)
    return logged


def _targeted(
    columns: Mapping[int, NDArray[np.int32] | NDArray[np.int64]],
    strata: Sequence[int],
    stratum: int,
    lattices: NDArray[np.int32],
) -> NDArray[np.int32]:
    """The plans of a stratum whose heads have targets; numbers these plans.

    They only probe a group of facts of lower strata, which have the key of the head, but not its
    value.
    """
    classes = columns[layout.CLASSES].reshape(-1, layout.CLASS_WIDTH)
    links = columns[layout.LINK_OFFSETS].reshape(len(classes), -1)
    plans = columns[layout.PLANS].reshape(-1, layout.PLAN_WIDTH)
    operands = columns[layout.OPERANDS]
    values = {
        row[layout.LOGGED_RELATION]: row[layout.LOGGED_VALUE]
        for row in lattices.reshape(-1, layout.LOGGED_WIDTH).tolist()
    }
    found: list[int] = []
    for number, plan in enumerate(plans[: len(strata)]):
        head, relation = plan[layout.PLAN_PROBE_HEAD], plan[layout.PLAN_HEAD_RELATION]
        if strata[number] != stratum or head < 0 or relation not in values:
            continue
        value = values[relation]
        members = links[:, plan[layout.PLAN_PROBE] - 1] >= 0
        if (classes[members, layout.CLASS_STRATUM] < stratum).all() and operands[
            head + value
        ] < layout.MAX_ARITY <= operands[head + 1 - value]:
            found.append(number)
            plan[layout.PLAN_TARGETS] = len(found)
    return np.array(found, np.int32)


def _unused_work(size: int) -> NDArray[np.int64]:
    """The column WORK, of a length, before rules have done anything."""
    column = np.zeros(size, np.int64)
    column[layout.WORK_SIZE] = size
    column[layout.WORK_BUDGET] = layout.WORK_UNLIMITED
    return column


def _work_row(rule: int) -> int:
    """The place of a rule in it."""
    return layout.WORK_RULES + layout.WORK_WIDTH * rule


def _number_of_rules(plan: ProgramPlan) -> int:
    """How many rules in normal form a plan is of, as far as it has any of them."""
    sources = [rule.source for stratum in plan.strata for rule in stratum.rules]
    return max((*sources, *(each.source for each in plan.reductions)), default=-1) + 1


def _plans(
    fragments: Sequence[Fragment],
    sources: Sequence[int],
    keys: Sequence[int],
    cyclic: Sequence[bool],
    intersections: Intersections,
    operands: Operands,
) -> dict[int, NDArray[np.int32] | NDArray[np.int64]]:
    """The tables of plans and their steps."""
    plan_rows = np.zeros((max(len(fragments), 1), layout.PLAN_WIDTH), np.int32)
    step_rows: list[list[int]] = []
    for i, fragment in enumerate(fragments):
        assert fragment.head is not None  # noqa: S101 - `project` is the last leaf of every walk
        relation, cells = fragment.head
        shortcut = fragment.shortcut
        plan_rows[i] = [
            *operands.stage(fragment.start),
            len(step_rows),
            len(fragment.steps),
            relation,
            operands.add(cells),
            len(cells),
            fragment.sign,
            *fragment.probe,
            -1 if shortcut is None else operands.add(shortcut),
            _work_row(sources[i]),
            keys[i],
            operands.add(fragment.shared_head),
            operands.add(x for pair in fragment.kept for x in pair),
            len(fragment.kept),
            int(cyclic[i]),
            0,
        ]
        step_rows.extend(
            [
                *operands.stage(step.stage),
                operands.add(step.key),
                len(step.key),
                step.kind,
                step.target,
                int(step.old),
                *groups,
            ]
            for step, groups in zip(
                fragment.steps, intersections.fields(fragment, operands), strict=True
            )
        )
    return {
        layout.PLANS: plan_rows.reshape(-1),
        layout.STEPS: _int32(x for row in step_rows for x in row),
    }


def _arrangements(
    numbering: Numbering, operands: Operands, reductions: Sequence[Reduction]
) -> NDArray[np.int32]:
    """The key of each grouping, and its reduction if it has one."""
    rows = {reduction: index for index, reduction in enumerate(reductions, start=1)}
    table: list[int] = []
    for grouping in numbering.groupings:
        key = grouping.key
        reduction = rows.get(grouping, 0) if isinstance(grouping, Reduction) else 0
        table.extend((operands.add(key), len(key), reduction))
    return _int32(table)


def _group_units(numbering: Numbering, classes: Classes) -> int:
    """The most units that the groups of one fact take if all of them are new."""
    lengths = {number: len(grouping.key) for grouping, number in numbering.groupings.items()}
    indexed = frozenset(numbering.indexed)
    return max(
        (
            sum(
                (layout.GROUP_KEY + lengths[grouping] + 1) // 2
                for grouping in classes.members(row)
                if grouping not in indexed
            )
            for row in classes.rows
        ),
        default=0,
    )


def _function(reduction: Reduction) -> int:
    """The kernels' number of what a reduction computes."""
    whole = _FUNCTIONS.get(reduction.function)
    return _FUNCTIONS[reduction.name] if whole is None else whole


def _limit(reduction: Reduction) -> int:
    """How many values a reduction chooses; 0 if it computes one."""
    return min(int(reduction.parameter), _MOST_CHOSEN) if reduction.name in CHOOSING else 0


def _members(reduction: Reduction) -> tuple[Arrangement, ...]:
    """The arrangement that the values of a group are read from, where sums do not tell."""
    needs_them = reduction.name in {*CHOOSING, "group_concat"}
    return (Arrangement(reduction.candidates, (), reduction.key),) if needs_them else ()


def _result_codes(reduction: Reduction, intern: Callable[[str], int]) -> tuple[int, ...]:
    """The head of a reduction: key positions, then the length of the key for the result, or ~id."""
    columns = [a.name for a in reduction.head.arguments if isinstance(a, Column)]
    group = [name for name in columns if name != RESULT]
    places = {name: place for place, name in enumerate((*group, RESULT))}
    return tuple(
        places[a.name] if isinstance(a, Column) else ~intern(a.term)
        for a in reduction.head.arguments
        if a is not None
    )


def _int32(values: Iterable[int]) -> NDArray[np.int32]:
    return np.array(list(values) or [0], dtype=np.int32)
