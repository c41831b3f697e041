"""Join: step 2 of a fixpoint. Invariant: each applied delta has been derived from exactly once.

Deltas are applied one by one. A combination of body facts contributes when the last of its deltas
is applied: a match whose delta is still pending is read in its old state, and so is the applied
fact itself in the atoms after the one it drives. The contributions telescope to new - old.

The deltas of cyclic rules, in whose plans groups intersect, are applied together if there are many:
old is then the state before all of them and new the one after, so each group is sorted once.

A delta plan is interpreted depth first: bind the arguments of the delta's fact, probe the next
arrangement, iterate the transitions of each match, and finally add the product of the signs to the
head at the greatest iteration + 1. A step that only counts contributes the size of its group.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.joining.blocks import (
    FIRST,
    add_row,
    emit_rows,
    is_full,
    key_of,
    link_blocks,
    take_block,
    unlink_blocks,
)
from streamreasoner.backends.columnar.kernels.joining.compute import (
    MATCH,
    NO_MATCH,
    check_conditions,
    operand,
)
from streamreasoner.backends.columnar.kernels.joining.intersect import next_common, open_groups
from streamreasoner.backends.columnar.kernels.joining.probe import run_probe
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import (
    arrange,
    find_first,
    link_offset,
)
from streamreasoner.backends.columnar.kernels.records.counter import count, size
from streamreasoner.backends.columnar.kernels.records.entry import presence
from streamreasoner.backends.columnar.kernels.records.fact_record import find
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, flush, push
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.backends.columnar.kernels.records.sorted_groups import (
    count_lookup,
    forget_sorted,
)
from streamreasoner.backends.columnar.kernels.records.work import account, start_clock
from streamreasoner.native.addresses import int32_column, int64_column, signed
from streamreasoner.native.compile import inlined, kernel

_RARE = 16  # a class is rare if it has at most 1/_RARE of the deltas
_FRESH = 0  # the fact at this depth has not been bound yet
_DONE = -1  # its transitions are exhausted


@kernel
def put_rare_first(table: layout.Int64s) -> None:
    """Move deltas of rare classes to the front.

    In a large load these are the schema: each fact of a common class then probes a small group, and
    no plan has to iterate over the common classes.
    """
    scalars = int64_column(table[layout.SCALARS])
    deltas = int64_column(table[layout.DELTAS])
    sizes = int32_column(table[layout.CLASS_SIZES])
    count = scalars[layout.DELTA_COUNT]
    if count < _RARE:
        return
    for i in range(count):
        sizes[(deltas[i] >> 32) & layout.CLASS_BITS] += 1
    rare = 0
    for i in range(count):
        delta = deltas[i]
        if _RARE * sizes[(delta >> 32) & layout.CLASS_BITS] <= count:
            deltas[i] = deltas[rare]
            deltas[rare] = delta
            rare += 1
    for i in range(count):
        sizes[(deltas[i] >> 32) & layout.CLASS_BITS] = 0


@kernel
def apply_deltas(
    table: layout.Int64s, values: layout.Int64s, start: int, stop: int, iteration: int
) -> int:
    """Apply deltas one by one and run the plans that their facts drive; returns a status.

    Cyclic rules are left out if they are applied later.

    Args:
        table: The addresses.
        values: Values of terms.
        start: The first delta.
        stop: The last delta + 1.
        iteration: Iteration at which their transitions change.
    """
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    deltas = int64_column(table[layout.DELTAS])
    following = int32_column(table[layout.BLOCK_NEXT])
    has_blocks = scalars[layout.HAS_BLOCKS] != 0
    start_clock(table)
    if has_blocks:
        link_blocks(table, start, stop)
    for i in range(start, stop):
        fact = deltas[i] & LOW
        if words[2 * fact] & layout.DELTA_BITS == 0:
            continue  # applied with an earlier delta of its block
        shares = False
        if has_blocks:
            key = key_of(table, deltas[i])
            if key >= 0:
                take_block(table, key)
                shares = following[i] != 0
        if shares:
            status = _apply_block(table, values, i + 1, iteration)
        else:
            status = _apply_one(table, values, fact, iteration)
        if status != layout.OK:
            if has_blocks:
                unlink_blocks(table, start, stop)
            return status
    return layout.OK


@inlined
def _apply_one(table: layout.Int64s, values: layout.Int64s, fact: int, iteration: int) -> int:
    """Apply a single delta and run the plans that it drives; returns a status."""
    words = int32_column(table[layout.ARENA])
    dispatch = int32_column(table[layout.DISPATCH])
    dispatched = int32_column(table[layout.DISPATCHED])
    if _show(table, fact) != layout.OK:
        return layout.FULL
    row = _dispatch_row(table, fact)
    first = dispatch[row + layout.DISPATCH_START]
    status = layout.OK
    for j in range(first, first + dispatch[row + layout.DISPATCH_COUNT]):
        if not _is_later(table, dispatched[j]):
            status = _drive(table, values, dispatched[j], fact, iteration)
            if status != layout.OK:
                break
    words[2 * fact] &= ~(layout.DELTA_BITS | layout.APPLYING)
    return status


@kernel
def _apply_block(table: layout.Int64s, values: layout.Int64s, block: int, iteration: int) -> int:
    """Apply the deltas of a block, from the one with this number + 1; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    deltas = int64_column(table[layout.DELTAS])
    following = int32_column(table[layout.BLOCK_NEXT])
    dispatch = int32_column(table[layout.DISPATCH])
    dispatched = int32_column(table[layout.DISPATCHED])
    number = block
    status = layout.OK
    while number != 0 and status == layout.OK:
        status = _show(table, deltas[number - 1] & LOW)
        number = following[number - 1]
    row = _dispatch_row(table, deltas[block - 1] & LOW)
    first = dispatch[row + layout.DISPATCH_START]
    key = dispatch[row + layout.DISPATCH_KEY]
    scalars[layout.BLOCK] = block
    for j in range(first, first + dispatch[row + layout.DISPATCH_COUNT]):
        if status != layout.OK:
            break
        if not _is_later(table, dispatched[j]):
            status = _drive_block(table, values, dispatched[j], block, key, iteration)
    scalars[layout.BLOCK] = 0
    while block != 0:
        fact = deltas[block - 1] & LOW
        # After a failure, those that were not shown stay as they are.
        if words[2 * fact] & layout.APPLYING != 0:
            words[2 * fact] &= ~(layout.DELTA_BITS | layout.APPLYING)
        block = following[block - 1]
    return status


