"""Settle: step 1 of a fixpoint. Invariant: stored transitions up to m follow from multiplicities.

After `settle(m)` DELTAS lists the facts whose transition at m changed; until they are cleared,
a fact's old transitions are the stored ones minus its delta at m.
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
from streamreasoner.backends.columnar.kernels.records.fact_record import prefetch_further_entry
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.backends.columnar.kernels.records.work import SETTLING
from streamreasoner.backends.columnar.kernels.settling.lattice import offer, settle_groups
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel

_PORTION = 256
_AHEAD = 32  # facts between prefetching a cache line and reading it


@kernel
def enter(table: layout.Int64s, stratum: int) -> None:
    """Start a stratum: changes of lower strata that its plans read become deltas at iteration 0."""
    scalars = int64_column(table[layout.SCALARS])
    classes = int32_column(table[layout.CLASSES])
    driven = int32_column(table[layout.DRIVEN])
    driven_from = int32_column(table[layout.DRIVEN_FROM])
    journal = int64_column(table[layout.JOURNAL_FACTS])
    following = int32_column(table[layout.JOURNAL_NEXT])
    ends = int32_column(table[layout.CLASS_JOURNALED])
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
        if not read or classes[kind * layout.CLASS_WIDTH + layout.CLASS_STRATUM] >= stratum:
            continue
        number = ends[2 * kind]
        while number != 0:
            fact = journal[number - 1] & LOW
            change = presence(table, fact) - ((journal[number - 1] >> 32) & layout.WAS_PRESENT)
            if change != 0:
                add_delta(table, fact, change)
            number = following[number - 1]


@kernel
def _show(table: layout.Int64s, stratum: int) -> None:
    """Make the rows of DISPATCH those of a stratum: few classes drive plans of it."""
    scalars = int64_column(table[layout.SCALARS])
    dispatch = int32_column(table[layout.DISPATCH])
    driven = int32_column(table[layout.DRIVEN])
    driven_from = int32_column(table[layout.DRIVEN_FROM])
    shown = scalars[layout.SHOWN]
    for i in range(driven_from[shown], driven_from[shown + 1]):
        row = layout.DISPATCH_WIDTH * driven[layout.DRIVEN_WIDTH * i + layout.DRIVEN_CLASS]
        for j in range(layout.DISPATCH_WIDTH):
            dispatch[row + j] = 0
    for i in range(driven_from[stratum], driven_from[stratum + 1]):
        row = layout.DISPATCH_WIDTH * driven[layout.DRIVEN_WIDTH * i + layout.DRIVEN_CLASS]
        for j in range(layout.DISPATCH_WIDTH):
            dispatch[row + j] = driven[layout.DRIVEN_WIDTH * i + layout.DRIVEN_DISPATCH + j]
    scalars[layout.SHOWN] = stratum


@kernel
def _list_by_class(table: layout.Int64s) -> None:
    """Append the facts journaled since the last stratum to the lists by class.

    Each stratum then reads only the classes its plans need, instead of the whole journal. Facts
    that neither this stratum nor a later one reads are left out.
    """
    scalars = int64_column(table[layout.SCALARS])
    journal = int64_column(table[layout.JOURNAL_FACTS])
    following = int32_column(table[layout.JOURNAL_NEXT])
    ends = int32_column(table[layout.CLASS_JOURNALED])
    classes = int32_column(table[layout.CLASSES])
    for i in range(scalars[layout.LISTED], scalars[layout.JOURNALED_FACTS]):
        kind = (journal[i] >> layout.JOURNAL_CLASS_SHIFT) & layout.CLASS_BITS
        last_reader = classes[kind * layout.CLASS_WIDTH + layout.CLASS_LAST_READER]
        if last_reader < scalars[layout.STRATUM]:
            continue
        last = ends[2 * kind + 1]
        if last == 0:
            ends[2 * kind] = i + 1
        else:
            following[last - 1] = i + 1
        ends[2 * kind + 1] = i + 1
        following[i] = 0
    scalars[layout.LISTED] = scalars[layout.JOURNALED_FACTS]


@kernel
def clear_class_lists(table: layout.Int64s) -> None:
    """Clear the lists by class."""
    scalars = int64_column(table[layout.SCALARS])
    journal = int64_column(table[layout.JOURNAL_FACTS])
    ends = int32_column(table[layout.CLASS_JOURNALED])
    for i in range(scalars[layout.LISTED]):
        kind = (journal[i] >> layout.JOURNAL_CLASS_SHIFT) & layout.CLASS_BITS
        ends[2 * kind] = 0
        ends[2 * kind + 1] = 0
    scalars[layout.LISTED] = 0


@kernel
def settle(table: layout.Int64s, values: layout.Int64s, iteration: int) -> int:
    """Update the transition of every touched fact at an iteration; returns a status."""
    status = layout.OK
    if int64_column(table[layout.SCALARS])[layout.LOGGING] != 0:
        status = contest(table, iteration)
    if status == layout.OK:
        _settle_touched(table, values, iteration)
        status = settle_groups(table, values, iteration)
    return crown(table, iteration) if status == layout.OK else status


@inlined
def _settle_touched(table: layout.Int64s, values: layout.Int64s, iteration: int) -> None:
    """Settle the facts on the list of an iteration, and offer candidates.

    They are taken from the list in portions, so that the cache misses of several overlap.
    """
    scalars = int64_column(table[layout.SCALARS])
    scratch = int32_column(table[layout.SCRATCH])
    nodes = int64_column(table[layout.TOUCHED_NODES])
    if iteration == 0:
        heads = int32_column(table[layout.INITIAL_HEADS])
        at = scalars[layout.STRATUM]
    else:
        heads = int32_column(table[layout.TOUCHED_HEADS])
        at = iteration
    node = heads[at]
    heads[at] = 0
    first = node
    last = node
    work = 0
    while node != 0:
        end = layout.SLOTS
        while node != 0 and end < layout.SLOTS + _PORTION:
            scratch[end] = nodes[node] & LOW
            end += 1
            last = node
            node = nodes[node] >> 32
        ahead = min(_AHEAD, end - layout.SLOTS)
        for i in range(layout.SLOTS, end + 2 * ahead):
            if i < end:
                prefetch(table[layout.ARENA] + 8 * scratch[i])
            if layout.SLOTS + ahead <= i < end + ahead:
                _prefetch_parts(table, scratch[i - ahead])
            if i >= layout.SLOTS + 2 * ahead:
                work += _settle_fact(table, values, scratch[i - 2 * ahead], iteration)
    int64_column(table[layout.WORK])[layout.WORK_SPENT] += work
    if first != 0:
        nodes[last] = (scalars[layout.FREE_NODE] << 32) | LOW
        scalars[layout.FREE_NODE] = first


@inlined
def _prefetch_parts(table: layout.Int64s, fact: int) -> None:
    """Prefetch what settling a fact reads besides its record."""
    words = int32_column(table[layout.ARENA])
    prefetch_further_entry(table, fact)
    kind = words[2 * fact] & layout.CLASS_BITS
    prefetch_lattice_group(table, kind, words, 2 * fact + layout.CELLS)


@inlined
def _settle_fact(table: layout.Int64s, values: layout.Int64s, fact: int, iteration: int) -> int:
    """Update the transition of a touched fact, or offer it to its lattice; returns the work."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    if int32_column(table[layout.CLASSES])[row + layout.CLASS_LATTICE] != 0:
        offer(table, values, fact, iteration)
        return 0
    before = 0
    upto = 0
    entry = fact + 1
    here = 0
    work = SETTLING
    while entry != 0:
        work += 1
        multiplicity = units[entry] >> layout.MULTIPLICITY_SHIFT
        when = words[2 * entry + 2]
        if when <= iteration:
            upto += multiplicity
            if when == iteration:
                here = entry
            else:
                before += multiplicity
        elif units[entry] & layout.TOUCHED == 0:
            # A change here shifts the sums at all later iterations.
            touch(table, fact, entry)
        entry = words[2 * entry + 3]
    if here == 0:
        return work
    transition = (1 if upto > 0 else 0) - (1 if before > 0 else 0)
    change = transition - ((units[here] & layout.TRANSITION_BITS) - 1)
    units[here] = (units[here] & ~layout.TOUCHED) + change
    if change != 0:
        add_delta(table, fact, change)
    return work


