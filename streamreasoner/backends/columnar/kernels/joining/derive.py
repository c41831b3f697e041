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
from streamreasoner.backends.columnar.kernels.joining.pairs import is_pair, shares_matches
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
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.pending import flush
from streamreasoner.backends.columnar.kernels.records.sorted_groups import forget_sorted
from streamreasoner.backends.columnar.kernels.records.work import is_limited, start_clock
from streamreasoner.backends.columnar.kernels.settling.forecast import joins_itself, spreads
from streamreasoner.native.addresses import int32_column, signed
from streamreasoner.native.compile import inlined, kernel

_RARE = 16  # a class is rare if it has at most 1/_RARE of the deltas
_TRIED = 8  # one in eight deltas of common classes is tried first,
_FEWEST, _MOST = 8, 1 << 10  # but no fewer, or none, and no more


@kernel
def put_rare_first(table: layout.Int64s) -> int:
    """Move deltas of rare classes to the front; returns how many there are.

    In a large load these are the schema: each fact of a common class then probes a small group, and
    no plan has to iterate over the common classes.
    """
    deltas = views.deltas(table)
    sizes = views.class_sizes(table)
    count = views.scalars(table)[layout.DELTA_COUNT]
    if count < _RARE:
        return 0
    for i in range(count):
        sizes[lists.delta_class(table, i)] += 1
    rare = 0
    for i in range(count):
        delta = deltas[i]
        if _RARE * sizes[lists.delta_class(table, i)] <= count:
            deltas[i] = deltas[rare]
            deltas[rare] = delta
            rare += 1
    for i in range(count):
        sizes[lists.delta_class(table, i)] = 0
    return rare


