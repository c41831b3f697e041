"""Compile a program into the tables that kernels read. Invariant: every offset stays in its table.

A program that replaces another is compiled together with the withdrawn rules and reductions of its
predecessor, so that the state distinguishes both while it changes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar.compiler import loads
from streamreasoner.backends.columnar.compiler import reductions as reducing
from streamreasoner.backends.columnar.compiler.class_queries import class_queries
from streamreasoner.backends.columnar.compiler.classes import Classes
from streamreasoner.backends.columnar.compiler.instructions import Operands, check_arities
from streamreasoner.backends.columnar.compiler.intersections import Intersections
from streamreasoner.backends.columnar.compiler.plans import plans_and_steps, sorts
from streamreasoner.backends.columnar.compiler.rules import compile_rules, number_of_rules
from streamreasoner.backends.columnar.compiler.tables import (
    ProgramTables,
    int32,
    unused_work,
    work_row,
)
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.plan.order.expected import Heads
from streamreasoner.plan.program_change import ProgramChange
from streamreasoner.plan.program_plan import ProgramPlan, Reduction
from streamreasoner.system.garbage import without_collections

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from streamreasoner.backends.columnar.compiler.classes import Constants
    from streamreasoner.backends.columnar.compiler.numbering import Numbering
    from streamreasoner.backends.columnar.compiler.rules import CompiledRules
    from streamreasoner.backends.columnar.compiler.tables import Columns
    from streamreasoner.plan.algebra import Arrangement
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_plan import RulePlan, StratumPlan


@without_collections
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

    def encode(pattern: Pattern | Arrangement) -> Constants:
        return tuple((position, intern(term)) for position, term in pattern.constants)

    check_arities(plan.arities)
    numbering.add_relations(plan.arities)
    change = change or ProgramChange(ProgramPlan({}, ()), plan, ())
    reductions = (*plan.reductions, *change.reductions)
    rules = compile_rules(plan, change, numbering, intern)
    rules.used.update(plan.keyed)
    rules.used.update(members for each in reductions for members in reducing.members(each))
    for lattice in plan.lattices:
        numbering.grouping(lattice)
    for reduction in reductions:
        numbering.grouping(reduction)
    classes = Classes(class_queries(plan, change, rules, numbering, encode))
    intersections, operands = Intersections(), Operands()
    columns = {
        **_classes(classes, numbering),
        layout.ARRANGEMENTS: _arrangements(numbering, operands, reductions),
        **_reductions(plan, change, numbering, operands, intern),
        **plans_and_steps(rules.plans, intersections, operands),
        layout.LOGGED: np.zeros(len(numbering.relations), np.int32),
        layout.SELF_JOINS: int32((0, *map(_joins_itself, plan.strata))),
        **sorts(intersections, rules.used, numbering, operands, encode),
    }
    columns[layout.OPERANDS] = int32(operands.values)
    logged = loads.logged(plan, numbering)
    return ProgramTables(
        columns=columns,
        strata=len(plan.strata) + 1,
        groupings=len(numbering.groupings),
        indexed=numbering.indexed,
        counters=len(rules.counters),
        group_units=_group_units(numbering, classes),
        lattices_indexed=all(numbering.grouping(x) in numbering.indexed for x in plan.lattices),
        trie_mask=len(columns[layout.TRIE_SLOTS]) // 2 - 1,
        reductions={reduction: row for row, reduction in enumerate(reductions)},
        listing=dict(reducing.listing(reductions)),
        rules=number_of_rules(plan),
        cyclic=frozenset(each.stratum for _, each in rules.active if each.cyclic),
        sorts=len(intersections.sorts),
        drivers={each: _drivers(each.rule, rules, classes, encode) for each in change.evaluations},
        logged=logged,
        targeted={s: loads.targeted(columns, rules, s, rows) for s, rows in logged.items()},
    )


def _drivers(
    rule: RulePlan,
    rules: CompiledRules,
    classes: Classes,
    encode: Callable[[Pattern], Constants],
) -> list[tuple[int, list[int]]]:
    """The plans that a rule can be evaluated in full by, with the classes that drive each."""
    return [
        (number, classes.matching(each.delta.pattern.predicate, encode(each.delta.pattern)))
        for number, each in rules.numbered(rule)
        if not each.delta.negated
    ]


def _joins_itself(stratum: StratumPlan) -> bool:
    """Whether a rule joins facts that its stratum derives with each other."""
    heads = Heads(stratum.heads)
    return any(sum(map(heads.derive, rule.tree.patterns)) > 1 for rule in stratum.rules)


def _classes(classes: Classes, numbering: Numbering) -> Columns:
    """The columns that tell what a fact's constants decide."""
    driven, driven_from = classes.driven()
    return {
        layout.RELATIONS: int32(
            x for p, root in classes.roots.items() for x in (numbering.arities[p], root)
        ),
        layout.CLASSES: int32(x for row in classes.rows for x in row),
        layout.LINK_OFFSETS: classes.link_offsets().reshape(-1),
        layout.MEMBERSHIPS: int32(x for row in classes.memberships for x in row),
        layout.TRIE_NODES: int32(x for node in classes.nodes for x in node),
        layout.TRIE_SLOTS: classes.trie_slots(),
        layout.DISPATCH: np.zeros(layout.DISPATCH_WIDTH * len(classes.rows), np.int32),
        layout.DISPATCHED: int32(classes.dispatched),
        layout.COUNTED: int32(classes.counted),
        layout.COPIES: int32(classes.copied),
        layout.DRIVEN: driven,
        layout.DRIVEN_FROM: driven_from,
        layout.CLASS_SIZES: np.zeros(len(classes.rows), np.int32),
        layout.CLASS_JOURNALED: np.zeros(2 * len(classes.rows), np.int32),
    }


def _reductions(
    plan: ProgramPlan,
    change: ProgramChange,
    numbering: Numbering,
    operands: Operands,
    intern: Callable[[str], int],
) -> Columns:
    """The columns REDUCTIONS and WORK, of the program and of what it withdraws."""
    own = number_of_rules(plan)
    indexed = [(reduction, reduction.source) for reduction in plan.reductions]
    indexed += [(reduction, own + reduction.source) for reduction in change.reductions]
    return {
        layout.REDUCTIONS: int32(
            x
            for reduction, rule in indexed
            for x in reducing.fields(reduction, rule, numbering, operands, intern)
        ),
        layout.WORK: unused_work(work_row(own + number_of_rules(change.before))),
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
    return int32(table)


def _group_units(numbering: Numbering, classes: Classes) -> int:
    """The most units that the groups of one fact take if all of them are new."""
    lengths = {number: len(grouping.key) for grouping, number in numbering.groupings.items()}
    indexed = frozenset(numbering.indexed)
    return max(
        (
            sum(
                (layout.GROUP_KEY + lengths[grouping] + 1) // 2
                for grouping, _ in classes.links(row)
                if grouping not in indexed
            )
            for row in classes.rows
        ),
        default=0,
    )
