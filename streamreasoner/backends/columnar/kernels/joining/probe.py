"""Fast path of `derive.run` for plans of one probe. Invariant: it derives what `run` would.

Most rules join a delta with a single arrangement and have no conditions. Their heads are built from
the two facts directly, without slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.kernels.records.arrangement import link_offset
from streamreasoner.backends.columnar.kernels.records.entry import presence
from streamreasoner.backends.columnar.kernels.records.layout import (
    ARENA,
    CELLS,
    CELLS_OUT,
    CLASS_BITS,
    CLASS_WIDTH,
    CLASSES,
    DELTA_SHIFT,
    DELTA_ZERO,
    MAX_ARITY,
    OK,
    OPERANDS,
    PLAN_HEAD_COUNT,
    PLAN_HEAD_RELATION,
    PLAN_PROBE,
    PLAN_PROBE_HEAD,
    PLAN_SIGN,
    PLAN_STEPS,
    PLANS,
    SCALARS,
    SCRATCH,
    STEP_OLD,
    STEP_WIDTH,
    STEPS,
    STRATUM,
    STRATUM_FIELD,
    TRANSITION_BITS,
)
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, push
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.kernels.records.layout import Int64s


@kernel
def run_probe(table: Int64s, p: int, fact: int, match: int, sign: int, iteration: int) -> int:
    """Derive from one fact's change of a transition joined with a group; returns a status.

    Args:
        table: The addresses.
        p: Offset of the plan's row.
        fact: The fact that drives the plan.
        match: The first fact of the group.
        sign: Sign of the change.
        iteration: Iteration of the change.
    """
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    plans = int32_column(table[PLANS])
    scalars = int64_column(table[SCALARS])
    arrangement = plans[p + PLAN_PROBE] - 1
    old = int32_column(table[STEPS])[plans[p + PLAN_STEPS] * STEP_WIDTH + STEP_OLD]
    stratum = scalars[STRATUM]
    field = scalars[STRATUM_FIELD]
    sign *= plans[p + PLAN_SIGN]
    while match != 0:
        header = words[2 * match]
        following = words[2 * match + link_offset(table, header, arrangement)]
        prefetch(table[ARENA] + 8 * following)
        change = (header >> DELTA_SHIFT) & 7
        if change != 0:
            pending = match != fact or old != 0
            change = change - DELTA_ZERO if pending else 0
        if classes[(header & CLASS_BITS) * CLASS_WIDTH + field] == stratum:
            entry = match + 1
            while entry != 0:
                transition = (units[entry] & TRANSITION_BITS) - 1
                when = words[2 * entry + 2]
                if when == iteration:
                    transition -= change
                if transition != 0:
                    status = _emit(
                        table, p, fact, match, max(when, iteration) + 1, sign * transition
                    )
                    if status != OK:
                        return status
                entry = words[2 * entry + 3]
        else:
            transition = presence(table, match) - change
            if transition != 0:
                status = _emit(table, p, fact, match, iteration + 1, sign * transition)
                if status != OK:
                    return status
        match = following
    return OK


@inlined
def _emit(table: Int64s, p: int, fact: int, match: int, iteration: int, multiplicity: int) -> int:
    """Add to the head of the plan whose row starts at *p*."""
    words = int32_column(table[ARENA])
    plans = int32_column(table[PLANS])
    operands = int32_column(table[OPERANDS])
    scratch = int32_column(table[SCRATCH])
    head = plans[p + PLAN_PROBE_HEAD]
    for i in range(plans[p + PLAN_HEAD_COUNT]):
        place = operands[head + i]
        if place < 0:
            cell = ~place
        elif place < MAX_ARITY:
            cell = words[2 * fact + CELLS + place]
        else:
            cell = words[2 * match + CELLS + place - MAX_ARITY]
        scratch[CELLS_OUT + i] = cell
    relation = plans[p + PLAN_HEAD_RELATION]
    return push(table, relation, scratch, CELLS_OUT, iteration, multiplicity, UNKNOWN)
