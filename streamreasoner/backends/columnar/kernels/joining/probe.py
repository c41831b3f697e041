"""Fast path of `interpret.run` for plans of one probe. Invariant: it derives what `run` would.

Most rules join a delta with a single arrangement and have no conditions. Their heads are built from
the two facts directly, without slots.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.joining.pairs import push_pair
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.entry import presence
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, push
from streamreasoner.backends.columnar.kernels.records.walk import begin_walk, end_walk, next_walked
from streamreasoner.backends.columnar.kernels.records.work import account
from streamreasoner.native.addresses import int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel


@kernel
def run_probe(
    table: layout.Int64s, p: int, fact: int, match: int, sign: int, iteration: int, lost: int
) -> int:
    """Derive from one fact's change of a transition joined with a group; returns a status.

    Args:
        table: The addresses.
        p: Offset of the plan's row.
        fact: The fact that drives the plan.
        match: The first fact of the group.
        sign: Sign of the change.
        iteration: Iteration of the change.
        lost: A fact with the opposite change whose heads are derived too, see `pairs`, or 0.
    """
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    plans = int32_column(table[layout.PLANS])
    scalars = int64_column(table[layout.SCALARS])
    old = int32_column(table[layout.STEPS])[
        plans[p + layout.PLAN_STEPS] * layout.STEP_WIDTH + layout.STEP_OLD
    ]
    stratum = scalars[layout.STRATUM]
    field = scalars[layout.STRATUM_FIELD]
    sign *= plans[p + layout.PLAN_SIGN]
    visits = firings = 0
    status = layout.OK
    begin_walk(table, plans[p + layout.PLAN_PROBE] - 1, match)
    match = next_walked(table)
    while match != 0 and status == layout.OK:
        visits += 1
        header = words[2 * match]
        change = (header >> layout.DELTA_SHIFT) & 7
        if change != 0:
            pending = header & layout.APPLYING == 0 or old != 0
            change = change - layout.DELTA_ZERO if pending else 0
        if classes[(header & layout.CLASS_BITS) * layout.CLASS_WIDTH + field] == stratum:
            entry = match + 1
            while entry != 0 and status == layout.OK:
                transition = (units[entry] & layout.TRANSITION_BITS) - 1
                when = words[2 * entry + 2]
                if when == iteration:
                    transition -= change
                if transition != 0:
                    firings += abs(sign * transition)
                    latest = max(when, iteration)
                    status = _emit(table, p, fact, match, latest + 1, sign * transition, lost)
                entry = words[2 * entry + 3]
        else:
            transition = presence(table, match) - change
            if transition != 0:
                firings += abs(sign * transition)
                status = _emit(table, p, fact, match, iteration + 1, sign * transition, lost)
        match = next_walked(table)
    end_walk(table)
    account(table, p, visits, firings if lost == 0 else 2 * firings)
    return status


@inlined
def _emit(
    table: layout.Int64s,
    p: int,
    fact: int,
    match: int,
    iteration: int,
    multiplicity: int,
    lost: int,
) -> int:
    """Add to the head of the plan whose row starts at *p*."""
    words = int32_column(table[layout.ARENA])
    plans = int32_column(table[layout.PLANS])
    operands = int32_column(table[layout.OPERANDS])
    scratch = int32_column(table[layout.SCRATCH])
    head = plans[p + layout.PLAN_PROBE_HEAD]
    for i in range(plans[p + layout.PLAN_HEAD_COUNT]):
        place = operands[head + i]
        if place < 0:
            cell = ~place
        elif place < layout.MAX_ARITY:
            cell = words[2 * fact + layout.CELLS + place]
        else:
            cell = words[2 * match + layout.CELLS + place - layout.MAX_ARITY]
        scratch[layout.CELLS_OUT + i] = cell
    relation = plans[p + layout.PLAN_HEAD_RELATION]
    if lost != 0:
        return push_pair(table, p, lost, iteration, multiplicity)
    return push(table, relation, scratch, layout.CELLS_OUT, iteration, multiplicity, UNKNOWN)
