"""Lattices: of the candidates of a group only the best is present.

Invariant: up to the last settled iteration, the winners of a group follow from the multiplicities
of its candidates, and the stored transitions follow from the winners.

A group is settled at each iteration where one of its candidates is touched. An untouched candidate
that is present there was present either at the previous iteration, and then is no better than the
winner there, or at this iteration before the epoch, and then is no better than the old winner. So
the new winner is the best of these two winners and the touched candidates. All candidates are
scanned only if one of the two winners is no longer present and no touched candidate beats it. All
steps of this argument are here, so that they can be checked in one reading.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import (
    fields_of,
    group_of,
)
from streamreasoner.backends.columnar.kernels.records.entry import (
    add_delta,
    entry_at,
    find_entry,
    journal_fact,
    touch,
)
from streamreasoner.backends.columnar.kernels.records.fact_record import link_offset
from streamreasoner.backends.columnar.kernels.records.winners import (
    forget_winners,
    record_winner,
    winner_before,
)
from streamreasoner.native.addresses import int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.values.kernels.ordering import order

_NEVER = 1 << 31
_END = -1  # end of the list of groups to settle


@kernel
def offer(table: layout.Int64s, values: layout.Int64s, fact: int, iteration: int) -> None:
    """Enter a touched candidate when its group is settled at an iteration."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    upto = 0
    entry = fact + 1
    while entry != 0:
        when = words[2 * entry + 2]
        if when > iteration:
            # A change here shifts the sums at all later iterations.
            if units[entry] & layout.TOUCHED == 0:
                touch(table, fact, entry)
        else:
            upto += units[entry] >> layout.MULTIPLICITY_SHIFT
            if when == iteration:
                units[entry] &= ~layout.TOUCHED
        entry = words[2 * entry + 3]
    at = fields_of(table, group_of(table, _arrangement(table, fact), fact))
    if units[at + layout.LATTICE_NEXT] == 0:
        units[at + layout.LATTICE_NEXT] = scalars[layout.UNSETTLED_GROUP]
        scalars[layout.UNSETTLED_GROUP] = at
    best = units[at + layout.LATTICE_BEST]
    # An absent candidate (negative) represents its group until a present one does.
    if best == 0:
        units[at + layout.LATTICE_BEST] = fact if upto > 0 else -fact
    elif upto > 0 and (best < 0 or _better(table, values, fact, best)):
        units[at + layout.LATTICE_BEST] = fact


@kernel
def settle_groups(table: layout.Int64s, values: layout.Int64s, iteration: int) -> int:
    """Settle the groups of the offered candidates at an iteration; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    units = int64_column(table[layout.ARENA])
    status = layout.OK
    while scalars[layout.UNSETTLED_GROUP] != _END:
        at = scalars[layout.UNSETTLED_GROUP]
        scalars[layout.UNSETTLED_GROUP] = units[at + layout.LATTICE_NEXT]
        units[at + layout.LATTICE_NEXT] = 0
        best = units[at + layout.LATTICE_BEST]
        units[at + layout.LATTICE_BEST] = 0
        if status == layout.OK:
            status = _settle_group(table, values, at, abs(best), max(best, 0), iteration)
    return status


@kernel
def _settle_group(  # noqa: C901 - a sequence of decisions
    table: layout.Int64s, values: layout.Int64s, at: int, member: int, best: int, iteration: int
) -> int:
    """Settle a group, given one of its candidates and the best present touched one, or 0."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    node, before = winner_before(table, at, iteration)
    if units[at + layout.LATTICE_EPOCH] != scalars[layout.EPOCH]:
        units[at + layout.LATTICE_EPOCH] = scalars[layout.EPOCH]
        units[at + layout.LATTICE_OLD] = before
        units[at + layout.LATTICE_FLOOR] = 0
    old_before = units[at + layout.LATTICE_OLD]
    old = old_before
    if node != 0 and words[2 * node + layout.WINNER_ITERATION] == iteration:
        old = words[2 * node + layout.WINNER_FACT]
        node = words[2 * node + layout.WINNER_NEXT]
    units[at + layout.LATTICE_OLD] = old
    lost = False
    for winner in (before, old):
        if winner != 0 and winner != best:
            present = _sum_up_to(table, winner, iteration) > 0
            if best == 0 or _better(table, values, winner, best):
                if present:
                    best = winner
                else:
                    lost = True
    if lost:
        best = _best(table, values, _first(table, member), _arrangement(table, member), iteration)
    if old != 0 and best != old and (best == 0 or _better(table, values, old, best)):
        _touch_contenders(table, values, at, member, best, iteration)
    if node != 0:
        _touch_transition(table, node, old)
    if scalars[layout.CONVERTING] != 0:
        _clear_others(table, member, best, before, iteration)
    if not record_winner(table, at, iteration, best, before):
        return layout.FULL
    return _change(table, best, before, old, old_before, iteration)


