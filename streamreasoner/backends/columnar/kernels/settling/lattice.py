"""Lattices: of the candidates of a group only the best is present.

Invariant: up to the last settled iteration, the winners of a group follow from the multiplicities
of its candidates, and the stored transitions follow from the winners.

A candidate is a fact like any other; what `settle` decides for a fact alone is decided here for its
group. A group has the list of its winners by iteration: (0: a, 3: b) says that a wins from 0 on,
and b from 3. A transition is +1 where a candidate becomes the winner, and -1 where it ceases to be.
No other order of candidates is kept. Groups that hold their candidates as sorted runs were built,
and did not pay: what joins gained, settling lost to sorting and merging (docs/decisions/0070).

A group is settled at each iteration m where one of its candidates is touched, and reads these:

    before   the winner at m - 1, in the new state
    old      the winner at m before the epoch
    best     the best touched candidate that is present at m, or none

The new winner is the best of the three that are present. An untouched candidate needs no look: if
it is present at m, it was present at m - 1, and then is no better than *before*, or at m before the
epoch, and then is no better than *old*. All candidates are scanned only if one of these two winners
is no longer present and no touched candidate beats it: it may have hidden any other one.

Take the candidates 3, 5 and 7 of a group, from iteration 1 on; 3 wins. An epoch takes 3 back:

    settle(1)   before: none, old: 3, best: none. 3 is gone, so all are scanned: 5 wins
                Δ -1 of 3, +1 of 5; the winners are (1: 5)

and the next adds 4 at iteration 2:

    settle(2)   before: 5, old: 5, best: 4. 4 wins from 2 on: Δ +1 of 4, -1 of 5; (1: 5, 2: 4)

Three things keep later iterations right:

- `offer` touches a candidate at all later iterations where it has an entry: its sum has shifted.
- If the group has a worse winner at m than it had, candidates between the two, which the old winner
  kept from winning later, may win now: `_touch_contenders` touches their later entries. FLOOR is
  how far down that has been done in this epoch, so that a group is not walked for each step down.
- The next node of the list of winners is a transition of the state before the epoch, and is settled
  again, as it may no longer change anything: `_touch_transition`.

The epoch of a group's OLD and FLOOR is stored with them, so nothing is cleared between epochs.
Rollback and change of program undo none of this: `restore_group` derives winners and transitions
from the multiplicities of a group, by the definition. All steps of the argument are in this module,
so that they can be checked in one reading. What lattices are for is in
docs/inside/settling.md.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import group_of
from streamreasoner.backends.columnar.kernels.records.entry import (
    add_delta,
    entry_at,
    find_entry,
    journal_fact,
    touch,
)
from streamreasoner.backends.columnar.kernels.records.fields import facts, views
from streamreasoner.backends.columnar.kernels.records.winners import (
    forget_winners,
    record_winner,
    winner_before,
)
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.values.kernels.ordering import order

_NEVER = 1 << 31
_END = -1  # end of the list of groups to settle


@kernel
def offer(table: layout.Int64s, values: layout.Int64s, fact: int, iteration: int) -> None:
    """Enter a touched candidate when its group is settled at an iteration."""
    units = views.units(table)
    upto = 0
    entry = facts.first_entry(fact)
    while entry != 0:
        when = facts.iteration(table, entry)
        if when > iteration:
            # A change here shifts the sums at all later iterations.
            if not facts.is_touched(table, entry):
                touch(table, fact, entry)
        else:
            upto += facts.multiplicity(table, entry)
            if when == iteration:
                facts.unflag(table, entry, layout.TOUCHED)
        entry = facts.next_entry(table, entry)
    at = facts.fields_at(table, group_of(table, _arrangement(table, fact), fact))
    if units[at + layout.LATTICE_NEXT] == 0:
        units[at + layout.LATTICE_NEXT] = views.scalars(table)[layout.UNSETTLED_GROUP]
        views.scalars(table)[layout.UNSETTLED_GROUP] = at
    best = units[at + layout.LATTICE_BEST]
    # An absent candidate (negative) represents its group until a present one does.
    if best == 0:
        units[at + layout.LATTICE_BEST] = fact if upto > 0 else -fact
    elif upto > 0 and (best < 0 or _better(table, values, fact, best)):
        units[at + layout.LATTICE_BEST] = fact


@kernel
def settle_groups(table: layout.Int64s, values: layout.Int64s, iteration: int) -> int:
    """Settle the groups of the offered candidates at an iteration; returns a status."""
    scalars = views.scalars(table)
    units = views.units(table)
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
    scalars = views.scalars(table)
    units = views.units(table)
    node, before = winner_before(table, at, iteration)
    if units[at + layout.LATTICE_EPOCH] != scalars[layout.EPOCH]:
        units[at + layout.LATTICE_EPOCH] = scalars[layout.EPOCH]
        units[at + layout.LATTICE_OLD] = before
        units[at + layout.LATTICE_FLOOR] = 0
    old_before = units[at + layout.LATTICE_OLD]
    old = old_before
    if node != 0 and facts.word(table, node, layout.WINNER_ITERATION) == iteration:
        old = facts.word(table, node, layout.WINNER_FACT)
        node = facts.word(table, node, layout.WINNER_NEXT)
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
        change = transition - facts.transition(table, entry)
        if change != 0:
            journal_fact(table, candidate)
            facts.change_transition(table, entry, change)
            add_delta(table, candidate, change)
    return layout.OK


@kernel
def _clear_others(
    table: layout.Int64s, member: int, gainer: int, loser: int, iteration: int
) -> None:
    """Clear the presence of facts that were not candidates before."""
    arrangement = _arrangement(table, member)
    candidate = _first(table, member)
    while candidate != 0:
        entry = find_entry(table, candidate, iteration)
        if entry != 0 and candidate != gainer and candidate != loser:
            change = -facts.transition(table, entry)
            if change != 0:
                journal_fact(table, candidate)
                facts.change_transition(table, entry, change)
                add_delta(table, candidate, change)
        candidate = facts.next_member(table, candidate, arrangement)


@kernel
def _touch_contenders(
    table: layout.Int64s, values: layout.Int64s, at: int, member: int, best: int, iteration: int
) -> None:
    """Touch the later entries of all candidates that may win in place of the old winner.

    Candidates better than the floor are touched already.
    """
    floor = views.units(table)[at + layout.LATTICE_FLOOR]
    if floor != 0 and best != 0 and not _better(table, values, floor, best):
        return
    views.units(table)[at + layout.LATTICE_FLOOR] = best
    arrangement = _arrangement(table, member)
    candidate = _first(table, member)
    while candidate != 0:
        if best == 0 or candidate == best or _better(table, values, candidate, best):
            entry = facts.first_entry(candidate)
            while entry != 0:
                if facts.iteration(table, entry) > iteration and not facts.is_touched(table, entry):
                    touch(table, candidate, entry)
                entry = facts.next_entry(table, entry)
        candidate = facts.next_member(table, candidate, arrangement)


@kernel
def restore_group(  # noqa: C901 - two passes over the candidates
    table: layout.Int64s, values: layout.Int64s, fact: int
) -> int:
    """Derive winners and transitions of a candidate's group from multiplicities; a status.

    The candidates are marked, so that the group is not traversed again for each of them.
    """
    if facts.has(table, fact, layout.MARKED):
        return layout.OK
    arrangement = _arrangement(table, fact)
    first = _first(table, fact)
    candidate = first
    while candidate != 0:
        facts.mark(table, candidate, layout.MARKED)
        entry = facts.first_entry(candidate)
        while entry != 0:
            facts.set_transition(table, entry, 0)
            entry = facts.next_entry(table, entry)
        candidate = facts.next_member(table, candidate, arrangement)
    at = facts.fields_at(table, group_of(table, arrangement, fact))
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
                    facts.set_transition(table, entry, transition)
            winner = best


@kernel
def unmark_group(table: layout.Int64s, fact: int) -> None:
    """Clear the marks of a candidate's group."""
    if not facts.has(table, fact, layout.MARKED):
        return
    arrangement = _arrangement(table, fact)
    candidate = _first(table, fact)
    while candidate != 0:
        facts.unmark(table, candidate, layout.MARKED)
        candidate = facts.next_member(table, candidate, arrangement)


