"""Interpret a delta plan. Invariant: each match of its steps adds to the head once.

A plan is what a change of one atom does to a rule: the driving fact is bound, and the steps look up
the other atoms. It is interpreted depth first, in one loop over a path. The path is in SCRATCH, by
depth: the match (FACT_AT), the entry of the match that is read next (ENTRY_AT), the iteration and
the product of signs so far (ITERATION_AT, PRODUCT_AT). The bindings are in SLOTS. A turn of the
loop does one of four things at the current depth:

    no match is left          go back to the depth before
    the match has no entry    advance to the next match of the group
    no transition is here     stay, as the entry has moved on
    there is a transition     add to the head, or open the next step

What is multiplied and why is in docs/inside/joining.md; here is how a rule runs. In

    R: p(?x, ?z) :- p(?x, ?y), p(?y, ?z)        Δ p(a, b), at iteration 3

the plan binds ?x = a and ?y = b, and opens step 0, which probes the group of p by its first
argument for b. Let the group be p(b, c), which is asserted, and p(b, d), whose delta at 3 waits.
The first has a transition +1 at 0: it adds +1 to p(a, c) at max(3, 0) + 1 = 4. The second is read
without its change, so it has none, and adds nothing. When the turn of its delta comes, that drives
the other plan of R, and finds p(a, b) applied. If p(a, b) goes at 3, the sign is -1 throughout, and
nothing else is different.

Invariants that each function relies on:

- What lies at a depth is valid while the loop is at this depth or below. A slot that a step binds
  is overwritten by its next match, never cleared, as no step reads a slot that a later one binds.
- A match in the stratum that is evaluated has a transition for each entry; a match of a lower
  stratum has only its presence, at iteration 0, because it does not change any more.
- `facts.hidden_change` alone decides between old and new. In its old state is a match whose delta
  has not been applied, and, in the steps after the atom that drives the plan, also the fact (or
  block) that is being applied. Deltas that are applied together are all new, or all old.
- An ABSENT step has exactly one match: the fact, or NOTHING. It begins with +1 at iteration 0, and
  each transition of the fact counts with the opposite sign. A COUNT step has one match too,
  NOTHING, whose transition is the size of its group; only such a product can be large.
- No group changes while a plan runs: what it derives is pending. That is why a walk may hold a
  record across an addition, and why `walk` may look ahead.

The loop is one function with inlined parts, so that depth, product and end stay in registers.
`probe` is the same for the most frequent plan, a single step without conditions, and needs no path.
Two things that help there were tried here too, and make no difference: prefetching the next match
(docs/decisions/0070), and walking from milestones, as several groups are open at a time
(0087).
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
from streamreasoner.backends.columnar.kernels.records.fact_record import find
from streamreasoner.backends.columnar.kernels.records.fields import facts, views
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, push
from streamreasoner.backends.columnar.kernels.records.sorted_groups import count_lookups
from streamreasoner.backends.columnar.kernels.records.work import account
from streamreasoner.native.addresses import signed
from streamreasoner.native.compile import inlined, kernel

_FRESH = 0  # the fact at this depth has not been bound yet
_DONE = -1  # its transitions are exhausted


@kernel
def run(  # noqa: C901, PLR0912, PLR0915 - one loop, so that its state stays in registers
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
    plans, scratch, products = views.plans(table), views.scratch(table), views.products(table)
    together = views.scalars(table)[layout.CYCLIC_RULES] == layout.TOGETHER
    p = plan * layout.PLAN_WIDTH
    bound = _bind(table, values, fact, plans, p)
    if bound != MATCH:
        account(table, p, 1, 0)
        return layout.OK if bound == NO_MATCH else layout.FAILED
    sign *= plans[p + layout.PLAN_SIGN]
    last = plans[p + layout.PLAN_STEP_COUNT] - 1
    if last < 0:
        account(table, p, 1, 1)
        return _emit(table, p, iteration + 1, sign)
    first = plans[p + layout.PLAN_STEPS]
    scratch[layout.ITERATION_AT] = iteration
    products[layout.PRODUCT_AT] = sign
    scratch[layout.ENTRY_AT] = _FRESH
    depth, visits, firings, end = signed(0), 1, 0, FIRST
    if opened == 0:
        _open(table, first, depth, fact, together)
    while depth >= 0:
        visits += 1
        match = scratch[layout.FACT_AT + depth]
        if match == 0:
            depth -= 1
            continue
        s = (first + depth) * layout.STEP_WIDTH
        bound = MATCH
        if scratch[layout.ENTRY_AT + depth] == _FRESH:
            bound = _bind(table, values, match, views.steps(table), s)
            if bound == layout.FAILURE:
                return layout.FAILED
        if bound != MATCH or scratch[layout.ENTRY_AT + depth] == _DONE:
            _advance(table, first, depth, match, together)
            continue
        transition, when = _next_transition(table, s, depth, match, iteration, together)
        if transition == 0:
            continue
        when = max(when, scratch[layout.ITERATION_AT + depth])
        product = products[layout.PRODUCT_AT + depth]
        # Only sizes are large.
        if abs(transition) > 1 and abs(product) > layout.MAX_MULTIPLICITY // transition:
            return layout.OVERFLOW
        product *= transition
        if depth != last:
            depth += 1
            scratch[layout.ITERATION_AT + depth] = when
            products[layout.PRODUCT_AT + depth] = product
            _open(table, first, depth, fact, together)
            continue
        if block == 0:
            firings += abs(product)
            status = _emit(table, p, when + 1, product)
        else:
            status, end = _keep(table, p, block, when + 1, product, end)
        if status != layout.OK:
            return status
    account(table, p, visits, firings)
    return emit_rows(table, p, block, end) if end != FIRST else layout.OK


@inlined
def _keep(
    table: layout.Int64s, p: int, block: int, iteration: int, sign: int, end: int
) -> tuple[int, int]:
    """Write a match behind the rows of a block; returns a status, and the end of the rows."""
    end = add_row(table, p, iteration, sign, end)
    if is_full(table, p, end):
        return emit_rows(table, p, block, end), signed(FIRST)
    return layout.OK, end


@inlined
def _next_transition(
    table: layout.Int64s,
    s: int,
    depth: int,
    match: int,
    iteration: int,
    together: bool,  # noqa: FBT001
) -> tuple[int, int]:
    """A transition of a match, or 0, and its iteration; the entry at its depth moves on.

    Args:
        table: The addresses.
        s: Offset of the row of its step.
        depth: Number of the step in its plan.
        match: The match.
        iteration: Iteration of the change that drives the plan.
        together: Whether all deltas are applied together.
    """
    scalars, scratch, steps = views.scalars(table), views.scratch(table), views.steps(table)
    at = layout.ENTRY_AT + depth
    kind = steps[s + layout.STEP_KIND]
    entry = scratch[at]
    scratch[at] = _DONE
    if kind == layout.COUNT:
        return signed(scratch[layout.SIZE_AT + depth]), 0
    change = facts.hidden_change(
        facts.header(table, match), together, steps[s + layout.STEP_OLD] != 0
    )
    stratum = facts.field_of(table, match, scalars[layout.STRATUM_FIELD])
    own = stratum == scalars[layout.STRATUM] and match != layout.NOTHING
    if kind == layout.ABSENT and entry == _FRESH:
        # Absent from iteration 0 on; present, in a complete stratum, from then on too.
        if own:
            scratch[at] = facts.first_entry(match)
        present = 0 if own or match == layout.NOTHING else presence(table, match) - change
        return 1 - present, 0
    if not own:
        return presence(table, match) - change, 0
    if entry == _FRESH:
        entry = facts.first_entry(match)
    when = facts.iteration(table, entry)
    transition = facts.transition(table, entry)
    if when == iteration:
        transition -= change
    following = facts.next_entry(table, entry)
    if following != 0:
        scratch[at] = following
    return -transition if kind == layout.ABSENT else transition, when


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
    bind(table, fact, rows, row)
    start = rows[row + layout.STAGE_CHECKS]
    checks = layout.BIND_WIDTH * rows[row + layout.STAGE_CHECK_COUNT]
    for i in range(start, start + checks, layout.BIND_WIDTH):
        argument = facts.argument(table, fact, views.operands(table)[i + layout.BIND_ARGUMENT])
        if (
            views.scratch(table)[layout.SLOTS + views.operands(table)[i + layout.BIND_SLOT]]
            != argument
        ):
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
    steps = views.steps(table)
    scratch = views.scratch(table)
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
        scratch[layout.CELLS_OUT + i] = operand(table, views.operands(table)[key + i])
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
    scratch = views.scratch(table)
    s = (first + depth) * layout.STEP_WIDTH
    scratch[layout.ENTRY_AT + depth] = _FRESH
    following = 0
    if views.steps(table)[s + layout.STEP_KIND] == layout.PROBE:
        if together and scratch[layout.MEMBER_AT + depth] != 0:
            if scratch[layout.MEMBER_AT + depth] < 0:
                next_match(table, ~signed(scratch[layout.MEMBER_AT + depth]))
            else:
                next_common(table, first, depth)
            return
        following = facts.next_member(table, match, views.steps(table)[s + layout.STEP_TARGET])
    scratch[layout.FACT_AT + depth] = following


@inlined
def _emit(table: layout.Int64s, p: int, iteration: int, multiplicity: int) -> int:
    """Add to the head of the plan whose row starts at *p*."""
    plans = views.plans(table)
    scratch = views.scratch(table)
    head = plans[p + layout.PLAN_HEAD]
    for i in range(plans[p + layout.PLAN_HEAD_COUNT]):
        scratch[layout.CELLS_OUT + i] = operand(table, views.operands(table)[head + i])
    relation = plans[p + layout.PLAN_HEAD_RELATION]
    return push(table, relation, scratch, layout.CELLS_OUT, iteration, multiplicity, UNKNOWN)