@kernel
def next_touched(table: layout.Int64s, after: int) -> int:
    """The first iteration after *after* with facts to settle or deltas of lower strata, or -1."""
    scalars = int64_column(table[layout.SCALARS])
    if has_heads(table):
        return after + 1
    initial = int32_column(table[layout.INITIAL_HEADS])[scalars[layout.STRATUM]]
    if after < 0 and (scalars[layout.DELTA_COUNT] > 0 or initial != 0):
        return 0
    heads = int32_column(table[layout.TOUCHED_HEADS])
    last = int32_column(table[layout.TOUCHED_LAST])
    first = max(after, 0) + 1
    while first <= scalars[layout.LAST_TOUCHED]:
        segment = first >> layout.SEGMENT_BITS
        for iteration in range(first, last[segment] + 1):
            if heads[iteration] != 0:
                return iteration
        first = (segment + 1) << layout.SEGMENT_BITS
    return -1


@kernel
def clear_deltas(table: layout.Int64s) -> None:
    """Clear the deltas: from now on old and new transitions are the same."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    deltas = int64_column(table[layout.DELTAS])
    for i in range(scalars[layout.DELTA_COUNT]):
        words[2 * (deltas[i] & LOW)] &= ~(layout.DELTA_BITS | layout.APPLYING)
    scalars[layout.DELTA_COUNT] = 0