@kernel
def _change(
    table: layout.Int64s, gainer: int, loser: int, old_gainer: int, old_loser: int, iteration: int
) -> int:
    """Store which candidates gain and lose presence at an iteration, and add the deltas."""
    units = int64_column(table[layout.ARENA])
    if gainer == loser:
        gainer = 0
        loser = 0
    if old_gainer == old_loser:
        old_gainer = 0
        old_loser = 0
    for candidate in (gainer, loser, old_gainer, old_loser):
        if candidate == 0:
            continue
        entry = entry_at(table, candidate, iteration)
        if entry == 0:
            return layout.FULL
        transition = int(candidate == gainer) - int(candidate == loser)
        change = transition - ((units[entry] & layout.TRANSITION_BITS) - 1)
        if change != 0:
            journal_fact(table, candidate)
            units[entry] += change
            add_delta(table, candidate, change)
    return layout.OK


@kernel
def _clear_others(
    table: layout.Int64s, member: int, gainer: int, loser: int, iteration: int
) -> None:
    """Clear the presence of facts that were not candidates before."""
    units = int64_column(table[layout.ARENA])
    arrangement = _arrangement(table, member)
    candidate = _first(table, member)
    while candidate != 0:
        entry = find_entry(table, candidate, iteration)
        if entry != 0 and candidate != gainer and candidate != loser:
            change = 1 - (units[entry] & layout.TRANSITION_BITS)
            if change != 0:
                journal_fact(table, candidate)
                units[entry] += change
                add_delta(table, candidate, change)
        candidate = _next(table, candidate, arrangement)


@kernel
def _touch_contenders(
    table: layout.Int64s, values: layout.Int64s, at: int, member: int, best: int, iteration: int
) -> None:
    """Touch the later entries of all candidates that may win in place of the old winner.

    Candidates better than the floor are touched already.
    """
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    floor = units[at + layout.LATTICE_FLOOR]
    if floor != 0 and best != 0 and not _better(table, values, floor, best):
        return
    units[at + layout.LATTICE_FLOOR] = best
    arrangement = _arrangement(table, member)
    candidate = _first(table, member)
    while candidate != 0:
        if best == 0 or candidate == best or _better(table, values, candidate, best):
            entry = candidate + 1
            while entry != 0:
                if words[2 * entry + 2] > iteration and units[entry] & layout.TOUCHED == 0:
                    touch(table, candidate, entry)
                entry = words[2 * entry + 3]
        candidate = _next(table, candidate, arrangement)


@kernel
def restore_group(  # noqa: C901 - two passes over the candidates
    table: layout.Int64s, values: layout.Int64s, fact: int
) -> int:
    """Derive winners and transitions of a candidate's group from multiplicities; a status.

    The candidates are marked, so that the group is not traversed again for each of them.
    """
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    if words[2 * fact] & layout.MARKED != 0:
        return layout.OK
    arrangement = _arrangement(table, fact)
    first = _first(table, fact)
    candidate = first
    while candidate != 0:
        words[2 * candidate] |= layout.MARKED
        entry = candidate + 1
        while entry != 0:
            units[entry] = (units[entry] & ~layout.TRANSITION_BITS) | 1
            entry = words[2 * entry + 3]
        candidate = _next(table, candidate, arrangement)
    at = fields_of(table, group_of(table, arrangement, fact))
    forget_winners(table, at)
    winner = 0
    iteration = -1
    while True:
        iteration = _following_iteration(table, first, arrangement, iteration)
        if iteration == _NEVER:
            return layout.OK
        best = _best(table, values, first, arrangement, iteration)
        if not record_winner(table, at, iteration, best, winner):
            return layout.FULL
        if best != winner:
            for candidate, transition in ((winner, -1), (best, 1)):
                if candidate != 0:
                    entry = entry_at(table, candidate, iteration)
                    if entry == 0:
                        return layout.FULL
                    units[entry] = (units[entry] & ~layout.TRANSITION_BITS) | (transition + 1)
            winner = best