@inlined
def _show(table: layout.Int64s, fact: int) -> int:
    """Let plans see the new state of a fact that is about to be applied; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    if words[2 * fact] & layout.ARRANGED == 0 and arrange(table, fact) != layout.OK:
        return layout.FULL
    # Counters of stratum 0 are those of withdrawn rules, which no delta drives.
    if scalars[layout.COUNTER_COUNT] != 0 and scalars[layout.STRATUM] != 0:
        change = ((words[2 * fact] >> layout.DELTA_SHIFT) & 7) - layout.DELTA_ZERO
        count(table, fact, scalars[layout.STRATUM], change)
    words[2 * fact] |= layout.APPLYING
    return layout.OK


@inlined
def _is_later(table: layout.Int64s, plan: int) -> bool:
    """Whether a plan is of a cyclic rule, and those are applied later."""
    if int64_column(table[layout.SCALARS])[layout.CYCLIC_RULES] != layout.LATER:
        return False
    row = plan * layout.PLAN_WIDTH + layout.PLAN_CYCLIC
    return bool(int32_column(table[layout.PLANS])[row] != 0)


@inlined
def _drive_block(
    table: layout.Int64s, values: layout.Int64s, plan: int, block: int, key: int, iteration: int
) -> int:
    """Run a plan for the deltas of a block, once if it shares matches; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    deltas = int64_column(table[layout.DELTAS])
    following = int32_column(table[layout.BLOCK_NEXT])
    p = plan * layout.PLAN_WIDTH
    if int32_column(table[layout.PLANS])[p + layout.PLAN_SHARED] == key:
        leader = deltas[block - 1] & LOW
        if _probed(table, p, leader) == 0:
            return layout.OK
        scalars[layout.SHARED] += 1
        return run(table, values, plan, leader, 1, iteration, block)
    number = block
    while number != 0:
        status = _drive(table, values, plan, deltas[number - 1] & LOW, iteration)
        if status != layout.OK:
            return status
        number = following[number - 1]
    return layout.OK


