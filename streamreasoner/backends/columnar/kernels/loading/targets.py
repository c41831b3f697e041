"""Targets: the keys of a plan's heads, by group. Invariant: a walk of the group would find them.

Once the deltas of iteration 0 have been applied, facts of lower strata do not change in a stratum.
A plan that probes a group of them, and takes the key of its head from the match, derives for the
same keys whenever a winner drives it. These keys are collected by a counting sort at the start of a
load. The plan then reads 4 bytes for a match, which lie in a row, instead of a record.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fact_record import key_position
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, log_rows, views
from streamreasoner.backends.columnar.kernels.records.pending import value_argument
from streamreasoner.backends.columnar.kernels.records.work import account
from streamreasoner.native.compile import inlined, kernel

_SPARSE = 4  # there are no targets for more ids than this for each delta


@kernel
def collect(table: layout.Int64s, plans: layout.Int32s, ids: int) -> None:
    """Collect the targets of plans at the start of a stratum, if there is room for them.

    Args:
        table: The addresses, of a state that was empty before the epoch: the deltas are all facts
            of lower strata that are present.
        plans: The plans, int32 of shape (n,), in the order of PLAN_TARGETS.
        ids: A number above all ids.
    """
    scalars = views.scalars(table)
    count = scalars[layout.DELTA_COUNT]
    stride = ids + 2
    room = scalars[layout.TARGET_LIMIT]
    if len(plans) * max(count, stride) > room or stride > _SPARSE * count:
        return
    places = views.target_places(table)
    first = 0
    for number in range(len(plans)):
        p = plans[number] * layout.PLAN_WIDTH
        start = number * stride
        for i in range(start, start + stride):
            places[i] = 0
        _count_members(table, p, start)
        for i in range(start, start + stride):
            first += places[i]
            places[i] = first
        _fill(table, p, start)
    scalars[layout.TARGET_STRIDE] = stride


@inlined
def has_targets(table: layout.Int64s, p: int, fact: int, iteration: int) -> bool:
    """Whether the plan whose row starts at *p* has targets, and the log has room for its heads."""
    number = views.plans(table)[p + layout.PLAN_TARGETS]
    scalars = views.scalars(table)
    if number == 0 or scalars[layout.TARGET_STRIDE] == 0:
        return False
    key = facts.cell(table, fact, views.plans(table)[p + layout.PLAN_PROBE_KEY])
    # A term that was computed meanwhile is in no fact of a lower stratum.
    if key + 2 >= scalars[layout.TARGET_STRIDE] or not 0 < iteration < layout.LOG_ITERATIONS - 1:
        return False
    places = views.target_places(table)
    place = (number - 1) * scalars[layout.TARGET_STRIDE] + key
    room = scalars[layout.LOG_LIMIT] - scalars[layout.LOG_COUNT]
    return bool(places[place + 1] - places[place] <= room)


@kernel
def log_targets(
    table: layout.Int64s, p: int, fact: int, sign: int, iteration: int, lost: int
) -> int:
    """Log the heads that `run_probe` would derive, with the same arguments; returns OK."""
    scalars = views.scalars(table)
    plans = views.plans(table)
    places = views.target_places(table)
    rows = views.log(table)
    place = (plans[p + layout.PLAN_TARGETS] - 1) * scalars[layout.TARGET_STRIDE]
    place += facts.cell(table, fact, plans[p + layout.PLAN_PROBE_KEY])
    first, end = places[place], places[place + 1]
    relation = plans[p + layout.PLAN_HEAD_RELATION]
    argument = plans[p + layout.PLAN_PROBE_HEAD] + value_argument(table, relation)
    operand = views.operands(table)[argument]
    value = facts.cell(table, fact, operand)
    subtracted = 0
    if lost != 0:
        subtracted = facts.cell(table, lost, operand) + 1
    multiplicity = sign * plans[p + layout.PLAN_SIGN]
    firings = (end - first) * abs(multiplicity)
    account(table, p, end - first, firings if lost == 0 else 2 * firings)
    if value + 1 == subtracted:
        return layout.OK  # the heads are the same fact
    lattice = log_rows.lattice_of(table, relation)
    row = scalars[layout.LOG_COUNT]
    for i in range(first, end):
        key = views.targets(table)[i]
        log_rows.write(rows, row, value, key, subtracted, iteration + 1, lattice, multiplicity)
        row += 1
    scalars[layout.LOG_COUNT] += end - first
    scalars[layout.TARGETED] += end - first
    return layout.OK


@kernel
def _count_members(table: layout.Int64s, p: int, start: int) -> None:
    """Count the deltas by the group that the plan whose row starts at *p* probes.

    The size of a group is two places behind its own, so that its place is the start of the group
    while targets are written, and the end afterwards.
    """
    arrangement = views.plans(table)[p + layout.PLAN_PROBE] - 1
    position = key_position(table, arrangement)
    for i in range(views.scalars(table)[layout.DELTA_COUNT]):
        fact = lists.delta_fact(table, i)
        if facts.link_offset(table, facts.header(table, fact), arrangement) >= 0:
            place = start + facts.argument(table, fact, position) + 2
            views.target_places(table)[place] += 1


@kernel
def _fill(table: layout.Int64s, p: int, start: int) -> None:
    """Write the targets of the plan whose row starts at *p*, each behind those of its group."""
    plans = views.plans(table)
    places = views.target_places(table)
    arrangement = plans[p + layout.PLAN_PROBE] - 1
    position = key_position(table, arrangement)
    key = plans[p + layout.PLAN_PROBE_HEAD] + 1
    key -= value_argument(table, plans[p + layout.PLAN_HEAD_RELATION])
    target = views.operands(table)[key] - layout.MAX_ARITY
    for i in range(views.scalars(table)[layout.DELTA_COUNT]):
        fact = lists.delta_fact(table, i)
        if facts.link_offset(table, facts.header(table, fact), arrangement) >= 0:
            place = start + facts.argument(table, fact, position) + 1
            views.targets(table)[places[place]] = facts.argument(table, fact, target)
            places[place] += 1
