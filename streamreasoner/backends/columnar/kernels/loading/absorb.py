"""The best values of groups. Invariant: a group in the log knows the best value of all its rows.

A row that subtracts from a value which is worse than the best one changes nothing: winners of a log
only improve. One that is not worse is noted, and `contest` decides when all rows of its iteration
are known.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import group_units
from streamreasoner.backends.columnar.kernels.records.fact_record import allocate
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.values.kernels.ordering import order

_AHEAD = 16  # rows between prefetching a cache line and reading it


@kernel
def absorb(table: layout.Int64s) -> int:
    """Include all rows in the best values of their groups; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    values = int64_column(table[layout.VALUES])
    rows = int64_column(table[layout.LOG])
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
def lattice_of(row: int) -> int:
    """The lattice of a row of the log, by its second word."""
    return (row >> layout.LOG_LATTICE_SHIFT) & (layout.LOG_LATTICES_MOST - 1)


@inlined
def multiplicity_of(row: int) -> int:
    """The multiplicity of a row of the log, by its second word."""
    low = row & (2 * layout.LOG_MULTIPLICITY - 1)
    return (low ^ layout.LOG_MULTIPLICITY) - layout.LOG_MULTIPLICITY


@inlined
def _place(table: layout.Int64s, rows: layout.Int64s, i: int) -> int:
    """The address at which the index of a lattice has the group of a row."""
    lattices = int32_column(table[layout.LOG_LATTICES])
    lattice = layout.LOGGED_WIDTH * lattice_of(rows[layout.LOG_WIDTH * i + 1])
    arrangement = lattices[lattice + layout.LOGGED_ARRANGEMENT]
    index = int64_column(table[layout.INDEXES])[arrangement]
    return index + 4 * (rows[layout.LOG_WIDTH * i] & LOW)


@inlined
def _prefetch_group(table: layout.Int64s, rows: layout.Int64s, i: int) -> None:
    """Prefetch the group of a row, if it is known."""
    fields = int32_column(_place(table, rows, i))[0] + group_units(1)
    prefetch(table[layout.ARENA] + 8 * fields)
    prefetch(table[layout.ARENA] + 8 * (fields + layout.LATTICE_UNITS - 1))


@inlined
def _absorb_row(table: layout.Int64s, values: layout.Int64s, i: int) -> bool:
    """Include a row in the best value of its group; returns whether memory sufficed."""
    rows = int64_column(table[layout.LOG])
    units = int64_column(table[layout.ARENA])
    row = layout.LOG_WIDTH * i
    added = rows[row] >> 32
    subtracted = (rows[row + 1] >> 32) - 1
    lattice = lattice_of(rows[row + 1])
    group = _group(table, rows, i)
    if group == 0:
        return False
    rows[row] = (added << 32) | group
    at = group + group_units(1)
    if units[at + layout.LATTICE_EPOCH] >= 0:
        _enter(table, lattice, group)
    units[at + layout.LOG_PLACE] -= 1
    if multiplicity_of(rows[row + 1]) < 0:
        added, subtracted = subtracted, added
    best = units[at + layout.LOG_BEST] - 1
    sign = int32_column(table[layout.LOG_LATTICES])[
        layout.LOGGED_WIDTH * lattice + layout.LOGGED_SIGN
    ]
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
        group = allocate(table, group_units(1) + layout.LATTICE_UNITS)
        if group != 0:
            words = int32_column(table[layout.ARENA])
            lattices = int32_column(table[layout.LOG_LATTICES])
            lattice = layout.LOGGED_WIDTH * lattice_of(rows[layout.LOG_WIDTH * i + 1])
            words[2 * group] = lattices[lattice + layout.LOGGED_ARRANGEMENT]
            words[2 * group + layout.GROUP_KEY] = rows[layout.LOG_WIDTH * i] & LOW
            place[0] = group
    return group


@inlined
def _enter(table: layout.Int64s, lattice: int, group: int) -> None:
    """Let a group take part in the log, with the winner that it has."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    groups = int64_column(table[layout.LOG_GROUPS])
    at = group + group_units(1)
    node = units[at + layout.LATTICE_WINNERS]
    winner = 0
    while node != 0:
        winner = words[2 * node + layout.WINNER_FACT]
        node = words[2 * node + layout.WINNER_NEXT]
    position = int32_column(table[layout.LOG_LATTICES])[
        layout.LOGGED_WIDTH * lattice + layout.LOGGED_VALUE
    ]
    best = words[2 * winner + layout.CELLS + position] + 1 if winner != 0 else 0
    units[at + layout.LOG_BEST] = best
    units[at + layout.LOG_LISTED] = 0
    units[at + layout.LOG_PLACE] = -1
    units[at + layout.LOG_WINNER] = winner
    units[at + layout.LOG_LOST] = 0
    groups[scalars[layout.LOG_GROUP_COUNT]] = (lattice << 32) | group
    scalars[layout.LOG_GROUP_COUNT] += 1


@inlined
def _list(table: layout.Int64s, lattice: int, group: int) -> None:
    """List a group whose best value may have changed, once."""
    units = int64_column(table[layout.ARENA])
    at = group + group_units(1)
    if units[at + layout.LOG_LISTED] == 0:
        units[at + layout.LOG_LISTED] = 1
        scalars = int64_column(table[layout.SCALARS])
        changed = int64_column(table[layout.LOG_CHANGED])
        changed[scalars[layout.LOG_CHANGED_COUNT]] = (lattice << 32) | group
        scalars[layout.LOG_CHANGED_COUNT] += 1