@kernel
def clear_unsettled_groups(table: layout.Int64s) -> None:
    """Clear the list of groups to settle."""
    scalars = views.scalars(table)
    units = views.units(table)
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
    candidate = facts.word(table, node, layout.WINNER_FACT)
    if candidate == 0:
        candidate = old
    entry = find_entry(table, candidate, facts.word(table, node, layout.WINNER_ITERATION))
    if entry != 0 and not facts.is_touched(table, entry):
        touch(table, candidate, entry)


# Candidates --------------------------------------------------------------------------------------


@kernel
def _following_iteration(table: layout.Int64s, first: int, arrangement: int, iteration: int) -> int:
    """The next iteration at which a candidate of a group has a multiplicity, or _NEVER."""
    earliest = _NEVER
    candidate = first
    while candidate != 0:
        entry = facts.first_entry(candidate)
        while entry != 0:
            if (
                facts.multiplicity(table, entry) != 0
                and iteration < facts.iteration(table, entry) < earliest
            ):
                earliest = facts.iteration(table, entry)
            entry = facts.next_entry(table, entry)
        candidate = facts.next_member(table, candidate, arrangement)
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
        candidate = facts.next_member(table, candidate, arrangement)
    return best


@inlined
def _sum_up_to(table: layout.Int64s, fact: int, iteration: int) -> int:
    """The sum of a fact's multiplicities up to and including an iteration."""
    total = 0
    entry = facts.first_entry(fact)
    while entry != 0:
        if facts.iteration(table, entry) <= iteration:
            total += facts.multiplicity(table, entry)
        entry = facts.next_entry(table, entry)
    return total


@inlined
def _arrangement(table: layout.Int64s, fact: int) -> int:
    """The grouping number of a candidate's lattice."""
    return facts.field_of(table, fact, layout.CLASS_LATTICE) - 1


@inlined
def _first(table: layout.Int64s, fact: int) -> int:
    """The first candidate of a candidate's group."""
    group = group_of(table, _arrangement(table, fact), fact)
    return facts.first_member(table, group)


@inlined
def _better(table: layout.Int64s, values: layout.Int64s, candidate: int, other: int) -> bool:
    cell = facts.field_of(table, candidate, layout.CLASS_LATTICE_CELL)
    first = facts.argument(table, candidate, cell)
    second = facts.argument(table, other, cell)
    return order(values, first, second) == -facts.field_of(
        table, candidate, layout.CLASS_LATTICE_SIGN
    )
