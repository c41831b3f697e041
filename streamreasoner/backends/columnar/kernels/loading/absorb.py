"""The best values of groups. Invariant: a group in the log knows the best value of all its rows.

A row that subtracts from a value which is worse than the best one changes nothing: winners of a log
only improve. One that is not worse is noted, and `contest` decides when all rows of its iteration
are known.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fact_record import allocate
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, log_rows, views
from streamreasoner.native.addresses import int32_column, prefetch
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.values.kernels.ordering import order

_AHEAD = 16  # rows between prefetching a cache line and reading it


@kernel
def absorb(table: layout.Int64s) -> int:
    """Include all rows in the best values of their groups; returns a status."""
    scalars = views.scalars(table)
    values = views.values(table)
    rows = views.log(table)
    count = scalars[layout.LOG_COUNT]
    start = scalars[layout.LOG_ABSORBED]
    if start == count:
        return layout.OK
    for i in range(start, count + 2 * _AHEAD):
        if i < count:
            prefetch(_place(table, rows, i))
        if start + _AHEAD <= i < count + _AHEAD:
            _prefetch_group(table, rows, i - _AHEAD)
        if i >= start + 2 * _AHEAD and not _absorb_row(table, values, i - 2 * _AHEAD):
            return layout.FULL
    scalars[layout.LOG_ABSORBED] = count
    return layout.OK


@inlined
def beats(values: layout.Int64s, sign: int, value: int, other: int) -> bool:
    """Whether a value is better than another one, in a lattice with a sign."""
    return value != other and order(values, value, other) == -sign


@inlined
def _place(table: layout.Int64s, rows: layout.Int64s, i: int) -> int:
    """The address at which the index of a lattice has the group of a row."""
    arrangement = log_rows.field(table, log_rows.lattice(rows, i), layout.LOGGED_ARRANGEMENT)
    return views.index(table, arrangement) + layout.WORD_BYTES * log_rows.key(rows, i)


@inlined
def _prefetch_group(table: layout.Int64s, rows: layout.Int64s, i: int) -> None:
    """Prefetch the group of a row, if it is known."""
    fields = log_rows.fields_at(int32_column(_place(table, rows, i))[0])
    views.prefetch_unit(table, fields)
    views.prefetch_unit(table, fields + layout.LATTICE_UNITS - 1)


@inlined
def _absorb_row(table: layout.Int64s, values: layout.Int64s, i: int) -> bool:
    """Include a row in the best value of its group; returns whether memory sufficed."""
    rows = views.log(table)
    units = views.units(table)
    added = log_rows.value(rows, i)
    subtracted = log_rows.subtracted(rows, i) - 1
    lattice = log_rows.lattice(rows, i)
    group = _group(table, rows, i)
    if group == 0:
        return False
    log_rows.set_group(rows, i, group)
    at = log_rows.fields_at(group)
    if units[at + layout.LATTICE_EPOCH] >= 0:
        _enter(table, lattice, group)
    units[at + layout.LOG_PLACE] -= 1
    if log_rows.multiplicity(rows, i) < 0:
        added, subtracted = subtracted, added
    best = units[at + layout.LOG_BEST] - 1
    sign = log_rows.field(table, lattice, layout.LOGGED_SIGN)
    if added >= 0 and (best < 0 or beats(values, sign, added, best)):
        best = added
        units[at + layout.LOG_BEST] = best + 1
        _list(table, lattice, group)
    if subtracted >= 0 and (best < 0 or not beats(values, sign, best, subtracted)):
        lost = units[at + layout.LOG_LOST] - 1
        if lost < 0 or beats(values, sign, subtracted, lost):
            units[at + layout.LOG_LOST] = subtracted + 1
        _list(table, lattice, group)
    return True


@inlined
def _group(table: layout.Int64s, rows: layout.Int64s, i: int) -> int:
    """The group of a row, created if missing; 0 if the arena is full."""
    place = int32_column(_place(table, rows, i))
    group = place[0]
    if group == 0:
        group = allocate(table, facts.group_units(1) + layout.LATTICE_UNITS)
        if group != 0:
            lattice = log_rows.lattice(rows, i)
            facts.set_word(
                table,
                group,
                layout.GROUP_ARRANGEMENT,
                log_rows.field(table, lattice, layout.LOGGED_ARRANGEMENT),
            )
            views.words(table)[facts.key_at(group)] = log_rows.key(rows, i)
            place[0] = group
    return group


@inlined
def _enter(table: layout.Int64s, lattice: int, group: int) -> None:
    """Let a group take part in the log, with the winner that it has."""
    units = views.units(table)
    groups = views.log_groups(table)
    at = log_rows.fields_at(group)
    node = units[at + layout.LATTICE_WINNERS]
    winner = 0
    while node != 0:
        winner = facts.word(table, node, layout.WINNER_FACT)
        node = facts.word(table, node, layout.WINNER_NEXT)
    position = log_rows.field(table, lattice, layout.LOGGED_VALUE)
    best = facts.argument(table, winner, position) + 1 if winner != 0 else 0
    units[at + layout.LOG_BEST] = best
    units[at + layout.LOG_LISTED] = 0
    units[at + layout.LOG_PLACE] = -1
    units[at + layout.LOG_WINNER] = winner
    units[at + layout.LOG_LOST] = 0
    groups[views.scalars(table)[layout.LOG_GROUP_COUNT]] = lists.pack(lattice, group)
    views.scalars(table)[layout.LOG_GROUP_COUNT] += 1


@inlined
def _list(table: layout.Int64s, lattice: int, group: int) -> None:
    """List a group whose best value may have changed, once."""
    at = log_rows.fields_at(group)
    if views.units(table)[at + layout.LOG_LISTED] == 0:
        views.units(table)[at + layout.LOG_LISTED] = 1
        scalars = views.scalars(table)
        changed = views.log_changed(table)
        changed[scalars[layout.LOG_CHANGED_COUNT]] = lists.pack(lattice, group)
        scalars[layout.LOG_CHANGED_COUNT] += 1
