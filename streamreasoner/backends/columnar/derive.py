"""Join: step 2 of a fixpoint. Invariant: Δ(A1 ⋈ … ⋈ An) is the sum over the delta plans of each Aj.

A delta plan is interpreted depth first: bind the arguments of the delta's fact, probe the next
arrangement, take each transition of each match, and at the end add the product of the signs to the
head at the greatest iteration + 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.arrangement import find_group, link_offset
from streamreasoner.backends.columnar.entry import presence
from streamreasoner.backends.columnar.fact import find
from streamreasoner.backends.columnar.layout import (
    ARENA,
    CELLS,
    CELLS_OUT,
    CLASS_BITS,
    CLASS_STRATUM,
    CLASS_WIDTH,
    CLASSES,
    DELTA_COUNT,
    DELTA_SHIFT,
    DELTA_ZERO,
    DELTAS,
    DISPATCH,
    DISPATCHED,
    ENTRY_AT,
    FACT_AT,
    GROUP_FIRST,
    ITERATION_AT,
    LOOKUP,
    OK,
    OPERANDS,
    PLAN_BIND_COUNT,
    PLAN_BINDS,
    PLAN_CHECK_COUNT,
    PLAN_CHECKS,
    PLAN_FILTER_COUNT,
    PLAN_FILTERS,
    PLAN_HEAD,
    PLAN_HEAD_COUNT,
    PLAN_HEAD_RELATION,
    PLAN_STEP_COUNT,
    PLAN_STEPS,
    PLAN_WIDTH,
    PLANS,
    SCALARS,
    SCRATCH,
    SIGN_AT,
    SLOTS,
    STEP_BIND_COUNT,
    STEP_BINDS,
    STEP_CHECK_COUNT,
    STEP_CHECKS,
    STEP_FILTER_COUNT,
    STEP_FILTERS,
    STEP_KEY,
    STEP_KEY_COUNT,
    STEP_KIND,
    STEP_OLD,
    STEP_TARGET,
    STEP_WIDTH,
    STEPS,
    STRATA,
    STRATUM,
    TRANSITION_BITS,
)
from streamreasoner.backends.columnar.pending import flush, push
from streamreasoner.backends.columnar.settle import clear_deltas
from streamreasoner.backends.columnar.slots import hash_cells
from streamreasoner.backends.columnar.views import int32_view, int64_view
from streamreasoner.rdf.kernels.comparing import compare
from streamreasoner.rdf.kernels.compile import inlined, kernel

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.views import Int64s

_FRESH = 0  # the fact at this depth has not been looked at
_DONE = -1  # its transitions are used up


@kernel
def derive(table: Int64s, values: Int64s, iteration: int) -> int:
    """Run, for every delta, the plans that its fact drives in this stratum; returns a status."""
    scalars = int64_view(table, SCALARS)
    words = int32_view(table, ARENA)
    deltas = int32_view(table, DELTAS)
    dispatch = int32_view(table, DISPATCH)
    dispatched = int32_view(table, DISPATCHED)
    stratum = scalars[STRATUM]
    for i in range(scalars[DELTA_COUNT]):
        fact = deltas[i]
        header = words[2 * fact]
        row = 2 * ((header & CLASS_BITS) * scalars[STRATA] + stratum)
        sign = ((header >> DELTA_SHIFT) & 7) - DELTA_ZERO
        for j in range(dispatch[row], dispatch[row] + dispatch[row + 1]):
            status = _run(table, values, dispatched[j], fact, sign, iteration)
            if status != OK:
                return status
    clear_deltas(table)
    return flush(table)


@kernel
def _run(  # noqa: C901, PLR0912, PLR0915 - one loop, kept whole so that its state is in registers
    table: Int64s, values: Int64s, plan: int, fact: int, sign: int, iteration: int
) -> int:
    """What one fact's change of a transition derives through one plan; returns a status."""
    words = int32_view(table, ARENA)
    units = int64_view(table, ARENA)
    classes = int32_view(table, CLASSES)
    plans = int32_view(table, PLANS)
    steps = int32_view(table, STEPS)
    scratch = int32_view(table, SCRATCH)
    stratum = int64_view(table, SCALARS)[STRATUM]
    p = plan * PLAN_WIDTH
    if not _bind(
        table,
        values,
        fact,
        plans[p + PLAN_BINDS],
        plans[p + PLAN_BIND_COUNT],
        plans[p + PLAN_CHECKS],
        plans[p + PLAN_CHECK_COUNT],
        plans[p + PLAN_FILTERS],
        plans[p + PLAN_FILTER_COUNT],
    ):
        return OK
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
            change = change - DELTA_ZERO if steps[s + STEP_OLD] else 0
        when = 0
        if entry == _FRESH:
            if not _bind(
                table,
                values,
                match,
                steps[s + STEP_BINDS],
                steps[s + STEP_BIND_COUNT],
                steps[s + STEP_CHECKS],
                steps[s + STEP_CHECK_COUNT],
                steps[s + STEP_FILTERS],
                steps[s + STEP_FILTER_COUNT],
            ):
                _advance(table, s, depth, match)
                continue
            entry = match + 1
        if classes[row + CLASS_STRATUM] == stratum:
            transition = (units[entry] & TRANSITION_BITS) - 1
            when = words[2 * entry + 2]
            if when == iteration:
                transition -= change
            entry = words[2 * entry + 3]
            scratch[ENTRY_AT + depth] = entry if entry != 0 else _DONE
        else:
            # A lower stratum is complete: its facts are there, or not, from iteration 0 on.
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
    filters: int,
    filter_count: int,
) -> bool:
    """Take a fact's arguments into slots; whether repeated variables and filters agree."""
    words = int32_view(table, ARENA)
    operands = int32_view(table, OPERANDS)
    scratch = int32_view(table, SCRATCH)
    base = 2 * fact + CELLS
    for i in range(binds, binds + 2 * bind_count, 2):
        scratch[SLOTS + operands[i + 1]] = words[base + operands[i]]
    for i in range(checks, checks + 2 * check_count, 2):
        if scratch[SLOTS + operands[i + 1]] != words[base + operands[i]]:
            return False
    for i in range(filters, filters + 3 * filter_count, 3):
        order = compare(values, _operand(table, operands[i + 1]), _operand(table, operands[i + 2]))
        if (1 << (order + 1)) & operands[i] == 0:
            return False
    return True


