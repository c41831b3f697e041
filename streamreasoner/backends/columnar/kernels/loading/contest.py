"""Winners from the log. Invariant: they are those that settling all candidates would find.

Loading the components of a graph of 600,000 edges derives 2.3 million candidates, of which 0.15
million are present at the end. No join reads the others, yet each would cost a lookup, a record,
and a visit when its group is settled. While a load is logged, they are rows of two words, and a
group knows only its best value so far. This module decides, at each iteration, whether that is
enough.

For a group let v be the best value that has been added to, up to this iteration, and w the best
value that has been subtracted from at this iteration. The claim is: if v is better than w, then v
is present, and so is the winner.

- If v was the winner before, it was present, and has not been subtracted from since.
- If not, the sum of v was 0 before: had it been added to, it would have been the best value then;
  had it been subtracted from, as a value better than the best one of that iteration, the log would
  have ended there. So its sum is what was added now, which is positive.

Whatever is worse than v may be present or not. That is never asked in a load, in which the winner
of a group only improves. If v is not better than w, sums of multiplicities decide, which only
records have: the log ends, its rows are added to records, and the iteration is settled as usual.

An example, with distances of one node. The first way to it has length 5; the last iteration occurs
only if a rule is not monotone:

    iteration 3   +5         v = 5           5 wins: Δ +5
    iteration 4   +4, +9     v = 4           4 wins: Δ +4 and -5
    iteration 5   -6, +7     v = 4, w = 6    4 is better than 6, and wins still
    iteration 6   -4, +8     v = 4, w = 4    undecided: the log ends

A row that subtracts is what a winner takes back that was replaced. If a better value leads to
better ones, as with sums of lengths, it concerns a worse value than the new winner has added.

`absorb` includes the rows of an iteration in the best values, `contest` compares them for the
groups that the rows name (LOG_CHANGED), and `crown` makes winners facts: only these get records at
once, as joins need them. `merge` adds all rows to records later, group by group, when the log is
full and at the end of the stratum. So the state is the same as without a log, losers and their
multiplicities included: a later epoch that takes the winner away must find the second best.

How much it saves, and that a small log does not pay, is in docs/decisions/0079. To keep candidates
in their groups for good, not only while they are loaded, was built and did not pay (0070).
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.loading.absorb import absorb, beats
from streamreasoner.backends.columnar.kernels.loading.log import end_log
from streamreasoner.backends.columnar.kernels.loading.merge import new_candidate
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.entry import add_delta, entry_at, touch
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    find_tagged,
    prefetch_slot,
    tag_of,
)
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, log_rows, views
from streamreasoner.backends.columnar.kernels.records.slots import insert
from streamreasoner.backends.columnar.kernels.records.winners import record_winner
from streamreasoner.native.compile import inlined, kernel

_AHEAD = 8  # groups between prefetching a cache line and reading it


@kernel
def contest(table: layout.Int64s, iteration: int) -> int:
    """Absorb the heads of an iteration; end the log if that does not decide them; a status.

    All candidates with a multiplicity at this iteration are then touched, to be settled as usual.
    """
    scalars = views.scalars(table)
    status = absorb(table)
    scalars[layout.LOG_FILLED] = 0
    if status == layout.OK and (scalars[layout.LOG_REFUSED] != 0 or not _is_decided(table)):
        scalars[layout.REPLAYED] += 1
        status = end_log(table)
        if status == layout.OK:
            _touch_all(table, iteration)
    return status


@kernel
def _is_decided(table: layout.Int64s) -> bool:
    """Whether each group has a best value that is better than what was subtracted from."""
    units = views.units(table)
    changed = views.log_changed(table)
    for i in range(views.scalars(table)[layout.LOG_CHANGED_COUNT]):
        at = log_rows.fields_at(lists.lower(changed[i]))
        lost = units[at + layout.LOG_LOST]
        if lost != 0:
            best = units[at + layout.LOG_BEST]
            sign = log_rows.field(table, lists.upper(changed[i]), layout.LOGGED_SIGN)
            if best == 0 or not beats(views.values(table), sign, best - 1, lost - 1):
                return False
            units[at + layout.LOG_LOST] = 0
    return True


@kernel
def _touch_all(table: layout.Int64s, iteration: int) -> None:
    """Touch all candidates with a multiplicity at an iteration."""
    scalars = views.scalars(table)
    for i in range(scalars[layout.JOURNALED_FACTS]):
        fact = lists.journaled_fact(table, i)
        kind = facts.class_of(table, fact)
        in_stratum = facts.class_field(table, kind, layout.CLASS_STRATUM) == scalars[layout.STRATUM]
        is_candidate = in_stratum and facts.class_field(table, kind, layout.CLASS_LATTICE) != 0
        entry = facts.first_entry(fact) if is_candidate else 0
        while entry != 0:
            if facts.iteration(table, entry) == iteration and not facts.is_touched(table, entry):
                touch(table, fact, entry)
            entry = facts.next_entry(table, entry)


@kernel
def crown(table: layout.Int64s, iteration: int) -> int:
    """Make the best values of the listed groups winners at an iteration; returns a status."""
    changed = views.log_changed(table)
    count = views.scalars(table)[layout.LOG_CHANGED_COUNT]
    views.scalars(table)[layout.LOG_CHANGED_COUNT] = 0
    status = layout.OK
    for i in range(count + 2 * _AHEAD):
        if i < count:
            views.prefetch_unit(table, lists.lower(changed[i]))
            views.prefetch_unit(table, lists.lower(changed[i]) + layout.LATTICE_UNITS + 1)
        if _AHEAD <= i < count + _AHEAD:
            each = changed[i - _AHEAD]
            prefetch_slot(table, _write_arguments(table, lists.upper(each), lists.lower(each)))
            winner = log_rows.fields_at(lists.lower(each)) + layout.LOG_WINNER
            views.prefetch_unit(table, views.units(table)[winner])
        if i >= 2 * _AHEAD and status == layout.OK:
            done = i - 2 * _AHEAD
            each = changed[done]
            status = _crown(table, lists.upper(each), lists.lower(each), iteration)
    return status


@inlined
def _write_arguments(table: layout.Int64s, lattice: int, group: int) -> int:
    """Write the arguments of the best candidate of a group; returns its hash."""
    cells = views.scratch(table)
    position = log_rows.field(table, lattice, layout.LOGGED_VALUE)
    value = views.units(table)[log_rows.fields_at(group) + layout.LOG_BEST] - 1
    cells[layout.ARRANGED_KEY + position] = value
    cells[layout.ARRANGED_KEY + 1 - position] = views.words(table)[facts.key_at(group)]
    relation = log_rows.field(table, lattice, layout.LOGGED_RELATION)
    return tag_of(table, relation, cells, layout.ARRANGED_KEY)


@inlined
def _crown(table: layout.Int64s, lattice: int, group: int, iteration: int) -> int:
    """Make the best value of a group its winner at an iteration, if it is not; returns a status."""
    units = views.units(table)
    at = log_rows.fields_at(group)
    units[at + layout.LOG_LISTED] = 0
    before = units[at + layout.LOG_WINNER]
    position = log_rows.field(table, lattice, layout.LOGGED_VALUE)
    best = units[at + layout.LOG_BEST] - 1
    if before != 0 and facts.argument(table, before, position) == best:
        return layout.OK
    tag = _write_arguments(table, lattice, group)
    relation = log_rows.field(table, lattice, layout.LOGGED_RELATION)
    arity = layout.LOGGED_ARITY
    fact = find_tagged(table, relation, views.scratch(table), layout.ARRANGED_KEY, arity, tag)
    if fact == 0:
        fact = new_candidate(table, relation, group, iteration, 0)
        if fact == 0:
            return layout.FULL
        insert(table, layout.FACT_TABLE, layout.FACT_SIZE, tag, fact)
    if not record_winner(table, at, iteration, fact, before):
        return layout.FULL
    units[at + layout.LOG_WINNER] = fact
    if not _change(table, fact, 1, iteration):
        return layout.FULL
    if before != 0 and not _change(table, before, -1, iteration):
        return layout.FULL
    return layout.OK


@inlined
def _change(table: layout.Int64s, fact: int, transition: int, iteration: int) -> bool:
    """Store a transition of a candidate, and add its delta; returns whether memory sufficed."""
    entry = entry_at(table, fact, iteration)
    if entry == 0:
        return False
    facts.change_transition(table, entry, transition)
    add_delta(table, fact, transition)
    return True
