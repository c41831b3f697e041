"""Whether an epoch will spend its budget. Invariant: this decides what it costs, not its result.

Where rules join what they derive with itself, each iteration changes a larger share of its facts
than the one before: as many steps later, as many more proofs are broken. So what an epoch has
changed of the facts of an iteration tells what it will change of later ones, long before it has
spent its budget. With f of the facts of iteration i changed, 1 - (1 - f)^(j/i) of those of j are
expected to be.

Iteration 0 may take longer than a load by itself. There the work of all its deltas is expected from
that of some, and as much of a load as it is, so large a share of the derivations of each later
iteration is changed at once, before what changes spreads.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, views
from streamreasoner.backends.columnar.kernels.records.parts.owners import is_copy
from streamreasoner.backends.columnar.kernels.records.slots import WORDS, fact_at, fact_words
from streamreasoner.backends.columnar.kernels.records.work import grown, is_limited
from streamreasoner.native.compile import inlined, kernel

FIRST_LOOK = 8
"""The first forecast is made when the work of a load, shifted right by this, is spent."""
_LEAST_LOOK = 1 << 13  # but not before this is spent
_NEXT_LOOK = 2  # and the next ones when what is spent, shifted so, is spent once more
_SAMPLE = 7  # what is spent, shifted so, is how many slots of the table of facts are read
_FEWEST, _MOST = 1 << 8, 1 << 12  # slots; more of them decide no better
VISITS = 2.5
"""Work for a changed fact, in that of one in a load: what it had is subtracted, and added anew."""


@inlined
def is_hopeless(table: layout.Int64s, iteration: int) -> bool:
    """Whether the epoch is expected to spend its budget, when an iteration has been settled."""
    work = views.work(table)
    return bool(
        iteration > 0
        and is_limited(table)
        and work[layout.WORK_EPOCH] == views.scalars(table)[layout.EPOCH]
        and work[layout.WORK_SPENT]
        > max(work[layout.WORK_LOAD] >> FIRST_LOOK, _LEAST_LOOK, work[layout.WORK_LOOK])
        and joins_itself(table)
        and _look(table, iteration)
    )


@inlined
def joins_itself(table: layout.Int64s) -> bool:
    """Whether a rule of the present stratum joins facts that the stratum derives."""
    return bool(views.self_joins(table)[views.scalars(table)[layout.STRATUM]] != 0)


@kernel
def spreads(table: layout.Int64s, expected: int) -> bool:
    """Whether the deltas of iteration 0, which are expected to take some work, are hopeless."""
    everything, _, later, depth = _count(table, 0, _sample(table))
    if later == 0 or expected < _LEAST_LOOK:
        return False
    load = grown(table, views.work(table)[layout.WORK_LOAD])
    share = min(expected / max(load, 1.0), 1.0)
    return _exceeds_load(table, share, depth / later, later / everything, 0.0)


@inlined
def _exceeds_load(
    table: layout.Int64s, share: float, steps: float, part: float, lost: float
) -> bool:
    """Whether the epoch is expected to take more than a load of what is then left.

    Args:
        table: The addresses.
        share: What is changed of the facts of a step.
        steps: How many such steps the facts of later iterations are away, in the mean.
        part: How many of all facts are of later iterations.
        lost: How many of the changed facts are lost.
    """
    load = grown(table, views.work(table)[layout.WORK_LOAD])
    spread = (1.0 - (1.0 - share) ** steps) * part
    left = VISITS * spread * load
    return bool(views.work(table)[layout.WORK_SPENT] + left > (1.0 - spread * lost) * load)


@kernel
def _look(table: layout.Int64s, iteration: int) -> bool:
    """Forecast, and set when to do so again."""
    work = views.work(table)
    spent = work[layout.WORK_SPENT]
    work[layout.WORK_LOOK] = spent + (spent >> _NEXT_LOOK)
    change, net = _changed(table)
    everything, here, later, depth = _count(table, iteration, _sample(table))
    if later == 0 or change == 0:
        return False
    # What is there now, or was there before the epoch: the larger, so that no share exceeds 1.
    here = max(here, here + net, change)
    steps = depth / (later * iteration)
    return _exceeds_load(
        table, change / (here + 1), steps, later / everything, max(net, 0) / change
    )


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


@inlined
def _sample(table: layout.Int64s) -> int:
    """How many slots of the table of facts a forecast reads."""
    return min(max(views.work(table)[layout.WORK_SPENT] >> _SAMPLE, _FEWEST), _MOST)


@kernel
def _count(table: layout.Int64s, iteration: int, slots_read: int) -> tuple[int, int, int, int]:
    """Estimate by a sample how many facts are present, without copies.

    Returns:
        All of them; those of the present stratum since the iteration, and since a later one; and
        the sum of the iterations of these.
    """
    scalars = views.scalars(table)
    size = fact_words(table)
    # Which words of a bucket have facts does not depend on chance, so whole buckets are read.
    step = max(size // slots_read, 1)
    everything = 0
    here = 1  # the state may have some that the sample lacks
    later = 0
    depth = 0
    for start in range(0, size, WORDS * step):
        for i in range(start, start + WORDS):
            fact = fact_at(table, i)
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
