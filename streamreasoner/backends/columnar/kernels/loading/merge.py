"""Rows of the log to records. Invariant: each row is added once, in the order of iterations.

Rows are brought together by group with a counting sort, which keeps their order. The candidates of
a group are found through an array by value while its rows are added: this, and the records that
they create, stay in the cache. Only then are the new records entered in the table of facts, where
the cache misses of several overlap.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.loading.absorb import multiplicity_of
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import (
    group_units,
    prepend_candidate,
)
from streamreasoner.backends.columnar.kernels.records.entry import (
    entry_at,
    journal_with,
    write_record,
)
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    classify,
    prefetch_slot,
    tag_of,
)
from streamreasoner.backends.columnar.kernels.records.slots import LOW, put, reserve
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel

_AHEAD = 16  # rows between prefetching a cache line and reading it
_GROUPS_AHEAD = 4  # the same for groups
_LINK = layout.CELLS + layout.LOGGED_ARITY  # that of the lattice is behind the arguments


@kernel
def merge(table: layout.Int64s) -> int:
    """Add all rows, which are absorbed, to records, and empty the log; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    _gather(table)
    scalars[layout.LOGGED_ROWS] += scalars[layout.LOG_COUNT]
    scalars[layout.LOG_COUNT] = 0
    scalars[layout.LOG_ABSORBED] = 0
    groups = int64_column(table[layout.LOG_GROUPS])
    units = int64_column(table[layout.ARENA])
    words = int32_column(table[layout.ARENA])
    count = scalars[layout.LOG_GROUP_COUNT]
    created = 0
    start = 0
    status = layout.OK
    for i in range(count):
        ahead = groups[min(i + _GROUPS_AHEAD, count - 1)] & LOW
        prefetch(table[layout.ARENA] + 8 * words[2 * ahead + layout.GROUP_FIRST])
        group = groups[i] & LOW
        place = group + group_units(1) + layout.LOG_PLACE
        end = ~units[place]
        units[place] = -1
        if end != start and status == layout.OK:
            created, status = _merge_group(table, groups[i] >> 32, group, start, end, created)
        start = end
    _enter_records(table, created)
    return status


@kernel
def _gather(table: layout.Int64s) -> None:
    """Bring the rows of each group together."""
    scalars = int64_column(table[layout.SCALARS])
    units = int64_column(table[layout.ARENA])
    rows = int64_column(table[layout.LOG])
    gathered = int64_column(table[layout.LOG_GATHERED])
    groups = int64_column(table[layout.LOG_GROUPS])
    start = 0
    for i in range(scalars[layout.LOG_GROUP_COUNT]):
        place = (groups[i] & LOW) + group_units(1) + layout.LOG_PLACE
        size = ~units[place]
        units[place] = ~start
        start += size
    count = scalars[layout.LOG_COUNT]
    first = table[layout.ARENA] + 8 * (group_units(1) + layout.LOG_PLACE)
    for i in range(count + _AHEAD):
        if i < count:
            prefetch(first + 8 * (rows[layout.LOG_WIDTH * i] & LOW))
        if i >= _AHEAD:
            row = layout.LOG_WIDTH * (i - _AHEAD)
            place = (rows[row] & LOW) + group_units(1) + layout.LOG_PLACE
            target = layout.LOG_WIDTH * ~units[place]
            units[place] -= 1
            gathered[target] = rows[row]
            gathered[target + 1] = rows[row + 1]


