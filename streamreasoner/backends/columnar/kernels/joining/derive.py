"""Join: step 2 of a fixpoint. Invariant: each applied delta has been derived from exactly once.

Deltas are applied one by one. A combination of body facts contributes when the last of its deltas
is applied: a match whose delta is still pending is read in its old state, and so is the applied
fact itself in the atoms after the one it drives. The contributions telescope to new - old. Deltas
of a block, which share matches, are applied as one.

The deltas of cyclic rules, in whose plans groups intersect, are applied together, after all others.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.joining.blocks import (
    key_of,
    link_blocks,
    take_block,
    unlink_blocks,
)
from streamreasoner.backends.columnar.kernels.joining.interpret import run
from streamreasoner.backends.columnar.kernels.joining.pairs import (
    is_pair,
    shares_matches,
)
from streamreasoner.backends.columnar.kernels.joining.probe import run_probe
from streamreasoner.backends.columnar.kernels.joining.together import (
    after_delta,
    apply_together,
    dispatch_row,
    mark_deltas,
)
from streamreasoner.backends.columnar.kernels.loading.targets import has_targets, log_targets
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import arrange
from streamreasoner.backends.columnar.kernels.records.counter import count_change
from streamreasoner.backends.columnar.kernels.records.entry import change_of, class_of
from streamreasoner.backends.columnar.kernels.records.fact_record import cell
from streamreasoner.backends.columnar.kernels.records.pending import flush
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.backends.columnar.kernels.records.sorted_groups import forget_sorted
from streamreasoner.backends.columnar.kernels.records.work import start_clock
from streamreasoner.native.addresses import int32_column, int64_column, signed
from streamreasoner.native.compile import inlined, kernel

_RARE = 16  # a class is rare if it has at most 1/_RARE of the deltas


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
        sizes[class_of(deltas[i])] += 1
    rare = 0
    for i in range(count):
        delta = deltas[i]
        if _RARE * sizes[class_of(delta)] <= count:
            deltas[i] = deltas[rare]
            deltas[rare] = delta
            rare += 1
    for i in range(count):
        sizes[class_of(deltas[i])] = 0


@kernel
def apply_deltas(
    table: layout.Int64s, values: layout.Int64s, start: int, stop: int, iteration: int
) -> int:
    """Apply deltas one by one and run the plans that their facts drive; returns a status.

    It is SPENT after the delta with which the rules have spent their budget, so that rows are left.
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
    logging = scalars[layout.LOGGING] != 0
    start_clock(table)
    if has_blocks:
        link_blocks(table, start, stop)
    for i in range(start, stop):
        fact = deltas[i] & LOW
        if words[2 * fact] & layout.DELTA_BITS == 0:
            continue  # applied with an earlier delta, of its block or pair
        shares = False
        key = -1
        if has_blocks:
            key = key_of(table, deltas[i])
            if key >= 0:
                take_block(table, key)
                shares = following[i] != 0
        if shares:
            status = _apply_block(table, values, i + 1, iteration)
        else:
            pair = logging and key < 0 and is_pair(table, i, stop)
            lost = deltas[i + 1] & LOW if pair else 0
            status = _apply_one(table, values, fact, lost, iteration)
        status = after_delta(table, status)
        if status != layout.OK:
            if has_blocks:
                unlink_blocks(table, start, stop)
            return status
    return layout.OK


@inlined
def _apply_one(
    table: layout.Int64s, values: layout.Int64s, fact: int, lost: int, iteration: int
) -> int:
    """Apply a single delta, or those of a pair, and run the plans that they drive; a status."""
    words = int32_column(table[layout.ARENA])
    dispatch = int32_column(table[layout.DISPATCH])
    dispatched = int32_column(table[layout.DISPATCHED])
    if _show(table, fact) != layout.OK or (lost != 0 and _show(table, lost) != layout.OK):
        return layout.FULL
    row = dispatch_row(table, fact)
    first = dispatch[row + layout.DISPATCH_START]
    status = layout.OK
    for j in range(first, first + dispatch[row + layout.DISPATCH_COUNT]):
        if _is_later(table, dispatched[j]):
            continue
        p = dispatched[j] * layout.PLAN_WIDTH
        shared = lost if lost != 0 and shares_matches(table, p, fact) else 0
        driven = fact
        while driven != 0 and status == layout.OK:
            status = _drive(table, values, dispatched[j], driven, iteration, shared)
            driven = lost if driven != lost and shared == 0 else 0
        if status != layout.OK:
            break
    words[2 * fact] &= ~(layout.DELTA_BITS | layout.APPLYING)
    if lost != 0:
        words[2 * lost] &= ~(layout.DELTA_BITS | layout.APPLYING)
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
    row = dispatch_row(table, deltas[block - 1] & LOW)
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
        count_change(table, fact, change_of(words[2 * fact]))
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
        return run(table, values, plan, leader, signed(1), iteration, block, signed(0))
    number = block
    while number != 0:
        status = _drive(table, values, plan, deltas[number - 1] & LOW, iteration, signed(0))
        if status != layout.OK:
            return status
        number = following[number - 1]
    return layout.OK


@inlined
def _drive(
    table: layout.Int64s, values: layout.Int64s, plan: int, fact: int, iteration: int, lost: int
) -> int:
    """Run a plan for a fact that is being applied; returns a status.

    If a fact is lost, it is that of a pair whose matches the plan shares.
    """
    p = plan * layout.PLAN_WIDTH
    sign = change_of(int32_column(table[layout.ARENA])[2 * fact])
    if has_targets(table, p, fact, iteration):
        return log_targets(table, p, fact, sign, iteration, lost)
    match = _probed(table, p, fact)
    if match == 0:
        return layout.OK
    if int32_column(table[layout.PLANS])[p + layout.PLAN_PROBE_HEAD] < 0:
        return run(table, values, plan, fact, sign, iteration, signed(0), signed(0))
    return run_probe(table, p, fact, match, sign, iteration, lost)


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
    return int32_column(index)[cell(table, fact, plans[p + layout.PLAN_PROBE_KEY])]


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
