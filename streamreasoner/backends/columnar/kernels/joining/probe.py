"""Fast path of `interpret.run` for plans of one probe. Invariant: it derives what `run` would.

Most rules join a delta with a single arrangement and have no conditions. Their heads are built from
the two facts directly, without slots.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.joining.pairs import push_pair
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.entry import presence
from streamreasoner.backends.columnar.kernels.records.fields import facts, views
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, push
from streamreasoner.backends.columnar.kernels.records.walk import begin_walk, end_walk, next_walked
from streamreasoner.backends.columnar.kernels.records.work import account
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
    plans = views.plans(table)
    first = plans[p + layout.PLAN_STEPS] * layout.STEP_WIDTH
    old = views.steps(table)[first + layout.STEP_OLD] != 0
    stratum = views.scalars(table)[layout.STRATUM]
    field = views.scalars(table)[layout.STRATUM_FIELD]
    sign *= plans[p + layout.PLAN_SIGN]
    visits = firings = 0
    status = layout.OK
    begin_walk(table, plans[p + layout.PLAN_PROBE] - 1, match)
    match = next_walked(table)
    while match != 0 and status == layout.OK:
        visits += 1
        change = facts.hidden_change(facts.header(table, match), False, old)  # noqa: FBT003
        if facts.field_of(table, match, field) == stratum:
            entry = facts.first_entry(match)
            while entry != 0 and status == layout.OK:
                transition = facts.transition(table, entry)
                when = facts.iteration(table, entry)
                if when == iteration:
                    transition -= change
                if transition != 0:
                    firings += abs(sign * transition)
                    latest = max(when, iteration)
                    status = _emit(table, p, fact, match, latest + 1, sign * transition, lost)
                entry = facts.next_entry(table, entry)
        else:
            transition = presence(table, match) - change
            if transition != 0:
                firings += abs(sign * transition)
                status = _emit(table, p, fact, match, iteration + 1, sign * transition, lost)
        match = next_walked(table)
    end_walk(table)
    account(table, p, visits, firings if lost == 0 else firings + firings)
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
    plans = views.plans(table)
    scratch = views.scratch(table)
    head = plans[p + layout.PLAN_PROBE_HEAD]
    for i in range(plans[p + layout.PLAN_HEAD_COUNT]):
        place = views.operands(table)[head + i]
        if place < 0:
            cell = ~place
        elif place < layout.MAX_ARITY:
            cell = facts.argument(table, fact, place)
        else:
            cell = facts.argument(table, match, place - layout.MAX_ARITY)
        scratch[layout.CELLS_OUT + i] = cell
    relation = plans[p + layout.PLAN_HEAD_RELATION]
    if lost != 0:
        return push_pair(table, p, lost, iteration, multiplicity)
    return push(table, relation, scratch, layout.CELLS_OUT, iteration, multiplicity, UNKNOWN)
