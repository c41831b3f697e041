"""Rows of the log to records. Invariant: each row is added once, in the order of iterations.

Rows are brought together by group with a counting sort, which keeps their order. The candidates of
a group are found through an array by value while its rows are added: this, and the records that
they create, stay in the cache. Only then are the new records entered in the table of facts, where
the cache misses of several overlap.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import prepend_candidate
from streamreasoner.backends.columnar.kernels.records.entry import (
    entry_at,
    journal_with,
    set_total,
    write_record,
)
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    classify,
    prefetch_slot,
    tag_of,
)
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, log_rows, views
from streamreasoner.backends.columnar.kernels.records.slots import put, reserve
from streamreasoner.native.compile import inlined, kernel

_AHEAD = 16  # rows between prefetching a cache line and reading it
_GROUPS_AHEAD = 4  # the same for groups
_LINK = layout.CELLS + layout.LOGGED_ARITY  # that of the lattice is behind the arguments


@kernel
def merge(table: layout.Int64s) -> int:
    """Add all rows, which are absorbed, to records, and empty the log; returns a status."""
    scalars = views.scalars(table)
    _gather(table)
    scalars[layout.LOGGED_ROWS] += scalars[layout.LOG_COUNT]
    scalars[layout.LOG_COUNT] = 0
    scalars[layout.LOG_ABSORBED] = 0
    groups = views.log_groups(table)
    count = scalars[layout.LOG_GROUP_COUNT]
    created = 0
    start = 0
    status = layout.OK
    for i in range(count):
        ahead = lists.lower(groups[min(i + _GROUPS_AHEAD, count - 1)])
        views.prefetch_unit(table, facts.first_member(table, ahead))
        group = lists.lower(groups[i])
        place = log_rows.fields_at(group) + layout.LOG_PLACE
        end = ~views.units(table)[place]
        views.units(table)[place] = -1
        if end != start and status == layout.OK:
            created, status = _merge_group(
                table, lists.upper(groups[i]), group, start, end, created
            )
        start = end
    _enter_records(table, created)
    return status


@kernel
def _gather(table: layout.Int64s) -> None:
    """Bring the rows of each group together."""
    units = views.units(table)
    rows = views.log(table)
    start = 0
    for i in range(views.scalars(table)[layout.LOG_GROUP_COUNT]):
        place = log_rows.fields_at(lists.lower(views.log_groups(table)[i])) + layout.LOG_PLACE
        size = ~units[place]
        units[place] = ~start
        start += size
    count = views.scalars(table)[layout.LOG_COUNT]
    for i in range(count + _AHEAD):
        if i < count:
            views.prefetch_unit(table, log_rows.fields_at(log_rows.key(rows, i)) + layout.LOG_PLACE)
        if i >= _AHEAD:
            place = log_rows.fields_at(log_rows.key(rows, i - _AHEAD)) + layout.LOG_PLACE
            log_rows.copy(rows, i - _AHEAD, views.log_gathered(table), ~units[place])
            units[place] -= 1


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
    gathered = views.log_gathered(table)
    records = views.log_records(table)
    cells = views.scratch(table)
    relation = log_rows.field(table, lattice, layout.LOGGED_RELATION)
    position = log_rows.field(table, lattice, layout.LOGGED_VALUE)
    candidate = facts.first_member(table, group)
    while candidate != 0:
        records[facts.argument(table, candidate, position)] = candidate
        candidate = facts.word(table, candidate, _LINK)
    cells[layout.ARRANGED_KEY + 1 - position] = views.words(table)[facts.key_at(group)]
    status = layout.OK
    for i in range(start, end):
        value = log_rows.value(gathered, i)
        iteration = log_rows.iteration(gathered, i)
        multiplicity = log_rows.multiplicity(gathered, i)
        subtracted = log_rows.subtracted(gathered, i)
        while True:
            fact = records[value]
            if fact == 0:
                cells[layout.ARRANGED_KEY + position] = value
                fact = new_candidate(table, relation, group, iteration, multiplicity)
                if fact == 0:
                    status = layout.FULL
                    break
                records[value] = fact
                views.log(table)[created] = lists.pack(
                    tag_of(table, relation, cells, layout.ARRANGED_KEY), fact
                )
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
    candidate = facts.first_member(table, group)
    while candidate != 0:
        records[facts.argument(table, candidate, position)] = 0
        candidate = facts.word(table, candidate, _LINK)
    return created, status


@inlined
def _add(table: layout.Int64s, fact: int, iteration: int, multiplicity: int) -> int:
    """Add to a multiplicity of a candidate, which is journaled; returns a status."""
    entry = entry_at(table, fact, iteration)
    if entry == 0:
        return layout.FULL
    return set_total(table, entry, facts.multiplicity(table, entry) + multiplicity)


@inlined
def new_candidate(
    table: layout.Int64s, relation: int, group: int, iteration: int, multiplicity: int
) -> int:
    """A journaled record in its group, but not in the table of facts; 0 if the arena is full.

    Its arguments are at ARRANGED_KEY of SCRATCH.
    """
    cells = views.scratch(table)
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
    entered = views.log(table)
    reserve(table, layout.FACT_TABLE, layout.FACT_SIZE, created)
    address, size = views.fact_table(table), views.scalars(table)[layout.FACT_SIZE]
    for i in range(created + _AHEAD):
        if i < created:
            prefetch_slot(table, lists.upper(entered[i]))
        if i >= _AHEAD:
            slot = entered[i - _AHEAD]
            put(address, size, lists.upper(slot), lists.lower(slot))
    views.scalars(table)[layout.FACT_COUNT] += created
