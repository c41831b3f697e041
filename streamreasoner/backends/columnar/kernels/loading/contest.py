"""Winners from the log. Invariant: they are those that settling all candidates would find.

Let v be the best value of a group that has been added to, and let all that has been subtracted at
this iteration be worse. Then v is present, and so the winner. If it has been the winner before, it
was present, and has not been subtracted from since. If not, its sum was 0 before: had it been added
to, it would have been the best value then; had it been subtracted from, as a value that is better
than the best one of that iteration, the log would have ended. Otherwise sums of multiplicities
decide, which only records have, and the log ends.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.loading.absorb import absorb, beats
from streamreasoner.backends.columnar.kernels.loading.log import end_log
from streamreasoner.backends.columnar.kernels.loading.merge import new_candidate
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import group_units
from streamreasoner.backends.columnar.kernels.records.entry import add_delta, entry_at, touch
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    find_tagged,
    prefetch_slot,
    tag_of,
)
from streamreasoner.backends.columnar.kernels.records.slots import LOW, insert
from streamreasoner.backends.columnar.kernels.records.winners import record_winner
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel

_AHEAD = 8  # groups between prefetching a cache line and reading it


@kernel
def contest(table: layout.Int64s, iteration: int) -> int:
    """Absorb the heads of an iteration; if they are not decided by it, log no more. A status.

    All candidates with a multiplicity at this iteration are then touched, to be settled as ever.
    """
    scalars = int64_column(table[layout.SCALARS])
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
    scalars = int64_column(table[layout.SCALARS])
    units = int64_column(table[layout.ARENA])
    values = int64_column(table[layout.VALUES])
    changed = int64_column(table[layout.LOG_CHANGED])
    lattices = int32_column(table[layout.LOG_LATTICES])
    for i in range(scalars[layout.LOG_CHANGED_COUNT]):
        at = (changed[i] & LOW) + group_units(1)
        lost = units[at + layout.LOG_LOST]
        if lost != 0:
            best = units[at + layout.LOG_BEST]
            row = layout.LOGGED_WIDTH * (changed[i] >> 32)
            sign = lattices[row + layout.LOGGED_SIGN]
            if best == 0 or not beats(values, sign, best - 1, lost - 1):
                return False
            units[at + layout.LOG_LOST] = 0
    return True


@kernel
def _touch_all(table: layout.Int64s, iteration: int) -> None:
    """Touch all candidates with a multiplicity at an iteration."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    facts = int64_column(table[layout.JOURNAL_FACTS])
    for i in range(scalars[layout.JOURNALED_FACTS]):
        fact = facts[i] & LOW
        row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
        in_stratum = classes[row + layout.CLASS_STRATUM] == scalars[layout.STRATUM]
        entry = fact + 1 if in_stratum and classes[row + layout.CLASS_LATTICE] != 0 else 0
        while entry != 0:
            if words[2 * entry + 2] == iteration and units[entry] & layout.TOUCHED == 0:
                touch(table, fact, entry)
            entry = words[2 * entry + 3]


@kernel
def crown(table: layout.Int64s, iteration: int) -> int:
    """Make the best values of the listed groups winners at an iteration; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    changed = int64_column(table[layout.LOG_CHANGED])
    count = scalars[layout.LOG_CHANGED_COUNT]
    scalars[layout.LOG_CHANGED_COUNT] = 0
    status = layout.OK
    for i in range(count + 2 * _AHEAD):
        if i < count:
            prefetch(table[layout.ARENA] + 8 * (changed[i] & LOW))
            prefetch(table[layout.ARENA] + 8 * ((changed[i] & LOW) + layout.LATTICE_UNITS + 1))
        if _AHEAD <= i < count + _AHEAD:
            each = changed[i - _AHEAD]
            prefetch_slot(table, _write_arguments(table, each >> 32, each & LOW))
            fields = (each & LOW) + group_units(1)
            winner = int64_column(table[layout.ARENA])[fields + layout.LOG_WINNER]
            prefetch(table[layout.ARENA] + 8 * winner)
        if i >= 2 * _AHEAD and status == layout.OK:
            each = changed[i - 2 * _AHEAD]
            status = _crown(table, each >> 32, each & LOW, iteration)
    return status


@inlined
def _write_arguments(table: layout.Int64s, lattice: int, group: int) -> int:
    """Write the arguments of the best candidate of a group; returns its hash."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    cells = int32_column(table[layout.SCRATCH])
    row = layout.LOGGED_WIDTH * lattice
    position = int32_column(table[layout.LOG_LATTICES])[row + layout.LOGGED_VALUE]
    relation = int32_column(table[layout.LOG_LATTICES])[row + layout.LOGGED_RELATION]
    value = units[group + group_units(1) + layout.LOG_BEST] - 1
    cells[layout.ARRANGED_KEY + position] = value
    cells[layout.ARRANGED_KEY + 1 - position] = words[2 * group + layout.GROUP_KEY]
    return tag_of(table, relation, cells, layout.ARRANGED_KEY)


@inlined
def _crown(table: layout.Int64s, lattice: int, group: int, iteration: int) -> int:
    """Make the best value of a group its winner at an iteration, if it is not; returns a status."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    cells = int32_column(table[layout.SCRATCH])
    at = group + group_units(1)
    units[at + layout.LOG_LISTED] = 0
    before = units[at + layout.LOG_WINNER]
    row = layout.LOGGED_WIDTH * lattice
    place = layout.CELLS + int32_column(table[layout.LOG_LATTICES])[row + layout.LOGGED_VALUE]
    if before != 0 and words[2 * before + place] == units[at + layout.LOG_BEST] - 1:
        return layout.OK
    tag = _write_arguments(table, lattice, group)
    relation = int32_column(table[layout.LOG_LATTICES])[row + layout.LOGGED_RELATION]
    arity = layout.LOGGED_ARITY
    fact = find_tagged(table, relation, cells, layout.ARRANGED_KEY, arity, tag)
    if fact == 0:
        fact = new_candidate(table, relation, group, iteration, 0)
        if fact == 0:
            return layout.FULL
        insert(table, layout.FACT_TABLE, layout.FACT_MASK, tag, fact)
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
    int64_column(table[layout.ARENA])[entry] += transition
    add_delta(table, fact, transition)
    return True
