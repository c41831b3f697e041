"""Deltas of cyclic rules, applied together. Invariant: each match adds to the head once.

Once all deltas have been applied for the other rules, old is the state before all of them, and new
the one after: Σj new A1 ⋈ … ⋈ ΔAj ⋈ … ⋈ old An. No group changes meanwhile, so it may be sorted,
or read in turns with those of other deltas.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.joining.compute import bind
from streamreasoner.backends.columnar.kernels.joining.gather import (
    begin_matches,
    gather,
    open_reader,
)
from streamreasoner.backends.columnar.kernels.joining.interpret import run
from streamreasoner.backends.columnar.kernels.loading.log import is_full, make_room
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.work import account, is_spent, start_clock
from streamreasoner.native.addresses import signed
from streamreasoner.native.compile import inlined, kernel


@inlined
def dispatch_row(table: layout.Int64s, fact: int) -> int:
    """Offset of the row of a fact's class in the present stratum."""
    return layout.DISPATCH_WIDTH * facts.class_of(table, fact)


@inlined
def after_delta(table: layout.Int64s, status: int) -> int:
    """The status after a delta: the log is merged if it is full, and the budget may be spent."""
    if status == layout.OK and is_full(table):
        status = make_room(table)
    return layout.SPENT if status == layout.OK and is_spent(table) else status


@kernel
def mark_deltas(table: layout.Int64s) -> None:
    """Mark the applied deltas again, to apply those of cyclic rules together."""
    for i in range(views.scalars(table)[layout.DELTA_COUNT]):
        facts.mark(table, lists.delta_fact(table, i), lists.delta_bits(table, i))
    views.scalars(table)[layout.CYCLIC_RULES] = layout.TOGETHER


@kernel
def apply_together(
    table: layout.Int64s, values: layout.Int64s, start: int, stop: int, iteration: int
) -> int:
    """Run the plans of cyclic rules that deltas drive, all of which are marked; returns a status.

    Takes the arguments of `derive.apply_deltas`.
    """
    views.scratch(table)[layout.ITERATION_AT] = iteration
    start_clock(table)
    at = signed(start)
    while at < stop:
        following = _read(table, at, stop)
        status = _run_plans(table, values, at, following, iteration)
        if status != layout.OK:
            return status
        at = following
    return layout.OK


@kernel
def _read(table: layout.Int64s, at: int, stop: int) -> int:
    """Let readers gather for the plans of some deltas; returns the delta to go on with.

    None do if groups are sorted. The row of a reader that is not used has no fact.
    """
    plans = views.plans(table)
    readers = views.readers(table)
    count = signed(0)
    if views.scalars(table)[layout.SORTING] != 0:
        at = stop
    while at < stop and count < layout.READERS:
        fact = lists.delta_fact(table, at)
        at += 1
        row = dispatch_row(table, fact)
        first = views.dispatch(table)[row + layout.DISPATCH_START]
        for j in range(first, first + views.dispatch(table)[row + layout.DISPATCH_COUNT]):
            plan = views.dispatched(table)[j]
            p = plan * layout.PLAN_WIDTH
            if count < layout.READERS and plans[p + layout.PLAN_CYCLIC] != 0 and _reads(table, p):
                bind(table, fact, plans, p)
                row_of_reader = count * layout.READER_WIDTH
                readers[row_of_reader + layout.READER_FACT] = fact
                readers[row_of_reader + layout.READER_PLAN] = plan
                open_reader(table, count, plans[p + layout.PLAN_STEPS], signed(0))
                count += 1
    gather(table, signed(0), count)
    if count < layout.READERS:
        readers[count * layout.READER_WIDTH + layout.READER_FACT] = 0
    return at


@kernel
def _run_plans(
    table: layout.Int64s, values: layout.Int64s, start: int, stop: int, iteration: int
) -> int:
    """Run the plans of deltas in their order, with what readers have gathered; returns a status."""
    reader = signed(0)
    for i in range(start, stop):
        fact = lists.delta_fact(table, i)
        row = dispatch_row(table, fact)
        first = views.dispatch(table)[row + layout.DISPATCH_START]
        for j in range(first, first + views.dispatch(table)[row + layout.DISPATCH_COUNT]):
            plan = views.dispatched(table)[j]
            p = plan * layout.PLAN_WIDTH
            if views.plans(table)[p + layout.PLAN_CYCLIC] == 0:
                continue
            opened = signed(0)
            at = reader * layout.READER_WIDTH
            if (
                reader < layout.READERS
                and views.readers(table)[at + layout.READER_FACT] == fact
                and views.readers(table)[at + layout.READER_PLAN] == plan
            ):
                begin_matches(table, views.plans(table)[p + layout.PLAN_STEPS], reader)
                reader += 1
                opened = 1
                if views.scratch(table)[layout.FACT_AT] == 0:
                    account(table, p, 1, 0)
                    continue
            sign = facts.change(facts.header(table, fact))
            status = run(table, values, plan, fact, sign, iteration, signed(0), opened)
            status = after_delta(table, status)
            if status != layout.OK:
                return status
    return layout.OK


@inlined
def _reads(table: layout.Int64s, p: int) -> bool:
    """Whether all that the plan whose row starts at *p* does at first is to open a group."""
    plans = views.plans(table)
    steps = views.steps(table)
    if plans[p + layout.PLAN_STEP_COUNT] == 0:
        return False
    s = plans[p + layout.PLAN_STEPS] * layout.STEP_WIDTH
    intersects = (
        steps[s + layout.STEP_KIND] == layout.PROBE and steps[s + layout.STEP_GROUP_COUNT] != 0
    )
    tests = plans[p + layout.STAGE_CHECK_COUNT] + plans[p + layout.STAGE_CONDITION_COUNT]
    return bool(intersects and tests == 0)