@kernel
def try_some(table: layout.Int64s, values: layout.Int64s, iteration: int) -> tuple[int, int]:
    """Put the deltas in order, and apply the first ones if a forecast needs them.

    Those of rare classes are applied first, and then some of the others, evenly chosen. What these
    take tells what all will, but for the largest: a single fact that many others depend on.

    Returns:
        A status, SPENT if the epoch is hopeless; and the number of deltas that were applied.
    """
    rare = put_rare_first(table)
    common = views.scalars(table)[layout.DELTA_COUNT] - rare
    tried = min(common // _TRIED, _MOST)
    if iteration != 0 or tried < _FEWEST or not is_limited(table) or not joins_itself(table):
        return layout.OK, 0
    deltas = views.deltas(table)
    for i in range(tried):
        chosen = rare + i * (common // tried)
        deltas[rare + i], deltas[chosen] = deltas[chosen], deltas[rare + i]
    status = apply_deltas(table, values, 0, rare, iteration)
    total = 0
    largest = 0
    for i in range(rare, rare + tried):
        before = views.work(table)[layout.WORK_SPENT]
        status = max(status, apply_deltas(table, values, i, i + 1, iteration))
        if status != layout.OK:
            return status, 0
        took = views.work(table)[layout.WORK_SPENT] - before
        total += took
        largest = max(largest, took)
    if spreads(table, (total - largest) * common // (tried - 1)):
        return layout.SPENT, 0
    return flush(table), rare + tried


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
    has_blocks = views.scalars(table)[layout.HAS_BLOCKS] != 0
    logging = views.scalars(table)[layout.LOGGING] != 0
    start_clock(table)
    if has_blocks:
        link_blocks(table, start, stop)
    for i in range(start, stop):
        fact = lists.delta_fact(table, i)
        if not facts.has(table, fact, layout.DELTA_BITS):
            continue  # applied with an earlier delta, of its block or pair
        shares = False
        key = -1
        if has_blocks:
            key = key_of(table, i)
            if key >= 0:
                take_block(table, key)
                shares = views.block_next(table)[i] != 0
        if shares:
            status = _apply_block(table, values, i + 1, iteration)
        else:
            pair = logging and key < 0 and is_pair(table, i, stop)
            lost = lists.delta_fact(table, i + 1) if pair else 0
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
    dispatched = views.dispatched(table)
    if _show(table, fact) != layout.OK or (lost != 0 and _show(table, lost) != layout.OK):
        return layout.FULL
    row = dispatch_row(table, fact)
    first = views.dispatch(table)[row + layout.DISPATCH_START]
    status = layout.OK
    for j in range(first, first + views.dispatch(table)[row + layout.DISPATCH_COUNT]):
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
    facts.unmark(table, fact, layout.DELTA_BITS | layout.APPLYING)
    if lost != 0:
        facts.unmark(table, lost, layout.DELTA_BITS | layout.APPLYING)
    return status


@kernel
def _apply_block(table: layout.Int64s, values: layout.Int64s, block: int, iteration: int) -> int:
    """Apply the deltas of a block, from the one with this number + 1; returns a status."""
    following = views.block_next(table)
    dispatch = views.dispatch(table)
    number = block
    status = layout.OK
    while number != 0 and status == layout.OK:
        status = _show(table, lists.delta_fact(table, number - 1))
        number = following[number - 1]
    row = dispatch_row(table, lists.delta_fact(table, block - 1))
    first = dispatch[row + layout.DISPATCH_START]
    key = dispatch[row + layout.DISPATCH_KEY]
    views.scalars(table)[layout.BLOCK] = block
    for j in range(first, first + dispatch[row + layout.DISPATCH_COUNT]):
        if status != layout.OK:
            break
        if not _is_later(table, views.dispatched(table)[j]):
            status = _drive_block(table, values, views.dispatched(table)[j], block, key, iteration)
    views.scalars(table)[layout.BLOCK] = 0
    while block != 0:
        fact = lists.delta_fact(table, block - 1)
        # After a failure, those that were not shown stay as they are.
        if facts.has(table, fact, layout.APPLYING):
            facts.unmark(table, fact, layout.DELTA_BITS | layout.APPLYING)
        block = following[block - 1]
    return status


@inlined
def _show(table: layout.Int64s, fact: int) -> int:
    """Let plans see the new state of a fact that is about to be applied; returns a status."""
    if not facts.has(table, fact, layout.ARRANGED) and arrange(table, fact) != layout.OK:
        return layout.FULL
    # Counters of stratum 0 are those of withdrawn rules, which no delta drives.
    if (
        views.scalars(table)[layout.COUNTER_COUNT] != 0
        and views.scalars(table)[layout.STRATUM] != 0
    ):
        count_change(table, fact, facts.change(facts.header(table, fact)))
    facts.mark(table, fact, layout.APPLYING)
    return layout.OK


@inlined
def _is_later(table: layout.Int64s, plan: int) -> bool:
    """Whether a plan belongs to a cyclic rule, and those are applied later."""
    if views.scalars(table)[layout.CYCLIC_RULES] != layout.LATER:
        return False
    row = plan * layout.PLAN_WIDTH + layout.PLAN_CYCLIC
    return bool(views.plans(table)[row] != 0)


@inlined
def _drive_block(
    table: layout.Int64s, values: layout.Int64s, plan: int, block: int, key: int, iteration: int
) -> int:
    """Run a plan for the deltas of a block, once if it shares matches; returns a status."""
    p = plan * layout.PLAN_WIDTH
    if views.plans(table)[p + layout.PLAN_SHARED] == key:
        leader = lists.delta_fact(table, block - 1)
        if _probed(table, p, leader) == 0:
            return layout.OK
        views.scalars(table)[layout.SHARED] += 1
        return run(table, values, plan, leader, signed(1), iteration, block, signed(0))
    number = block
    while number != 0:
        status = _drive(
            table, values, plan, lists.delta_fact(table, number - 1), iteration, signed(0)
        )
        if status != layout.OK:
            return status
        number = views.block_next(table)[number - 1]
    return layout.OK


@inlined
def _drive(
    table: layout.Int64s, values: layout.Int64s, plan: int, fact: int, iteration: int, lost: int
) -> int:
    """Run a plan for a fact that is being applied; returns a status.

    If a fact is lost, it is that of a pair whose matches the plan shares.
    """
    p = plan * layout.PLAN_WIDTH
    sign = facts.change(facts.header(table, fact))
    if has_targets(table, p, fact, iteration):
        return log_targets(table, p, fact, sign, iteration, lost)
    match = _probed(table, p, fact)
    if match == 0:
        return layout.OK
    if views.plans(table)[p + layout.PLAN_PROBE_HEAD] < 0:
        return run(table, values, plan, fact, sign, iteration, signed(0), signed(0))
    return run_probe(table, p, fact, match, sign, iteration, lost)


@inlined
def _probed(table: layout.Int64s, p: int, fact: int) -> int:
    """The first match in the index that a plan probes first, or 0; NOTHING if it probes none."""
    probed = views.plans(table)[p + layout.PLAN_PROBE]
    if probed == 0:
        return layout.NOTHING
    # Most programs have rules without facts for them: no index is read for those.
    index = views.filled(table)[probed - 1]
    if index == 0:
        return 0
    return int32_column(index)[
        facts.cell(table, fact, views.plans(table)[p + layout.PLAN_PROBE_KEY])
    ]


@kernel
def derive(table: layout.Int64s, values: layout.Int64s, iteration: int) -> int:
    """Apply all deltas with `apply_deltas`, and flush what they derive; returns a status."""
    status, applied = try_some(table, values, iteration)
    count = views.scalars(table)[layout.DELTA_COUNT]
    if status == layout.OK:
        status = apply_deltas(table, values, applied, count, iteration)
    if status == layout.OK and views.scalars(table)[layout.CYCLIC_RULES] == layout.LATER:
        mark_deltas(table)
        status = apply_together(table, values, 0, count, iteration)
    return finish(table, status)


@kernel
def finish(table: layout.Int64s, status: int) -> int:
    """Flush pending additions and clear the deltas; a rollback still needs those of a failure."""
    scalars = views.scalars(table)
    if scalars[layout.CYCLIC_RULES] == layout.TOGETHER:
        forget_sorted(table)
        for i in range(scalars[layout.DELTA_COUNT]):
            facts.unmark(table, lists.delta_fact(table, i), layout.DELTA_BITS)
    scalars[layout.CYCLIC_RULES] = layout.ONE_BY_ONE
    if status == layout.OK:
        status = flush(table)
    if status == layout.OK:
        scalars[layout.DELTA_COUNT] = 0
    return status