@kernel
def unmark_group(table: layout.Int64s, fact: int) -> None:
    """Clear the marks of a candidate's group."""
    words = int32_column(table[layout.ARENA])
    if words[2 * fact] & layout.MARKED == 0:
        return
    arrangement = _arrangement(table, fact)
    candidate = _first(table, fact)
    while candidate != 0:
        words[2 * candidate] &= ~layout.MARKED
        candidate = _next(table, candidate, arrangement)


@kernel
def clear_unsettled_groups(table: layout.Int64s) -> None:
    """Clear the list of groups to settle."""
    scalars = int64_column(table[layout.SCALARS])
    units = int64_column(table[layout.ARENA])
    while scalars[layout.UNSETTLED_GROUP] != _END:
        at = scalars[layout.UNSETTLED_GROUP]
        scalars[layout.UNSETTLED_GROUP] = units[at + layout.LATTICE_NEXT]
        units[at + layout.LATTICE_NEXT] = 0
        units[at + layout.LATTICE_BEST] = 0


@inlined
def _touch_transition(table: layout.Int64s, node: int, old: int) -> None:
    """Touch a candidate with a transition at a later node: its winner, or the one that it ends.

    The nodes after an iteration are those before the epoch, so the one that it ends is the old
    winner.
    """
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    candidate = words[2 * node + layout.WINNER_FACT]
    if candidate == 0:
        candidate = old
    entry = find_entry(table, candidate, words[2 * node + layout.WINNER_ITERATION])
    if entry != 0 and units[entry] & layout.TOUCHED == 0:
        touch(table, candidate, entry)


# Candidates --------------------------------------------------------------------------------------


@kernel
def _following_iteration(table: layout.Int64s, first: int, arrangement: int, iteration: int) -> int:
    """The next iteration at which a candidate of a group has a multiplicity, or _NEVER."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    earliest = _NEVER
    candidate = first
    while candidate != 0:
        entry = candidate + 1
        while entry != 0:
            if (
                units[entry] >> layout.MULTIPLICITY_SHIFT != 0
                and iteration < words[2 * entry + 2] < earliest
            ):
                earliest = words[2 * entry + 2]
            entry = words[2 * entry + 3]
        candidate = _next(table, candidate, arrangement)
    return earliest


@kernel
def _best(
    table: layout.Int64s, values: layout.Int64s, first: int, arrangement: int, iteration: int
) -> int:
    """The best candidate of a group that is present at an iteration, or 0."""
    best = 0
    candidate = first
    while candidate != 0:
        if _sum_up_to(table, candidate, iteration) > 0 and (
            best == 0 or _better(table, values, candidate, best)
        ):
            best = candidate
        candidate = _next(table, candidate, arrangement)
    return best


@inlined
def _sum_up_to(table: layout.Int64s, fact: int, iteration: int) -> int:
    """The sum of a fact's multiplicities up to and including an iteration."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    total = 0
    entry = fact + 1
    while entry != 0:
        if words[2 * entry + 2] <= iteration:
            total += units[entry] >> layout.MULTIPLICITY_SHIFT
        entry = words[2 * entry + 3]
    return total


@inlined
def _arrangement(table: layout.Int64s, fact: int) -> int:
    """The grouping number of a candidate's lattice."""
    row = (int32_column(table[layout.ARENA])[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    return int32_column(table[layout.CLASSES])[row + layout.CLASS_LATTICE] - 1


@inlined
def _first(table: layout.Int64s, fact: int) -> int:
    """The first candidate of a candidate's group."""
    group = group_of(table, _arrangement(table, fact), fact)
    return int32_column(table[layout.ARENA])[2 * group + layout.GROUP_FIRST]


@inlined
def _next(table: layout.Int64s, candidate: int, arrangement: int) -> int:
    words = int32_column(table[layout.ARENA])
    return words[2 * candidate + link_offset(table, words[2 * candidate], arrangement)]


@inlined
def _better(table: layout.Int64s, values: layout.Int64s, candidate: int, other: int) -> bool:
    words = int32_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    row = (words[2 * candidate] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    cell = layout.CELLS + classes[row + layout.CLASS_LATTICE_CELL]
    first = words[2 * candidate + cell]
    second = words[2 * other + cell]
    return order(values, first, second) == -classes[row + layout.CLASS_LATTICE_SIGN]
