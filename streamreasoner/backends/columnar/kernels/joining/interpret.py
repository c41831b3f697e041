"""Interpret a delta plan. Invariant: each match of its steps adds to the head once.

A plan is interpreted depth first: bind the arguments of the delta's fact, probe the next
arrangement, iterate the transitions of each match, and finally add the product of the signs to the
head at the greatest iteration + 1. A step that only counts contributes the size of its group.

A match whose delta is not applied yet is read in its old state, and so is one that is being applied
in the atoms after the one that drives the plan.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.joining.blocks import (
    FIRST,
    add_row,
    emit_rows,
    is_full,
)
from streamreasoner.backends.columnar.kernels.joining.compute import (
    MATCH,
    NO_MATCH,
    bind,
    check_conditions,
    operand,
)
from streamreasoner.backends.columnar.kernels.joining.gather import (
    begin_matches,
    gather,
    next_match,
    open_reader,
)
from streamreasoner.backends.columnar.kernels.joining.intersect import next_common, open_groups
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import find_first
from streamreasoner.backends.columnar.kernels.records.counter import size
from streamreasoner.backends.columnar.kernels.records.entry import presence
from streamreasoner.backends.columnar.kernels.records.fact_record import find, link_offset
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, push
from streamreasoner.backends.columnar.kernels.records.sorted_groups import count_lookups
from streamreasoner.backends.columnar.kernels.records.work import account
from streamreasoner.native.addresses import int32_column, int64_column, signed
from streamreasoner.native.compile import inlined, kernel

_FRESH = 0  # the fact at this depth has not been bound yet
_DONE = -1  # its transitions are exhausted


@kernel
def run(  # noqa: C901, PLR0911, PLR0912, PLR0915 - one loop, so that its state stays in registers
    table: layout.Int64s,
    values: layout.Int64s,
    plan: int,
    fact: int,
    sign: int,
    iteration: int,
    block: int,
    opened: int,
) -> int:
    """Derive through one plan from one fact's change of a transition; returns a status.

    Args:
        table: The addresses.
        values: Values of terms.
        plan: Number of the plan.
        fact: The fact that drives the plan.
        sign: Sign of the change.
        iteration: Iteration of the change.
        block: If a block shares the matches, the number + 1 of its first delta, else 0.
        opened: 1 if the first step has its first match already, else 0.
    """
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    plans = int32_column(table[layout.PLANS])
    steps = int32_column(table[layout.STEPS])
    scratch = int32_column(table[layout.SCRATCH])
    products = int64_column(table[layout.SCRATCH])
    scalars = int64_column(table[layout.SCALARS])
    stratum = scalars[layout.STRATUM]
    field = scalars[layout.STRATUM_FIELD]
    together = scalars[layout.CYCLIC_RULES] == layout.TOGETHER
    p = plan * layout.PLAN_WIDTH
    bound = _bind(table, values, fact, plans, p)
    if bound != MATCH:
        account(table, p, 1, 0)
        return layout.OK if bound == NO_MATCH else layout.FAILED
    sign *= plans[p + layout.PLAN_SIGN]
    last = plans[p + layout.PLAN_STEP_COUNT] - 1
    if last < 0:
        status = _emit(table, p, iteration + 1, sign)
        account(table, p, 1, 1)
        return status
    first = plans[p + layout.PLAN_STEPS]
    scratch[layout.ITERATION_AT] = iteration
    products[layout.PRODUCT_AT] = sign
    depth = signed(0)
    visits = 1
    firings = 0
    end = FIRST
    scratch[layout.ENTRY_AT] = _FRESH
    if opened == 0:
        _open(table, first, depth, fact, together)
    while depth >= 0:
        visits += 1
        match = scratch[layout.FACT_AT + depth]
        if match == 0:
            depth -= 1
            continue
        s = (first + depth) * layout.STEP_WIDTH
        entry = scratch[layout.ENTRY_AT + depth]
        if entry == _DONE:
            _advance(table, first, depth, match, together)
            continue
        header = words[2 * match]
        row = (header & layout.CLASS_BITS) * layout.CLASS_WIDTH
        change = (header >> layout.DELTA_SHIFT) & 7
        if change != 0:
            is_new = together or header & layout.APPLYING != 0
            pending = not is_new or steps[s + layout.STEP_OLD] != 0
            change = change - layout.DELTA_ZERO if pending else 0
        when = 0
        fresh = entry == _FRESH
        if fresh:
            bound = _bind(table, values, match, steps, s)
            if bound != MATCH:
                if bound == NO_MATCH:
                    _advance(table, first, depth, match, together)
                    continue
                return layout.FAILED
            entry = match + 1
        counts = steps[s + layout.STEP_KIND] == layout.COUNT
        absent = steps[s + layout.STEP_KIND] == layout.ABSENT
        own = classes[row + field] == stratum and match != layout.NOTHING
        if counts:
            transition = signed(scratch[layout.SIZE_AT + depth])
            scratch[layout.ENTRY_AT + depth] = _DONE
        elif absent and fresh:
            # Absent from iteration 0 on; present, in a complete stratum, from then on too.
            transition = 1
            if match != layout.NOTHING and not own:
                transition -= presence(table, match) - change
            scratch[layout.ENTRY_AT + depth] = entry if own else _DONE
        elif own:
            transition = (units[entry] & layout.TRANSITION_BITS) - 1
            when = words[2 * entry + 2]
            if when == iteration:
                transition -= change
            if absent:
                transition = -transition
            entry = words[2 * entry + 3]
            scratch[layout.ENTRY_AT + depth] = entry if entry != 0 else _DONE
        else:
            transition = presence(table, match) - change
            scratch[layout.ENTRY_AT + depth] = _DONE
        if transition == 0:
            continue
        when = max(when, scratch[layout.ITERATION_AT + depth])
        product = products[layout.PRODUCT_AT + depth]
        if counts and abs(product) > layout.MAX_MULTIPLICITY // transition:
            return layout.OVERFLOW
        product *= transition
        if depth == last and block != 0:
            end = add_row(table, p, when + 1, product, end)
            if is_full(table, p, end):
                status = emit_rows(table, p, block, end)
                if status != layout.OK:
                    return status
                end = FIRST
        elif depth == last:
            firings += abs(product)
            status = _emit(table, p, when + 1, product)
            if status != layout.OK:
                return status
        else:
            depth += 1
            scratch[layout.ITERATION_AT + depth] = when
            products[layout.PRODUCT_AT + depth] = product
            _open(table, first, depth, fact, together)
    account(table, p, visits, firings)
    return emit_rows(table, p, block, end) if end != FIRST else layout.OK


@inlined
def _bind(
    table: layout.Int64s,
    values: layout.Int64s,
    fact: int,
    rows: layout.Int32s,
    row: int,
) -> int:
    """Bind a fact's arguments to slots; returns MATCH, NO_MATCH or FAILURE of its conditions.

    The row of a plan or of a step, which starts at *row*, says what is done.
    """
    words = int32_column(table[layout.ARENA])
    operands = int32_column(table[layout.OPERANDS])
    scratch = int32_column(table[layout.SCRATCH])
    base = 2 * fact + layout.CELLS
    bind(table, fact, rows, row)
    start = rows[row + layout.STAGE_CHECKS]
    for i in range(start, start + 2 * rows[row + layout.STAGE_CHECK_COUNT], 2):
        if scratch[layout.SLOTS + operands[i + 1]] != words[base + operands[i]]:
            return NO_MATCH
    count = rows[row + layout.STAGE_CONDITION_COUNT]
    if count == 0:
        return MATCH
    return check_conditions(table, values, rows[row + layout.STAGE_CONDITIONS], count)


@inlined
def _open(
    table: layout.Int64s,
    first: int,
    depth: int,
    fact: int,
    together: bool,  # noqa: FBT001
) -> None:
    """Look up the first match of a step of the plan that starts at *first* and a fact drives."""
    steps = int32_column(table[layout.STEPS])
    operands = int32_column(table[layout.OPERANDS])
    scratch = int32_column(table[layout.SCRATCH])
    s = (first + depth) * layout.STEP_WIDTH
    kind = steps[s + layout.STEP_KIND]
    scratch[layout.ENTRY_AT + depth] = _FRESH
    if together:
        if kind == layout.PROBE:
            scratch[layout.MEMBER_AT + depth] = 0
            if steps[s + layout.STEP_GROUP_COUNT] != 0:
                _meet(table, first, depth)
                return
        elif steps[s + layout.STEP_PROBE] != 0:
            intersects = scratch[layout.MEMBER_AT + steps[s + layout.STEP_PROBE] - 1] != 0
            if intersects and scratch[layout.FOUND_AT + depth] != 0:
                scratch[layout.FACT_AT + depth] = scratch[layout.FOUND_AT + depth]
                return
            count_lookups(table, steps[s + layout.STEP_SORT], 1)
    key = steps[s + layout.STEP_KEY]
    key_count = steps[s + layout.STEP_KEY_COUNT]
    for i in range(key_count):
        scratch[layout.CELLS_OUT + i] = operand(table, operands[key + i])
    target = steps[s + layout.STEP_TARGET]
    if kind == layout.COUNT:
        group = signed(scratch[layout.CELLS_OUT]) if key_count != 0 else 0
        members = size(table, target, group, fact, steps[s + layout.STEP_OLD] != 0)
        scratch[layout.SIZE_AT + depth] = members
        match = layout.NOTHING if members != 0 else 0
    elif kind != layout.PROBE:
        match = find(table, target, scratch, layout.CELLS_OUT)
        if match == 0 and kind == layout.ABSENT:
            match = layout.NOTHING
    else:
        match = find_first(table, target, scratch, layout.CELLS_OUT, key_count)
    scratch[layout.FACT_AT + depth] = match


@inlined
def _meet(table: layout.Int64s, first: int, depth: int) -> None:
    """Find the first match of a step that intersects, by sorted groups or by a reader."""
    if not open_groups(table, first, depth):
        open_reader(table, layout.READERS + depth, first, depth)
        gather(table, layout.READERS + depth, signed(1))
        begin_matches(table, first, layout.READERS + depth)


@inlined
def _advance(
    table: layout.Int64s,
    first: int,
    depth: int,
    match: int,
    together: bool,  # noqa: FBT001
) -> None:
    """Advance to the next match of a step."""
    steps = int32_column(table[layout.STEPS])
    words = int32_column(table[layout.ARENA])
    scratch = int32_column(table[layout.SCRATCH])
    s = (first + depth) * layout.STEP_WIDTH
    scratch[layout.ENTRY_AT + depth] = _FRESH
    following = 0
    if steps[s + layout.STEP_KIND] == layout.PROBE:
        if together and scratch[layout.MEMBER_AT + depth] != 0:
            if scratch[layout.MEMBER_AT + depth] < 0:
                next_match(table, ~signed(scratch[layout.MEMBER_AT + depth]))
            else:
                next_common(table, first, depth)
            return
        offset = link_offset(table, words[2 * match], steps[s + layout.STEP_TARGET])
        following = words[2 * match + offset]
    scratch[layout.FACT_AT + depth] = following


@inlined
def _emit(table: layout.Int64s, p: int, iteration: int, multiplicity: int) -> int:
    """Add to the head of the plan whose row starts at *p*."""
    plans = int32_column(table[layout.PLANS])
    operands = int32_column(table[layout.OPERANDS])
    scratch = int32_column(table[layout.SCRATCH])
    head = plans[p + layout.PLAN_HEAD]
    for i in range(plans[p + layout.PLAN_HEAD_COUNT]):
        scratch[layout.CELLS_OUT + i] = operand(table, operands[head + i])
    relation = plans[p + layout.PLAN_HEAD_RELATION]
    return push(table, relation, scratch, layout.CELLS_OUT, iteration, multiplicity, UNKNOWN)
