"""Settle: step 1 of a fixpoint. Invariant: stored transitions up to m follow from multiplicities.

A stratum is evaluated by ascending iterations. `settle(m)` turns what has been added to
multiplicities at m, or before it, into changes of transitions at m, the deltas; `derive` then adds
what these deltas imply, at iterations above m only. So an iteration is settled once in an epoch,
and a fact is visited at an iteration only if it is *touched* there: an addition has changed its
multiplicity at this iteration, or an earlier one has shifted the sum that decides its presence.

Let p(a) be asserted and also derived, with multiplicities 1 at 0 and 1 at 2. It is present from 0
on, so its transition is +1 at 0 and 0 at 2. An epoch retracts it:

    addition        -1 at 0                        touched: 0
    settle(0)       sum 0, was 1: transition 0     delta -1 at 0; touches the entry at 2
    derive          what p(a) implied goes, from 1 on
    settle(2)       sum 1, before it 0             delta +1 at 2
    derive          the same comes back, from 3 on

Nothing was deleted and derived again from scratch: that p(a) is present still, but two iterations
later, is what its other derivation says, and facts below it move with it. docs/inside/settling.md
shows the same from the side of a user.

While the deltas of m are joined, both states of a fact must be readable. They are not stored twice:
the new transition is the stored one, the old one is that minus the delta, which the header of the
fact has, until the deltas are cleared.

Three kinds of facts are settled in three ways, in this order:

1. Heads of lattices in a load wait in a log, and `contest` tells whether the best values decide.
2. Touched facts: an ordinary one is settled at once, a candidate of a lattice is only *offered*,
   because it is its group that is settled (`lattice`), after all candidates that are touched here.
3. Groups, and then the winners of the log (`crown`).

Aggregates do not appear: their results are added to iteration 1 of the stratum of their heads
(`reduce`).

Between strata, `enter` reads what lower strata have changed in this epoch from the journal, as the
difference of presence: that is all that a rule can see of a lower stratum. The journal is threaded
by class for this, so that a stratum reads only the classes that its plans need, and leaves out what
no later stratum reads (docs/decisions/0067).

Touched facts are in lists by iteration, not in a queue by priority: an iteration is reached by
counting up, and TOUCHED_LAST skips empty stretches of the array by segments, as an iteration can be
a million where a fact has been derived along a path of that length.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.loading.contest import contest, crown
from streamreasoner.backends.columnar.kernels.loading.log import has_heads
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import prefetch_lattice_group
from streamreasoner.backends.columnar.kernels.records.entry import (
    add_delta,
    forget_touched,
    presence,
    touch,
)
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.work import SETTLING
from streamreasoner.backends.columnar.kernels.settling.forecast import is_hopeless
from streamreasoner.backends.columnar.kernels.settling.lattice import offer, settle_groups
from streamreasoner.native.compile import inlined, kernel

_PORTION = 256
_AHEAD = 32  # facts between prefetching a cache line and reading it


@kernel
def enter(table: layout.Int64s, stratum: int) -> None:
    """Start a stratum: changes of lower strata that its plans read become deltas at iteration 0."""
    scalars = views.scalars(table)
    driven = views.driven(table)
    driven_from = views.driven_from(table)
    ends = views.class_journaled(table)
    _show(table, stratum)
    scalars[layout.STRATUM] = stratum
    scalars[layout.HAS_BLOCKS] = 0
    forget_touched(table)
    if stratum == 0:
        return
    _list_by_class(table)
    for i in range(driven_from[stratum], driven_from[stratum + 1]):
        kind = driven[layout.DRIVEN_WIDTH * i + layout.DRIVEN_CLASS]
        row = layout.DRIVEN_WIDTH * i + layout.DRIVEN_DISPATCH
        read = driven[row + layout.DISPATCH_COUNT] != 0
        scalars[layout.HAS_BLOCKS] |= driven[row + layout.DISPATCH_KEY] != 0
        if not read or facts.class_field(table, kind, layout.CLASS_STRATUM) >= stratum:
            continue
        number = ends[layout.LISTED_WIDTH * kind + layout.LISTED_FIRST]
        while number != 0:
            fact = lists.journaled_fact(table, number - 1)
            change = presence(table, fact) - (
                lists.state_before(table, number - 1) & layout.WAS_PRESENT
            )
            if change != 0:
                add_delta(table, fact, change)
            number = views.journal_next(table)[number - 1]


@kernel
def _show(table: layout.Int64s, stratum: int) -> None:
    """Make the rows of DISPATCH those of a stratum: few classes drive plans of it."""
    dispatch = views.dispatch(table)
    driven = views.driven(table)
    driven_from = views.driven_from(table)
    shown = views.scalars(table)[layout.SHOWN]
    for i in range(driven_from[shown], driven_from[shown + 1]):
        row = layout.DISPATCH_WIDTH * driven[layout.DRIVEN_WIDTH * i + layout.DRIVEN_CLASS]
        for j in range(layout.DISPATCH_WIDTH):
            dispatch[row + j] = 0
    for i in range(driven_from[stratum], driven_from[stratum + 1]):
        row = layout.DISPATCH_WIDTH * driven[layout.DRIVEN_WIDTH * i + layout.DRIVEN_CLASS]
        for j in range(layout.DISPATCH_WIDTH):
            dispatch[row + j] = driven[layout.DRIVEN_WIDTH * i + layout.DRIVEN_DISPATCH + j]
    views.scalars(table)[layout.SHOWN] = stratum


@kernel
def _list_by_class(table: layout.Int64s) -> None:
    """Append the facts journaled since the last stratum to the lists by class.

    Each stratum then reads only the classes its plans need, instead of the whole journal. Facts
    that neither this stratum nor a later one reads are left out.
    """
    scalars = views.scalars(table)
    following = views.journal_next(table)
    ends = views.class_journaled(table)
    for i in range(scalars[layout.LISTED], scalars[layout.JOURNALED_FACTS]):
        kind = lists.journaled_class(table, i)
        last_reader = facts.class_field(table, kind, layout.CLASS_LAST_READER)
        if last_reader < scalars[layout.STRATUM]:
            continue
        last = ends[layout.LISTED_WIDTH * kind + layout.LISTED_LAST]
        if last == 0:
            ends[layout.LISTED_WIDTH * kind + layout.LISTED_FIRST] = i + 1
        else:
            following[last - 1] = i + 1
        ends[layout.LISTED_WIDTH * kind + layout.LISTED_LAST] = i + 1
        following[i] = 0
    scalars[layout.LISTED] = scalars[layout.JOURNALED_FACTS]


@kernel
def clear_class_lists(table: layout.Int64s) -> None:
    """Clear the lists by class."""
    ends = views.class_journaled(table)
    for i in range(views.scalars(table)[layout.LISTED]):
        kind = lists.journaled_class(table, i)
        ends[layout.LISTED_WIDTH * kind + layout.LISTED_FIRST] = 0
        ends[layout.LISTED_WIDTH * kind + layout.LISTED_LAST] = 0
    views.scalars(table)[layout.LISTED] = 0


@kernel
def settle(table: layout.Int64s, values: layout.Int64s, iteration: int) -> int:
    """Update the transition of every touched fact at an iteration; returns a status.

    It is SPENT if the rules are expected to spend their budget.
    """
    status = layout.OK
    if views.scalars(table)[layout.LOGGING] != 0:
        status = contest(table, iteration)
    if status == layout.OK:
        _settle_touched(table, values, iteration)
        status = settle_groups(table, values, iteration)
    if status == layout.OK:
        status = crown(table, iteration)
    return layout.SPENT if status == layout.OK and is_hopeless(table, iteration) else status


@inlined
def _settle_touched(table: layout.Int64s, values: layout.Int64s, iteration: int) -> None:
    """Settle the facts on the list of an iteration, and offer candidates.

    They are taken from the list in portions, so that the cache misses of several overlap.
    """
    scalars = views.scalars(table)
    scratch = views.scratch(table)
    if iteration == 0:
        heads = views.initial_heads(table)
        at = scalars[layout.STRATUM]
    else:
        heads = views.touched_heads(table)
        at = iteration
    node = heads[at]
    heads[at] = 0
    first = node
    last = node
    work = 0
    while node != 0:
        end = layout.SLOTS
        while node != 0 and end < layout.SLOTS + _PORTION:
            scratch[end] = lists.touched_fact(table, node)
            end += 1
            last = node
            node = lists.next_touched_node(table, node)
        ahead = min(_AHEAD, end - layout.SLOTS)
        for i in range(layout.SLOTS, end + 2 * ahead):
            if i < end:
                views.prefetch_unit(table, scratch[i])
            if layout.SLOTS + ahead <= i < end + ahead:
                _prefetch_parts(table, scratch[i - ahead])
            if i >= layout.SLOTS + 2 * ahead:
                done = i - 2 * ahead
                work += _settle_fact(table, values, scratch[done], iteration)
    views.work(table)[layout.WORK_SPENT] += work
    if first != 0:
        lists.set_touched(table, last, 0, scalars[layout.FREE_NODE])
        scalars[layout.FREE_NODE] = first


@inlined
def _prefetch_parts(table: layout.Int64s, fact: int) -> None:
    """Prefetch what settling a fact reads besides its record."""
    facts.prefetch_further_entry(table, fact)
    at = facts.arguments_at(fact)
    prefetch_lattice_group(table, facts.class_of(table, fact), views.words(table), at)


@inlined
def _settle_fact(table: layout.Int64s, values: layout.Int64s, fact: int, iteration: int) -> int:
    """Update the transition of a touched fact, or offer it to its lattice; returns the work."""
    if facts.field_of(table, fact, layout.CLASS_LATTICE) != 0:
        offer(table, values, fact, iteration)
        return 0
    before = 0
    upto = 0
    entry = facts.first_entry(fact)
    here = 0
    work = SETTLING
    while entry != 0:
        work += 1
        multiplicity = facts.multiplicity(table, entry)
        when = facts.iteration(table, entry)
        if when <= iteration:
            upto += multiplicity
            if when == iteration:
                here = entry
            else:
                before += multiplicity
        elif not facts.is_touched(table, entry):
            # A change here shifts the sums at all later iterations.
            touch(table, fact, entry)
        entry = facts.next_entry(table, entry)
    if here == 0:
        return work
    transition = (1 if upto > 0 else 0) - (1 if before > 0 else 0)
    change = transition - facts.transition(table, here)
    facts.unflag(table, here, layout.TOUCHED)
    facts.change_transition(table, here, change)
    if change != 0:
        add_delta(table, fact, change)
    return work


@kernel
def next_touched(table: layout.Int64s, after: int) -> int:
    """The first iteration after *after* with facts to settle or deltas of lower strata, or -1."""
    scalars = views.scalars(table)
    if has_heads(table):
        return after + 1
    initial = views.initial_heads(table)[scalars[layout.STRATUM]]
    if after < 0 and (scalars[layout.DELTA_COUNT] > 0 or initial != 0):
        return 0
    first = max(after, 0) + 1
    while first <= scalars[layout.LAST_TOUCHED]:
        segment = first >> layout.SEGMENT_BITS
        for iteration in range(first, views.touched_last(table)[segment] + 1):
            if views.touched_heads(table)[iteration] != 0:
                return iteration
        first = (segment + 1) << layout.SEGMENT_BITS
    return -1


@kernel
def clear_deltas(table: layout.Int64s) -> None:
    """Clear the deltas: from now on old and new transitions are the same."""
    for i in range(views.scalars(table)[layout.DELTA_COUNT]):
        facts.unmark(table, lists.delta_fact(table, i), layout.DELTA_BITS | layout.APPLYING)
    views.scalars(table)[layout.DELTA_COUNT] = 0