@inlined
def _dispatch_row(table: layout.Int64s, fact: int) -> int:
    """Offset of the row of a fact's class and of the present stratum."""
    scalars = int64_column(table[layout.SCALARS])
    kind = int32_column(table[layout.ARENA])[2 * fact] & layout.CLASS_BITS
    return layout.DISPATCH_WIDTH * (kind * scalars[layout.STRATA] + scalars[layout.STRATUM])


@inlined
def _drive(
    table: layout.Int64s, values: layout.Int64s, plan: int, fact: int, iteration: int
) -> int:
    """Run a plan for a fact that is being applied; returns a status."""
    p = plan * layout.PLAN_WIDTH
    match = _probed(table, p, fact)
    if match == 0:
        return layout.OK
    header = int32_column(table[layout.ARENA])[2 * fact]
    sign = ((header >> layout.DELTA_SHIFT) & 7) - layout.DELTA_ZERO
    if int32_column(table[layout.PLANS])[p + layout.PLAN_PROBE_HEAD] < 0:
        return run(table, values, plan, fact, sign, iteration, 0)
    return run_probe(table, p, fact, match, sign, iteration)


@inlined
def _probed(table: layout.Int64s, p: int, fact: int) -> int:
    """The first match in the index that a plan probes first, or 0; NOTHING if it probes none."""
    plans = int32_column(table[layout.PLANS])
    probed = plans[p + layout.PLAN_PROBE]
    if probed == 0:
        return layout.NOTHING
    # Most programs have rules without facts for them: no index is read for those.
    index = int64_column(table[layout.FILLED])[probed - 1]
    if index == 0:
        return 0
    key = plans[p + layout.PLAN_PROBE_KEY]
    words = int32_column(table[layout.ARENA])
    return int32_column(index)[~key if key < 0 else words[2 * fact + layout.CELLS + key]]


@kernel
def derive(table: layout.Int64s, values: layout.Int64s, iteration: int) -> int:
    """Apply all deltas with `apply_deltas`, and flush what they derive; returns a status."""
    put_rare_first(table)
    scalars = int64_column(table[layout.SCALARS])
    count = scalars[layout.DELTA_COUNT]
    status = apply_deltas(table, values, 0, count, iteration)
    if status == layout.OK and scalars[layout.CYCLIC_RULES] == layout.LATER:
        mark_deltas(table)
        status = apply_together(table, values, 0, count, iteration)
    return finish(table, status)


