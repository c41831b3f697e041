"""Whether an epoch will spend its budget. Invariant: this decides what it costs, not its result.

Where rules join what they derive with itself, each iteration changes a larger share of its facts
than the one before: as many steps later, as many more proofs are broken. So what an epoch has
changed of the facts of an iteration tells what it will change of later ones, long before it has
spent its budget. With f of the facts of iteration i changed, 1 - (1 - f)^(j/i) of those of j are
expected to be.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.parts.owners import is_copy
from streamreasoner.native.addresses import int64_column
from streamreasoner.native.compile import inlined, kernel

FIRST_LOOK = 5
"""The first forecast is made when the budget, shifted right by this, is spent."""
_NEXT_LOOK = 1  # and the next ones when what is spent, shifted so, is spent once more
_SAMPLE = 5  # what is spent, shifted so, is how many slots of the table of facts are read
VISITS = 2.0
"""Work for a changed fact, in that of one in a load: what it had is subtracted, and added anew."""


@inlined
def is_hopeless(table: layout.Int64s, iteration: int) -> bool:
    """Whether the epoch is expected to spend its budget, when an iteration has been settled."""
    work = views.work(table)
    scalars = views.scalars(table)
    budget = work[layout.WORK_BUDGET]
    spent = work[layout.WORK_SPENT]
    return bool(
        iteration > 0
        and budget != layout.WORK_UNLIMITED
        and work[layout.WORK_EPOCH] == scalars[layout.EPOCH]
        and spent > max(budget >> FIRST_LOOK, work[layout.WORK_LOOK])
        and views.self_joins(table)[scalars[layout.STRATUM]] != 0
        and _look(table, iteration)
    )


@kernel
def _look(table: layout.Int64s, iteration: int) -> bool:
    """Forecast, and set when to do so again."""
    work = views.work(table)
    budget = work[layout.WORK_BUDGET]
    spent = work[layout.WORK_SPENT]
    work[layout.WORK_LOOK] = spent + (spent >> _NEXT_LOOK)
    change, net = _changed(table)
    everything, here, later, depth = _count(table, iteration, spent >> _SAMPLE)
    if later == 0 or change == 0:
        return False
    # What is there now, or was there before the epoch: the larger, so that no share exceeds 1.
    here = max(here, here + net, change)
    share = 1.0 - (1.0 - change / (here + 1)) ** (depth / (later * iteration))
    spread = share * later / everything
    lost = spread * max(net, 0) / change
    return bool(spent + VISITS * spread * budget > (1.0 - lost) * budget)


@kernel
def _changed(table: layout.Int64s) -> tuple[int, int]:
    """How many facts the settled iteration has changed, and how many more it lost than it got."""
    changed = 0
    net = 0
    for i in range(views.scalars(table)[layout.DELTA_COUNT]):
        change = (views.deltas(table)[i] >> layout.DELTA_CHANGE_SHIFT) - layout.DELTA_ZERO
        changed += 1
        net -= change
    return changed, net


@kernel
def _count(table: layout.Int64s, iteration: int, slots_read: int) -> tuple[int, int, int, int]:
    """Estimate by a sample how many facts are present, without copies.

    Returns:
        All of them; those of the present stratum since the iteration, and since a later one; and
        the sum of the iterations of these.
    """
    slots = int64_column(views.fact_table(table))
    scalars = views.scalars(table)
    size = scalars[layout.FACT_MASK] + 1
    step = max(size // max(slots_read, 1), 1)
    everything = 0
    here = 1  # the state may have some that the sample lacks
    later = 0
    depth = 0
    for i in range(0, size, step):
        fact = lists.lower(slots[i])
        if fact == 0 or is_copy(table, fact):
            continue
        since = _since(table, fact)
        if since < 0:
            continue
        everything += 1
        if facts.field_of(table, fact, layout.CLASS_STRATUM) == scalars[layout.STRATUM]:
            here += since == iteration
            if since > iteration:
                later += 1
                depth += since
    return everything * step, here * step, later * step, depth * step


@inlined
def _since(table: layout.Int64s, fact: int) -> int:
    """The iteration since which a fact is present, or -1."""
    present = 0
    since = -1
    entry = facts.first_entry(fact)
    while entry != 0:
        transition = facts.transition(table, entry)
        present += transition
        if transition > 0:
            since = max(since, facts.iteration(table, entry))
        entry = facts.next_entry(table, entry)
    return since if present > 0 else -1
