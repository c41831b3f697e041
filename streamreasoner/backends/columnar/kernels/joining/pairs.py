"""Pairs: a winner in the log, and the one it replaces. Invariant: only their values differ.

Both change at one iteration, so a plan that does not read the value has the same matches for both:
it walks them once, and logs one row for the two heads that each match adds and subtracts.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, log_rows, views
from streamreasoner.backends.columnar.kernels.records.pending import (
    UNKNOWN,
    append,
    is_logged,
    push,
    value_argument,
)
from streamreasoner.native.compile import inlined, kernel


@inlined
def is_pair(table: layout.Int64s, i: int, stop: int) -> bool:
    """Whether a delta and the next one are a pair."""
    if i + 1 == stop:
        return False
    gained, lost = lists.delta_fact(table, i), lists.delta_fact(table, i + 1)
    if log_rows.lattice_of(table, facts.field_of(table, gained, layout.CLASS_RELATION)) < 0:
        return False
    key = 1 - facts.field_of(table, gained, layout.CLASS_LATTICE_CELL)
    return bool(
        facts.class_of(table, gained) == facts.class_of(table, lost)
        and facts.argument(table, gained, key) == facts.argument(table, lost, key)
        and facts.change(facts.header(table, gained)) == 1
        and facts.change(facts.header(table, lost)) == -1
    )


@inlined
def shares_matches(table: layout.Int64s, p: int, fact: int) -> bool:
    """Whether the plan whose row starts at *p* logs one row for the heads of a pair.

    It only probes a group whose key is not the value, and nor is that of its head.
    """
    plans = views.plans(table)
    relation = plans[p + layout.PLAN_HEAD_RELATION]
    head = plans[p + layout.PLAN_PROBE_HEAD]
    if head < 0 or log_rows.lattice_of(table, relation) < 0:
        return False
    cell = facts.field_of(table, fact, layout.CLASS_LATTICE_CELL)
    key = head + 1 - value_argument(table, relation)
    is_key = views.operands(table)[key] == cell
    return plans[p + layout.PLAN_PROBE_KEY] != cell and not is_key


@kernel
def push_pair(table: layout.Int64s, p: int, lost: int, iteration: int, multiplicity: int) -> int:
    """Add the head at CELLS_OUT of SCRATCH, and subtract that of the lost fact; a status."""
    scratch = views.scratch(table)
    relation = views.plans(table)[p + layout.PLAN_HEAD_RELATION]
    at = value_argument(table, relation)
    place = views.operands(table)[views.plans(table)[p + layout.PLAN_PROBE_HEAD] + at]
    if not 0 <= place < layout.MAX_ARITY:
        return layout.OK  # the heads are the same fact
    value = facts.argument(table, lost, place)
    if value == scratch[layout.CELLS_OUT + at]:
        return layout.OK
    if is_logged(table, relation, iteration, multiplicity):
        cells = layout.CELLS_OUT
        return append(table, relation, scratch, cells, value + 1, iteration, multiplicity)
    first = push(table, relation, scratch, layout.CELLS_OUT, iteration, multiplicity, UNKNOWN)
    scratch[layout.CELLS_OUT + at] = value
    second = push(table, relation, scratch, layout.CELLS_OUT, iteration, -multiplicity, UNKNOWN)
    return max(first, second)
