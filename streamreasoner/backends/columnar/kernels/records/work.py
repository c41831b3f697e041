"""What each rule does in an epoch. Invariant: counts are exact, and times add up to what passed.

Reading a clock takes as long as a join of two facts, so it is read after every run of a plan at
first only. Later it is read after a random number of visits, some 32, and all the time that has
passed counts for the rule that is running: over many visits each rule gets its share, and a run
that takes long is always seen.

What counts is a kernel of its own: inlined into the loop over deltas it slows a load by a tenth.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import views
from streamreasoner.native.addresses import monotonic_time
from streamreasoner.native.compile import inlined, kernel

EXACT = 64
"""Readings of the clock before visits are counted."""
FIRING = 4
"""What a firing costs in visits: its head is looked up in the table of facts."""
SETTLING = 4
"""What settling a fact costs in addition to one visit for each of its entries."""
_MULTIPLIER, _INCREMENT = 6364136223846793005, 1442695040888963407  # Knuth, MMIX
_LEAST, _BITS = 17, 5  # 17 to 48 visits


@kernel
def start_clock(table: layout.Int64s) -> None:
    """What passes from now on counts for rules; what an earlier epoch did is forgotten."""
    work = views.work(table)
    epoch = views.scalars(table)[layout.EPOCH]
    if work[layout.WORK_EPOCH] != epoch:
        for at in range(layout.WORK_RULES, work[layout.WORK_SIZE]):
            work[at] = 0
        work[layout.WORK_READINGS] = work[layout.WORK_DUE] = work[layout.WORK_SPENT] = 0
        work[layout.WORK_LOOK] = 0
        work[layout.WORK_EPOCH] = epoch
    work[layout.WORK_CLOCK] = monotonic_time()


@kernel
def account(table: layout.Int64s, p: int, visits: int, firings: int) -> None:
    """Count a run of the plan whose row starts at *p*.

    Args:
        table: The addresses.
        p: Offset of the plan's row.
        visits: Facts that it looked at.
        firings: Heads that it added or subtracted.
    """
    work = views.work(table)
    at = views.plans(table)[p + layout.PLAN_WORK]
    work[at + layout.WORK_FIRINGS] += firings
    work[layout.WORK_SPENT] += visits + FIRING * firings
    work[layout.WORK_DUE] -= visits
    if work[layout.WORK_DUE] <= 0:
        take_time(table, at)


@inlined
def is_limited(table: layout.Int64s) -> bool:
    """Whether rules have a budget. What they spend has no limit, so no number is beyond it."""
    return bool(views.work(table)[layout.WORK_BUDGET] != layout.WORK_UNLIMITED)


@inlined
def is_spent(table: layout.Int64s) -> bool:
    """Whether rules have spent their budget of work."""
    work = views.work(table)
    spent = work[layout.WORK_SPENT]
    return bool(
        is_limited(table)
        and spent > work[layout.WORK_BUDGET]
        and spent > grown(table, work[layout.WORK_BUDGET])
    )


@inlined
def grown(table: layout.Int64s, amount: int) -> float:
    """Work that was expected when the budget was set; as much more as there are more facts now."""
    growth = views.scalars(table)[layout.FACT_COUNT] / max(views.work(table)[layout.WORK_FACTS], 1)
    return float(amount * max(growth, 1.0))


@kernel
def take_time(table: layout.Int64s, at: int) -> None:
    """What has passed since the clock was read counts for the rule at a place of WORK."""
    work = views.work(table)
    now = monotonic_time()
    work[at + layout.WORK_NANOSECONDS] += now - work[layout.WORK_CLOCK]
    work[layout.WORK_CLOCK] = now
    work[layout.WORK_READINGS] += 1
    due = 1
    if work[layout.WORK_READINGS] >= EXACT:
        work[layout.WORK_RANDOM] = work[layout.WORK_RANDOM] * _MULTIPLIER + _INCREMENT
        due = _LEAST + ((work[layout.WORK_RANDOM] >> 58) & ((1 << _BITS) - 1))
    work[layout.WORK_DUE] = due
