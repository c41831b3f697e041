"""Reads of the state. Invariant: they change nothing.

`count`, `read_facts` and `select` visit the whole table of facts, so their cost is linear in the
state, and epochs never call them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import find_first
from streamreasoner.backends.columnar.kernels.records.entry import presence, trace_rows
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    find_tagged,
    prefetch_record,
    prefetch_slot,
)
from streamreasoner.backends.columnar.kernels.records.fields import facts, views
from streamreasoner.backends.columnar.kernels.records.slots import (
    fact_at,
    fact_words,
    hash_cells,
)
from streamreasoner.native.compile import inlined, kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@inlined
def member(table: layout.Int64s, i: int, relation: int) -> int:
    """The fact in word *i* of the table of facts if it belongs to a relation, else 0."""
    fact = fact_at(table, i)
    if fact == 0:
        return 0
    return fact if facts.field_of(table, fact, layout.CLASS_RELATION) == relation else 0


@kernel
def count(table: layout.Int64s, relation: int) -> int:
    """Number of present facts of a relation."""
    present = 0
    for i in range(fact_words(table)):
        fact = member(table, i, relation)
        if fact != 0:
            present += presence(table, fact)
    return present


@kernel
def read_facts(table: layout.Int64s, relation: int, args: layout.Int32s) -> None:
    """Fill in the arguments of the present facts of a relation."""
    row = 0
    for i in range(fact_words(table)):
        fact = member(table, i, relation)
        if fact == 0 or presence(table, fact) == 0:
            continue
        for j in range(args.shape[1]):
            args[row, j] = facts.argument(table, fact, j)
        row += 1


@kernel
def members(
    table: layout.Int64s, arrangement: int, keys: layout.Int32s, records: layout.Int32s
) -> int:
    """Fill in the records of the groups of an arrangement with these keys, of one id each.

    Returns their number; those beyond the length of *records* are only counted.
    """
    count = 0
    for i in range(len(keys)):
        fact = find_first(table, arrangement, keys, i, 1)
        while fact != 0:
            if count < len(records):
                records[count] = fact
            count += 1
            fact = facts.next_member(table, fact, arrangement)
    return count


@kernel
def read_args(table: layout.Int64s, records: layout.Int32s, args: layout.Int32s) -> None:
    """Fill in the arguments of records, int32 of shape (n, arity)."""
    for row in range(len(records)):
        for j in range(args.shape[1]):
            args[row, j] = facts.argument(table, records[row], j)


@kernel
def read_argument(
    table: layout.Int64s, records: layout.Int32s, position: int, ids: layout.Int32s
) -> None:
    """Fill in the argument at a position of records of one relation."""
    for row in range(len(records)):
        ids[row] = facts.argument(table, records[row], position)


_AHEAD = 16  # slots between prefetching a record and reading it


@kernel
def among(
    table: layout.Int64s,
    records: layout.Int32s,
    position: int,
    first: int,
    wanted: NDArray[np.bool_],
    found: layout.Int32s,
) -> int:
    """Fill in those of some records of a relation that have one of several ids at a position.

    *wanted* tells of each id from *first* on whether it is one of them. Returns their number.
    """
    count = 0
    for row in range(len(records)):
        views.prefetch_unit(table, records[min(row + _AHEAD, len(records) - 1)])
        at = facts.argument(table, records[row], position) - first
        if 0 <= at < len(wanted) and wanted[at]:
            found[count] = records[row]
            count += 1
    return count


@inlined
def _has(table: layout.Int64s, fact: int, positions: layout.Int32s, ids: layout.Int32s) -> bool:
    """Whether a fact has these ids at these positions."""
    j = 0
    while j < len(positions) and facts.argument(table, fact, positions[j]) == ids[j]:
        j += 1
    return j == len(positions)


@kernel
def select(
    table: layout.Int64s,
    relation: int,
    positions: layout.Int32s,
    ids: layout.Int32s,
    records: layout.Int32s,
) -> int:
    """Fill in the records of a relation that have these ids at these positions, present or not.

    Returns the number of matches; those beyond the length of *records* are only counted.
    """
    words = fact_words(table)
    count = 0
    for i in range(words):
        views.prefetch_unit(table, fact_at(table, min(i + _AHEAD, words - 1)))
        fact = member(table, i, relation)
        if fact == 0:
            continue
        if _has(table, fact, positions, ids):
            if count < len(records):
                records[count] = fact
            count += 1
    return count


@kernel
def matching(
    table: layout.Int64s,
    relation: int,
    positions: layout.Int32s,
    ids: layout.Int32s,
    records: layout.Int32s,
    found: layout.Int32s,
) -> int:
    """Fill in those of some records that are facts with these ids at these positions.

    Records were facts of the relation once; each may have been dropped, and its memory have become
    part of another record. So it counts only if the table of facts has it.

    Returns:
        The number of facts found.
    """
    arity = views.arity(table, relation)
    classes = views.scalars(table)[layout.CLASS_COUNT]
    count = 0
    for i in range(len(records)):
        if i + _AHEAD < len(records):
            views.prefetch_unit(table, records[i + _AHEAD])
        fact = records[i]
        kind = facts.class_of(table, fact)
        if kind >= classes or facts.class_field(table, kind, layout.CLASS_RELATION) != relation:
            continue
        if not _has(table, fact, positions, ids):
            continue
        at = facts.arguments_at(fact)
        tag = hash_cells(relation, views.words(table), at, arity)
        if find_tagged(table, relation, views.words(table), at, arity, tag) == fact:
            found[count] = fact
            count += 1
    return count


@kernel
def count_rows(table: layout.Int64s, records: layout.Int32s) -> int:
    """Number of rows that facts have in the trace."""
    rows = 0
    for i in range(len(records)):
        views.prefetch_unit(table, records[min(i + _AHEAD, len(records) - 1)])
        rows += trace_rows(table, records[i])
    return rows


@kernel
def read_trace(
    table: layout.Int64s,
    records: layout.Int32s,
    args: layout.Int32s,
    iterations: layout.Int32s,
    multiplicities: layout.Int64s,
) -> None:
    """Fill in the multiplicities of facts by iteration."""
    row = 0
    for i in range(len(records)):
        views.prefetch_unit(table, records[min(i + _AHEAD, len(records) - 1)])
        fact = records[i]
        entry = facts.first_entry(fact)
        while entry != 0:
            multiplicity = facts.multiplicity(table, entry)
            if multiplicity != 0:
                for j in range(args.shape[1]):
                    args[row, j] = facts.argument(table, fact, j)
                iterations[row] = facts.iteration(table, entry)
                multiplicities[row] = multiplicity
                row += 1
            entry = facts.next_entry(table, entry)


@kernel
def describe(
    table: layout.Int64s,
    records: layout.Int32s,
    iteration: int,
    args: layout.Int32s,
    times: layout.Int32s,
    sums: layout.Int64s,
) -> None:
    """Fill in arguments, presence and multiplicities of facts at an iteration of their strata.

    *args* gets their arguments; *times* (stratum, present since or -1, present until or -1) and
    *sums* (multiplicity at iteration 0, sum of all multiplicities).
    """
    for row in range(len(records)):
        fact = records[row]
        for j in range(args.shape[1]):
            args[row, j] = facts.argument(table, fact, j)
        asserted = 0
        total = 0
        present = 0
        since = -1
        until = -1
        entry = facts.first_entry(fact)
        while entry != 0:
            multiplicity = facts.multiplicity(table, entry)
            transition = facts.transition(table, entry)
            when = facts.iteration(table, entry)
            total += multiplicity
            if when == 0:
                asserted = multiplicity
            if when <= iteration:
                present += transition
                if transition > 0:
                    since = max(since, when)
            elif transition < 0 and (until < 0 or when < until):
                until = when
            entry = facts.next_entry(table, entry)
        if present == 0:
            since = -1
            until = -1
        times[row, 0] = facts.field_of(table, fact, layout.CLASS_STRATUM)
        times[row, 1] = since
        times[row, 2] = until
        sums[row, 0] = asserted
        sums[row, 1] = total


_BLOCK = 32  # facts whose cache misses overlap


@kernel
def read_asserted(
    table: layout.Int64s, relation: int, cells: layout.Int32s, multiplicities: layout.Int64s
) -> None:
    """Fill in the multiplicities at iteration 0 of facts, 0 for those that the state does not hold.

    *cells* has their arguments, one fact after the other.
    """
    arity = views.arity(table, relation)
    count = len(multiplicities)
    for start in range(0, count, _BLOCK):
        end = min(start + _BLOCK, count)
        # Until its fact is found, the place of a multiplicity has the hash of the fact.
        for row in range(start, end):
            tag = hash_cells(relation, cells, row * arity, arity)
            multiplicities[row] = tag
            prefetch_slot(table, tag)
        for row in range(start, end):
            prefetch_record(table, multiplicities[row])
        for row in range(start, end):
            tag = multiplicities[row]
            multiplicities[row] = 0
            fact = find_tagged(table, relation, cells, row * arity, arity, tag)
            entry = facts.first_entry(fact) if fact != 0 else 0
            while entry != 0:
                if facts.iteration(table, entry) == 0:
                    multiplicities[row] += facts.multiplicity(table, entry)
                entry = facts.next_entry(table, entry)