@inlined
def _operand(table: Int64s, code: int) -> int:
    """The term of an operand: a slot, or a constant as its complement."""
    if code < 0:
        return ~code
    return int32_view(table, SCRATCH)[SLOTS + code]


@inlined
def _open(table: Int64s, step: int, depth: int) -> None:
    """Look the first match of a step up."""
    steps = int32_view(table, STEPS)
    operands = int32_view(table, OPERANDS)
    scratch = int32_view(table, SCRATCH)
    s = step * STEP_WIDTH
    key = steps[s + STEP_KEY]
    count = steps[s + STEP_KEY_COUNT]
    for i in range(count):
        scratch[CELLS_OUT + i] = _operand(table, operands[key + i])
    target = steps[s + STEP_TARGET]
    if steps[s + STEP_KIND] == LOOKUP:
        match = find(table, target, scratch, CELLS_OUT)
    else:
        tag = hash_cells(target, scratch, CELLS_OUT, count)
        match = find_group(table, target, scratch, CELLS_OUT, count, tag)
        if match != 0:
            match = int32_view(table, ARENA)[2 * match + GROUP_FIRST]
    scratch[FACT_AT + depth] = match
    scratch[ENTRY_AT + depth] = _FRESH


@inlined
def _advance(table: Int64s, s: int, depth: int, match: int) -> None:
    """Go on to the next match of the step whose row starts at *s*."""
    steps = int32_view(table, STEPS)
    words = int32_view(table, ARENA)
    scratch = int32_view(table, SCRATCH)
    following = 0
    if steps[s + STEP_KIND] != LOOKUP:
        offset = link_offset(table, words[2 * match], steps[s + STEP_TARGET])
        following = words[2 * match + offset]
    scratch[FACT_AT + depth] = following
    scratch[ENTRY_AT + depth] = _FRESH


@inlined
def _emit(table: Int64s, p: int, iteration: int, multiplicity: int) -> int:
    """Add to the head of the plan whose row starts at *p*."""
    plans = int32_view(table, PLANS)
    operands = int32_view(table, OPERANDS)
    scratch = int32_view(table, SCRATCH)
    head = plans[p + PLAN_HEAD]
    for i in range(plans[p + PLAN_HEAD_COUNT]):
        scratch[CELLS_OUT + i] = _operand(table, operands[head + i])
    return push(table, plans[p + PLAN_HEAD_RELATION], scratch, CELLS_OUT, iteration, multiplicity)