@kernel
def _merge_group(
    table: layout.Int64s, lattice: int, group: int, start: int, end: int, created: int
) -> tuple[int, int]:
    """Add gathered rows to the candidates of their group.

    The log itself, whose rows are gathered, gets the slots of the records that are created.

    Args:
        table: The addresses.
        lattice: Its lattice.
        group: The group.
        start: Its first row.
        end: Its last row + 1.
        created: Number of slots in the log.

    Returns:
        The number of slots, and a status.
    """
    words = int32_column(table[layout.ARENA])
    gathered = int64_column(table[layout.LOG_GATHERED])
    slots = int64_column(table[layout.LOG])
    records = int32_column(table[layout.LOG_RECORDS])
    cells = int32_column(table[layout.SCRATCH])
    row = layout.LOGGED_WIDTH * lattice
    relation = int32_column(table[layout.LOG_LATTICES])[row + layout.LOGGED_RELATION]
    position = int32_column(table[layout.LOG_LATTICES])[row + layout.LOGGED_VALUE]
    candidate = words[2 * group + layout.GROUP_FIRST]
    while candidate != 0:
        records[words[2 * candidate + layout.CELLS + position]] = candidate
        candidate = words[2 * candidate + _LINK]
    cells[layout.ARRANGED_KEY + 1 - position] = words[2 * group + layout.GROUP_KEY]
    status = layout.OK
    for i in range(layout.LOG_WIDTH * start, layout.LOG_WIDTH * end, layout.LOG_WIDTH):
        value = gathered[i] >> 32
        iteration = (gathered[i + 1] & LOW) >> layout.LOG_ITERATION_SHIFT
        multiplicity = multiplicity_of(gathered[i + 1])
        subtracted = gathered[i + 1] >> 32
        while True:
            fact = records[value]
            if fact == 0:
                cells[layout.ARRANGED_KEY + position] = value
                fact = new_candidate(table, relation, group, iteration, multiplicity)
                if fact == 0:
                    status = layout.FULL
                    break
                records[value] = fact
                slots[created] = (tag_of(table, relation, cells, layout.ARRANGED_KEY) << 32) | fact
                created += 1
            else:
                status = _add(table, fact, iteration, multiplicity)
            if subtracted == 0 or status != layout.OK:
                break
            value = subtracted - 1
            multiplicity = -multiplicity
            subtracted = 0
        if status != layout.OK:
            break
    candidate = words[2 * group + layout.GROUP_FIRST]
    while candidate != 0:
        records[words[2 * candidate + layout.CELLS + position]] = 0
        candidate = words[2 * candidate + _LINK]
    return created, status


@inlined
def _add(table: layout.Int64s, fact: int, iteration: int, multiplicity: int) -> int:
    """Add to a multiplicity of a candidate, which is journaled; returns a status."""
    units = int64_column(table[layout.ARENA])
    entry = entry_at(table, fact, iteration)
    if entry == 0:
        return layout.FULL
    total = (units[entry] >> layout.MULTIPLICITY_SHIFT) + multiplicity
    if total > layout.MAX_MULTIPLICITY or total < -layout.MAX_MULTIPLICITY:
        return layout.OVERFLOW
    units[entry] += multiplicity << layout.MULTIPLICITY_SHIFT
    return layout.OK


@inlined
def new_candidate(
    table: layout.Int64s, relation: int, group: int, iteration: int, multiplicity: int
) -> int:
    """A journaled record in its group, but not in the table of facts; 0 if the arena is full.

    Its arguments are at ARRANGED_KEY of SCRATCH.
    """
    cells = int32_column(table[layout.SCRATCH])
    kind = classify(table, relation, cells, layout.ARRANGED_KEY)
    header = kind | layout.FRESH
    fact = write_record(table, header, cells, layout.ARRANGED_KEY, iteration, multiplicity)
    if fact != 0:
        journal_with(table, fact, kind, 0)
        prepend_candidate(table, group, fact, _LINK)
    return fact


@kernel
def _enter_records(table: layout.Int64s, created: int) -> None:
    """Enter the slots that the log has in the table of facts."""
    scalars = int64_column(table[layout.SCALARS])
    entered = int64_column(table[layout.LOG])
    reserve(table, layout.FACT_TABLE, layout.FACT_MASK, created)
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    for i in range(created + _AHEAD):
        if i < created:
            prefetch_slot(table, (entered[i] >> 32) & LOW)
        if i >= _AHEAD:
            slot = entered[i - _AHEAD]
            put(slots, scalars[layout.FACT_MASK], (slot >> 32) & LOW, slot & LOW)
    scalars[layout.FACT_COUNT] += created
