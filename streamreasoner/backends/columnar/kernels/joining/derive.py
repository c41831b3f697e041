"""Join: step 2 of a fixpoint. Invariant: each applied delta has been derived from exactly once.

Deltas are applied one by one. A combination of body facts contributes when the last of its deltas
is applied: a match whose delta is still pending is read in its old state, and so is the applied
fact itself in the atoms after the one it drives. The contributions telescope to new - old.

A delta plan is interpreted depth first: bind the arguments of the delta's fact, probe the next
arrangement, iterate the transitions of each match, and finally add the product of the signs to the
head at the greatest iteration + 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.kernels.joining.compute import (
    MATCH,
    NO_MATCH,
    check_conditions,
    operand,
)
from streamreasoner.backends.columnar.kernels.joining.probe import run_probe
from streamreasoner.backends.columnar.kernels.records.arrangement import (
    arrange,
    find_first,
    link_offset,
)
from streamreasoner.backends.columnar.kernels.records.entry import presence
from streamreasoner.backends.columnar.kernels.records.fact_record import find
from streamreasoner.backends.columnar.kernels.records.layout import (
    ABSENT,
    ARENA,
    ARRANGED,
    CELLS,
    CELLS_OUT,
    CLASS_BITS,
    CLASS_SIZES,
    CLASS_WIDTH,
    CLASSES,
    DELTA_BITS,
    DELTA_COUNT,
    DELTA_SHIFT,
    DELTA_ZERO,
    DELTAS,
    DISPATCH,
    DISPATCHED,
    ENTRY_AT,
    FACT_AT,
    FAILED,
    FULL,
    INDEXES,
    ITERATION_AT,
    NOTHING,
    OK,
    OPERANDS,
    PLAN_BIND_COUNT,
    PLAN_BINDS,
    PLAN_CHECK_COUNT,
    PLAN_CHECKS,
    PLAN_CONDITION_COUNT,
    PLAN_CONDITIONS,
    PLAN_HEAD,
    PLAN_HEAD_COUNT,
    PLAN_HEAD_RELATION,
    PLAN_PROBE,
    PLAN_PROBE_KEY,
    PLAN_SIGN,
    PLAN_STEP_COUNT,
    PLAN_STEPS,
    PLAN_WIDTH,
    PLANS,
    PROBE,
    SCALARS,
    SCRATCH,
    SIGN_AT,
    SLOTS,
    STEP_BIND_COUNT,
    STEP_BINDS,
    STEP_CHECK_COUNT,
    STEP_CHECKS,
    STEP_CONDITION_COUNT,
    STEP_CONDITIONS,
    STEP_KEY,
    STEP_KEY_COUNT,
    STEP_KIND,
    STEP_OLD,
    STEP_TARGET,
    STEP_WIDTH,
    STEPS,
    STRATA,
    STRATUM,
    STRATUM_FIELD,
    TRANSITION_BITS,
)
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, flush, push
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.native.addresses import int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.kernels.records.layout import Int64s

_RARE = 16  # a class is rare if it has at most 1/_RARE of the deltas
_FRESH = 0  # the fact at this depth has not been bound yet
_DONE = -1  # its transitions are exhausted


@kernel
def put_rare_first(table: Int64s) -> None:
    """Move deltas of rare classes to the front.

    In a large load these are the schema: each fact of a common class then probes a small group, and
    no plan has to iterate over the common classes.
    """
    scalars = int64_column(table[SCALARS])
    deltas = int64_column(table[DELTAS])
    sizes = int32_column(table[CLASS_SIZES])
    count = scalars[DELTA_COUNT]
    if count < _RARE:
        return
    for i in range(count):
        sizes[deltas[i] >> 32] += 1
    rare = 0
    for i in range(count):
        delta = deltas[i]
        if _RARE * sizes[delta >> 32] <= count:
            deltas[i] = deltas[rare]
            deltas[rare] = delta
            rare += 1
    for i in range(count):
        sizes[deltas[i] >> 32] = 0


@kernel
def apply_deltas(table: Int64s, values: Int64s, start: int, stop: int, iteration: int) -> int:
    """Apply deltas and run the plans that their facts drive in this stratum; returns a status.

    Args:
        table: The addresses.
        values: Values of terms.
        start: The first delta.
        stop: The last delta + 1.
        iteration: Iteration at which their transitions change.
    """
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    deltas = int64_column(table[DELTAS])
    dispatch = int32_column(table[DISPATCH])
    dispatched = int32_column(table[DISPATCHED])
    plans = int32_column(table[PLANS])
    indexes = int64_column(table[INDEXES])
    for i in range(start, stop):
        fact = deltas[i] & LOW
        header = words[2 * fact]
        if header & ARRANGED == 0 and arrange(table, fact) != OK:
            return FULL
        sign = ((header >> DELTA_SHIFT) & 7) - DELTA_ZERO
        row = 2 * ((header & CLASS_BITS) * scalars[STRATA] + scalars[STRATUM])
        for j in range(dispatch[row], dispatch[row] + dispatch[row + 1]):
            p = dispatched[j] * PLAN_WIDTH
            probed = plans[p + PLAN_PROBE]
            if probed == 0:
                status = run(table, values, dispatched[j], fact, sign, iteration)
            else:
                key = plans[p + PLAN_PROBE_KEY]
                term = ~key if key < 0 else words[2 * fact + CELLS + key]
                match = int32_column(indexes[probed - 1])[term]
                if match == 0:
                    continue
                status = run_probe(table, p, fact, match, sign, iteration)
            if status != OK:
                return status
        words[2 * fact] &= ~DELTA_BITS
    return OK


@kernel
def derive(table: Int64s, values: Int64s, iteration: int) -> int:
    """Apply all deltas with `apply_deltas`, and flush what they derive; returns a status."""
    put_rare_first(table)
    count = int64_column(table[SCALARS])[DELTA_COUNT]
    return finish(table, apply_deltas(table, values, 0, count, iteration))


@kernel
def finish(table: Int64s, status: int) -> int:
    """Flush pending additions and clear the deltas; a rollback still needs those of a failure."""
    if status == OK:
        status = flush(table)
    if status == OK:
        int64_column(table[SCALARS])[DELTA_COUNT] = 0
    return status


@kernel
def run(  # noqa: C901, PLR0912, PLR0915 - one loop, so that its state stays in registers
    table: Int64s, values: Int64s, plan: int, fact: int, sign: int, iteration: int
) -> int:
    """Derive through one plan from one fact's change of a transition; returns a status."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    plans = int32_column(table[PLANS])
    steps = int32_column(table[STEPS])
    scratch = int32_column(table[SCRATCH])
    scalars = int64_column(table[SCALARS])
    stratum = scalars[STRATUM]
    field = scalars[STRATUM_FIELD]
    p = plan * PLAN_WIDTH
    bound = _bind(
        table,
        values,
        fact,
        plans[p + PLAN_BINDS],
        plans[p + PLAN_BIND_COUNT],
        plans[p + PLAN_CHECKS],
        plans[p + PLAN_CHECK_COUNT],
        plans[p + PLAN_CONDITIONS],
        plans[p + PLAN_CONDITION_COUNT],
    )
    if bound != MATCH:
        return OK if bound == NO_MATCH else FAILED
    sign *= plans[p + PLAN_SIGN]
    last = plans[p + PLAN_STEP_COUNT] - 1
    if last < 0:
        return _emit(table, p, iteration + 1, sign)
    first = plans[p + PLAN_STEPS]
    scratch[ITERATION_AT] = iteration
    scratch[SIGN_AT] = sign
    depth = 0
    _open(table, first, 0)
    while depth >= 0:
        match = scratch[FACT_AT + depth]
        if match == 0:
            depth -= 1
            continue
        s = (first + depth) * STEP_WIDTH
        entry = scratch[ENTRY_AT + depth]
        if entry == _DONE:
            _advance(table, s, depth, match)
            continue
        header = words[2 * match]
        row = (header & CLASS_BITS) * CLASS_WIDTH
        change = (header >> DELTA_SHIFT) & 7
        if change != 0:
            pending = match != fact or steps[s + STEP_OLD] != 0
            change = change - DELTA_ZERO if pending else 0
        when = 0
        if entry == _FRESH:
            bound = _bind(
                table,
                values,
                match,
                steps[s + STEP_BINDS],
                steps[s + STEP_BIND_COUNT],
                steps[s + STEP_CHECKS],
                steps[s + STEP_CHECK_COUNT],
                steps[s + STEP_CONDITIONS],
                steps[s + STEP_CONDITION_COUNT],
            )
            if bound != MATCH:
                if bound == NO_MATCH:
                    _advance(table, s, depth, match)
                    continue
                return FAILED
            entry = match + 1
        if steps[s + STEP_KIND] == ABSENT:
            # A lower stratum is complete: the fact is absent, or not, from iteration 0 on.
            transition = 1
            if match != NOTHING:
                transition -= presence(table, match) - change
            scratch[ENTRY_AT + depth] = _DONE
        elif classes[row + field] == stratum:
            transition = (units[entry] & TRANSITION_BITS) - 1
            when = words[2 * entry + 2]
            if when == iteration:
                transition -= change
            entry = words[2 * entry + 3]
            scratch[ENTRY_AT + depth] = entry if entry != 0 else _DONE
        else:
            transition = presence(table, match) - change
            scratch[ENTRY_AT + depth] = _DONE
        if transition == 0:
            continue
        when = max(when, scratch[ITERATION_AT + depth])
        product = scratch[SIGN_AT + depth] * transition
        if depth == last:
            status = _emit(table, p, when + 1, product)
            if status != OK:
                return status
        else:
            depth += 1
            scratch[ITERATION_AT + depth] = when
            scratch[SIGN_AT + depth] = product
            _open(table, first + depth, depth)
    return OK