@kernel
def mark_deltas(table: layout.Int64s) -> None:
    """Mark the applied deltas again, to apply those of cyclic rules together."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    deltas = int64_column(table[layout.DELTAS])
    for i in range(scalars[layout.DELTA_COUNT]):
        change = deltas[i] >> layout.DELTA_CHANGE_SHIFT
        words[2 * (deltas[i] & LOW)] |= change << layout.DELTA_SHIFT
    scalars[layout.CYCLIC_RULES] = layout.TOGETHER


@kernel
def apply_together(
    table: layout.Int64s, values: layout.Int64s, start: int, stop: int, iteration: int
) -> int:
    """Run the plans of cyclic rules that deltas drive, all of which are marked; returns a status.

    Takes the arguments of `apply_deltas`.
    """
    words = int32_column(table[layout.ARENA])
    deltas = int64_column(table[layout.DELTAS])
    dispatch = int32_column(table[layout.DISPATCH])
    dispatched = int32_column(table[layout.DISPATCHED])
    plans = int32_column(table[layout.PLANS])
    start_clock(table)
    for i in range(start, stop):
        fact = deltas[i] & LOW
        header = words[2 * fact]
        sign = ((header >> layout.DELTA_SHIFT) & 7) - layout.DELTA_ZERO
        row = _dispatch_row(table, fact)
        first = dispatch[row + layout.DISPATCH_START]
        for j in range(first, first + dispatch[row + layout.DISPATCH_COUNT]):
            if plans[dispatched[j] * layout.PLAN_WIDTH + layout.PLAN_CYCLIC] != 0:
                status = run(table, values, dispatched[j], fact, sign, iteration, 0)
                if status != layout.OK:
                    return status
    return layout.OK


@kernel
def finish(table: layout.Int64s, status: int) -> int:
    """Flush pending additions and clear the deltas; a rollback still needs those of a failure."""
    scalars = int64_column(table[layout.SCALARS])
    if scalars[layout.CYCLIC_RULES] == layout.TOGETHER:
        forget_sorted(table)
        words = int32_column(table[layout.ARENA])
        deltas = int64_column(table[layout.DELTAS])
        for i in range(scalars[layout.DELTA_COUNT]):
            words[2 * (deltas[i] & LOW)] &= ~layout.DELTA_BITS
    scalars[layout.CYCLIC_RULES] = layout.ONE_BY_ONE
    if status == layout.OK:
        status = flush(table)
    if status == layout.OK:
        scalars[layout.DELTA_COUNT] = 0
    return status


@kernel
def run(  # noqa: C901, PLR0911, PLR0912, PLR0915 - one loop, so that its state stays in registers
    table: layout.Int64s,
    values: layout.Int64s,
    plan: int,
    fact: int,
    sign: int,
    iteration: int,
    block: int,
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
    bound = _bind(
        table,
        values,
        fact,
        plans[p + layout.PLAN_BINDS],
        plans[p + layout.PLAN_BIND_COUNT],
        plans[p + layout.PLAN_CHECKS],
        plans[p + layout.PLAN_CHECK_COUNT],
        plans[p + layout.PLAN_CONDITIONS],
        plans[p + layout.PLAN_CONDITION_COUNT],
    )
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
    depth = 0
    visits = 1
    firings = 0
    end = FIRST
    _open(table, first, 0, fact, together)
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
            bound = _bind(
                table,
                values,
                match,
                steps[s + layout.STEP_BINDS],
                steps[s + layout.STEP_BIND_COUNT],
                steps[s + layout.STEP_CHECKS],
                steps[s + layout.STEP_CHECK_COUNT],
                steps[s + layout.STEP_CONDITIONS],
                steps[s + layout.STEP_CONDITION_COUNT],
            )
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
    binds: int,
    bind_count: int,
    checks: int,
    check_count: int,
    conditions: int,
    condition_count: int,
) -> int:
    """Bind a fact's arguments to slots; returns MATCH, NO_MATCH or FAILURE of its conditions."""
    words = int32_column(table[layout.ARENA])
    operands = int32_column(table[layout.OPERANDS])
    scratch = int32_column(table[layout.SCRATCH])
    base = 2 * fact + layout.CELLS
    for i in range(binds, binds + 2 * bind_count, 2):
        scratch[layout.SLOTS + operands[i + 1]] = words[base + operands[i]]
    for i in range(checks, checks + 2 * check_count, 2):
        if scratch[layout.SLOTS + operands[i + 1]] != words[base + operands[i]]:
            return NO_MATCH
    if condition_count == 0:
        return MATCH
    return check_conditions(table, values, conditions, condition_count)


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
            if steps[s + layout.STEP_GROUP_COUNT] != 0 and open_groups(table, first, depth):
                return
        elif steps[s + layout.STEP_PROBE] != 0:
            intersects = scratch[layout.MEMBER_AT + steps[s + layout.STEP_PROBE] - 1] != 0
            if intersects and scratch[layout.FOUND_AT + depth] != 0:
                scratch[layout.FACT_AT + depth] = scratch[layout.FOUND_AT + depth]
                return
            count_lookup(table, steps[s + layout.STEP_SORT])
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