@inlined
def _bind(
    table: Int64s,
    values: Int64s,
    fact: int,
    binds: int,
    bind_count: int,
    checks: int,
    check_count: int,
    conditions: int,
    condition_count: int,
) -> int:
    """Bind a fact's arguments to slots; returns MATCH, NO_MATCH or FAILURE of its conditions."""
    words = int32_column(table[ARENA])
    operands = int32_column(table[OPERANDS])
    scratch = int32_column(table[SCRATCH])
    base = 2 * fact + CELLS
    for i in range(binds, binds + 2 * bind_count, 2):
        scratch[SLOTS + operands[i + 1]] = words[base + operands[i]]
    for i in range(checks, checks + 2 * check_count, 2):
        if scratch[SLOTS + operands[i + 1]] != words[base + operands[i]]:
            return NO_MATCH
    if condition_count == 0:
        return MATCH
    return check_conditions(table, values, conditions, condition_count)


@inlined
def _open(table: Int64s, step: int, depth: int) -> None:
    """Look up the first match of a step."""
    steps = int32_column(table[STEPS])
    operands = int32_column(table[OPERANDS])
    scratch = int32_column(table[SCRATCH])
    s = step * STEP_WIDTH
    key = steps[s + STEP_KEY]
    count = steps[s + STEP_KEY_COUNT]
    for i in range(count):
        scratch[CELLS_OUT + i] = operand(table, operands[key + i])
    target = steps[s + STEP_TARGET]
    kind = steps[s + STEP_KIND]
    if kind != PROBE:
        match = find(table, target, scratch, CELLS_OUT)
        if match == 0 and kind == ABSENT:
            match = NOTHING
    else:
        match = find_first(table, target, scratch, CELLS_OUT, count)
    scratch[FACT_AT + depth] = match
    scratch[ENTRY_AT + depth] = _FRESH


@inlined
def _advance(table: Int64s, s: int, depth: int, match: int) -> None:
    """Advance to the next match of the step whose row starts at *s*."""
    steps = int32_column(table[STEPS])
    words = int32_column(table[ARENA])
    scratch = int32_column(table[SCRATCH])
    following = 0
    if steps[s + STEP_KIND] == PROBE:
        offset = link_offset(table, words[2 * match], steps[s + STEP_TARGET])
        following = words[2 * match + offset]
    scratch[FACT_AT + depth] = following
    scratch[ENTRY_AT + depth] = _FRESH


@inlined
def _emit(table: Int64s, p: int, iteration: int, multiplicity: int) -> int:
    """Add to the head of the plan whose row starts at *p*."""
    plans = int32_column(table[PLANS])
    operands = int32_column(table[OPERANDS])
    scratch = int32_column(table[SCRATCH])
    head = plans[p + PLAN_HEAD]
    for i in range(plans[p + PLAN_HEAD_COUNT]):
        scratch[CELLS_OUT + i] = operand(table, operands[head + i])
    relation = plans[p + PLAN_HEAD_RELATION]
    return push(table, relation, scratch, CELLS_OUT, iteration, multiplicity, UNKNOWN)
