"""Batched additions to multiplicities. Invariant: they are applied before facts are settled.

Looking up a fact costs two cache misses, one for its slot and one for its record. Additions are
therefore buffered, and slots and records of a batch are prefetched so that the misses overlap
(measured: a third of the time for a large load). Consecutive derivations often have the same head,
so pending additions to the same fact and iteration are combined.

Heads of lattices are not added in a load: what becomes of the rows of their log is in
`kernels/loading`.
"""

from __future__ import annotations

import numpy as np

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import prefetch_lattice_group
from streamreasoner.backends.columnar.kernels.records.entry import (
    add_multiplicity,
    create_fact,
    touch_at_start,
)
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    classify,
    find,
    find_tagged,
    prefetch_record,
    prefetch_slot,
    tag_of,
)
from streamreasoner.backends.columnar.kernels.records.fields import facts, log_rows, views
from streamreasoner.backends.columnar.kernels.records.parts.outbox import post
from streamreasoner.backends.columnar.kernels.records.parts.owners import is_for_another
from streamreasoner.backends.columnar.kernels.records.slots import reserve
from streamreasoner.backends.columnar.kernels.records.walk import walk_ahead
from streamreasoner.native.addresses import (
    fixed_address,
    int64_column,
    load_acquired,
    store_released,
    yield_processor,
)
from streamreasoner.native.compile import inlined, kernel

BATCH = 256
UNKNOWN = -1  # class to be computed if the fact is new
_COUNT = 0  # pending rows
LIMIT = 1  # where the number of rows is at which they are applied
_STATE = 2  # address table of the state to apply them to; 0: this one
_LATEST = 3  # by the low bits of a tag: its latest row, or 0
_LATEST_MASK = 255
_ROWS = _LATEST + _LATEST_MASK + 1
# Of a row: its cells begin at _CELL; the class may be UNKNOWN, and the fact is a prefetched one.
_RELATION, _CELL, _TAG, _ITERATION, _MULTIPLICITY, _CLASS, _FACT, _ROW = range(8)
_SUMMED = 1 << 32  # keeps combined additions small, so that they overflow where single ones would
_AHEAD = 16  # rows between prefetching a cache line and reading it


def columns(
    limit: int, owner: layout.Int64s | None = None
) -> dict[int, layout.Int32s | layout.Int64s]:
    """Memory for batches of *limit* additions, by column of the address table.

    Args:
        limit: Additions applied together.
        owner: Address table of the state to apply them to, if another thread accumulates.
    """
    rows = np.zeros(_ROWS + _ROW * (limit + 1), np.int64)
    rows[LIMIT] = limit
    rows[_STATE] = 0 if owner is None else owner.ctypes.data
    return {
        layout.PENDING_ROWS: rows,
        layout.PENDING_CELLS: np.zeros(limit * layout.MAX_ARITY, np.int32),
    }


@inlined
def is_logged(table: layout.Int64s, relation: int, iteration: int, multiplicity: int) -> bool:
    """Whether a head of a relation goes to the log; notes if the log should have it but cannot."""
    if log_rows.lattice_of(table, relation) < 0:
        return False
    scalars = views.scalars(table)
    if (
        scalars[layout.LOG_COUNT] < scalars[layout.LOG_LIMIT]
        and iteration < layout.LOG_ITERATIONS
        and -layout.LOG_MULTIPLICITY < multiplicity < layout.LOG_MULTIPLICITY
    ):
        return True
    scalars[layout.LOG_REFUSED] = 1
    return False


@inlined
def value_argument(table: layout.Int64s, relation: int) -> int:
    """The argument with the value of a relation whose heads are logged."""
    return log_rows.field(table, log_rows.lattice_of(table, relation), layout.LOGGED_VALUE)


@inlined
def append(
    table: layout.Int64s,
    relation: int,
    cells: layout.Int32s,
    at: int,
    lost: int,
    iteration: int,
    multiplicity: int,
) -> int:
    """Log a head; returns OK.

    Args:
        table: The addresses.
        relation: The relation of the head, which is logged.
        cells: Holds its arguments.
        at: Offset of the arguments.
        lost: Id + 1 of the value of another head of its group, which is subtracted; 0 for none.
        iteration: Iteration to add at.
        multiplicity: Multiplicity to add.
    """
    rows, row = views.log(table), views.scalars(table)[layout.LOG_COUNT]
    lattice = log_rows.lattice_of(table, relation)
    position = log_rows.field(table, lattice, layout.LOGGED_VALUE)
    value, key = cells[at + position], cells[at + 1 - position]
    log_rows.write(rows, row, value, key, lost, iteration, lattice, multiplicity)
    views.scalars(table)[layout.LOG_COUNT] += 1
    return layout.OK


@kernel
def push(
    table: layout.Int64s,
    relation: int,
    cells: layout.Int32s,
    at: int,
    iteration: int,
    multiplicity: int,
    kind: int,
) -> int:
    """Buffer an addition, log it or send it; applies the batch if it is full; returns a status.

    Args:
        table: The addresses.
        relation: The fact's relation.
        cells: Holds its arguments.
        at: Offset of the arguments.
        iteration: Iteration to add at.
        multiplicity: Multiplicity to add.
        kind: The fact's class, or UNKNOWN.
    """
    # One test tells that neither is asked for: nothing is done as often as this.
    if views.logged(table)[relation] != 0:
        if views.logged(table)[relation] == layout.DIVIDED:
            if is_for_another(table, relation, cells, at):
                return post(table, relation, cells, at, iteration, multiplicity)
        elif is_logged(table, relation, iteration, multiplicity):
            return append(table, relation, cells, at, 0, iteration, multiplicity)
    rows = views.pending_rows(table)
    waiting = views.pending_cells(table)
    arity = views.arity(table, relation)
    tag = tag_of(table, relation, cells, at)
    latest = _LATEST + (tag & _LATEST_MASK)
    same = rows[latest]
    if same != 0 and rows[same + _TAG] == tag and rows[same + _ITERATION] == iteration:
        i = 0
        while i < arity and waiting[rows[same + _CELL] + i] == cells[at + i]:
            i += 1
        small = (
            -_SUMMED < multiplicity < _SUMMED and -_SUMMED < rows[same + _MULTIPLICITY] < _SUMMED
        )
        if i == arity and rows[same + _RELATION] == relation and small:
            rows[same + _MULTIPLICITY] += multiplicity
            return layout.OK
    row = _ROWS + _ROW * rows[_COUNT]
    first = rows[row + _CELL]
    rows[latest] = row
    for i in range(arity):
        waiting[first + i] = cells[at + i]
    rows[row + _RELATION] = relation
    rows[row + _TAG] = tag
    rows[row + _ITERATION] = iteration
    rows[row + _MULTIPLICITY] = multiplicity
    rows[row + _CLASS] = kind
    rows[row + _ROW + _CELL] = first + arity
    rows[_COUNT] += 1
    if rows[_COUNT] == rows[LIMIT]:
        return _make_room(table)
    return layout.OK


@kernel
def flush(table: layout.Int64s) -> int:
    """Apply pending additions; returns a status."""
    return accumulate(table, table)


@kernel
def discard_pending(table: layout.Int64s) -> None:
    """Drop pending additions."""
    rows = views.pending_rows(table)
    rows[_COUNT] = 0
    for i in range(_LATEST, _ROWS):
        rows[i] = 0


@kernel
def pending_count(table: layout.Int64s) -> int:
    """Number of pending additions."""
    return views.pending_rows(table)[_COUNT]


@kernel
def accumulate(table: layout.Int64s, source: layout.Int64s) -> int:
    """Apply the pending additions of *source* to the state of *table*; returns a status."""
    rows = views.pending_rows(source)
    waiting = views.pending_cells(source)
    count = rows[_COUNT]
    deep = _has_parts(table)
    discard_pending(source)
    ahead = min(_AHEAD, count)
    for i in range(count + 3 * ahead):
        walk_ahead(table)
        if i < count:
            prefetch_slot(table, rows[_ROWS + _ROW * i + _TAG])
        if ahead <= i < count + ahead:
            row = _ROWS + _ROW * (i - ahead)
            rows[row + _FACT] = prefetch_record(table, rows[row + _TAG])
        if deep and 2 * ahead <= i < count + 2 * ahead:
            _prefetch_parts(table, rows, _ROWS + _ROW * (i - 2 * ahead), waiting)
        if i >= 3 * ahead:
            row = _ROWS + _ROW * (i - 3 * ahead)
            relation, at, tag = rows[row + _RELATION], rows[row + _CELL], rows[row + _TAG]
            arity = views.arity(table, relation)
            fact = find_tagged(table, relation, waiting, at, arity, tag)
            if fact != 0:
                status = add_multiplicity(
                    table, fact, rows[row + _ITERATION], rows[row + _MULTIPLICITY]
                )
            else:
                kind = rows[row + _CLASS]
                if kind == UNKNOWN:
                    kind = classify(table, relation, waiting, at)
                status = create_fact(
                    table, kind, waiting, at, tag, rows[row + _ITERATION], rows[row + _MULTIPLICITY]
                )
            if status != layout.OK:
                return status
    return layout.OK


@inlined
def _has_parts(table: layout.Int64s) -> bool:
    """Whether additions read more than records: groups of lattices, or entries of older facts."""
    scalars = views.scalars(table)
    lattices = scalars[layout.LATTICES] != 0
    return bool(lattices or 2 * scalars[layout.JOURNALED_FACTS] < scalars[layout.FACT_COUNT])


@inlined
def _prefetch_parts(
    table: layout.Int64s, rows: layout.Int64s, row: int, waiting: layout.Int32s
) -> None:
    """Prefetch what an addition reads besides the record; finds the class of a fact that is new."""
    if rows[row + _FACT] != 0:
        facts.prefetch_further_entry(table, rows[row + _FACT])
        return
    if rows[row + _CLASS] == UNKNOWN:
        rows[row + _CLASS] = classify(table, rows[row + _RELATION], waiting, rows[row + _CELL])
    prefetch_lattice_group(table, rows[row + _CLASS], waiting, rows[row + _CELL])


@kernel
def accumulate_beside(table: layout.Int64s, full: layout.Int64s) -> int:
    """Like `accumulate`, then clear BUSY, for which the joining thread waits."""
    status = accumulate(table, full)
    store_released(fixed_address(table, layout.SCALARS) + layout.UNIT_BYTES * layout.BUSY, 0)
    return status


@kernel
def _make_room(table: layout.Int64s) -> int:
    """Apply a full batch; if the state is another thread's, wait until it is idle."""
    state = views.pending_rows(table)[_STATE]
    if state == 0:
        return accumulate(table, table)
    owner = int64_column(state)
    while (
        load_acquired(fixed_address(owner, layout.SCALARS) + layout.UNIT_BYTES * layout.BUSY) != 0
    ):
        yield_processor()
    status = accumulate(owner, table)
    share_fact_table(table, owner)
    return status


@kernel
def share_fact_table(table: layout.Int64s, owner: layout.Int64s) -> None:
    """Give a joining thread the current location of the owner's table of facts."""
    owned = views.scalars(owner)
    views.scalars(table)[layout.FACT_SIZE] = owned[layout.FACT_SIZE]
    views.scalars(table)[layout.FACT_BUFFER] = owned[layout.FACT_BUFFER]


@kernel
def add(
    table: layout.Int64s,
    relation: int,
    arity: int,
    cells: layout.Int32s,
    multiplicities: layout.Int64s,
) -> int:
    """Add asserted multiplicities at iteration 0; *cells* is (n * arity,). Returns a status."""
    reserve(table, layout.FACT_TABLE, layout.FACT_SIZE, len(multiplicities))
    status = stage(table, relation, arity, cells, multiplicities)
    return flush(table) if status == layout.OK else status


@kernel
def add_owned(
    table: layout.Int64s,
    relation: int,
    arity: int,
    cells: layout.Int32s,
    multiplicities: layout.Int64s,
) -> int:
    """Like `add`, of the facts that this part owns; those of others are left out."""
    share = len(multiplicities) // views.scalars(table)[layout.PARTS]
    reserve(table, layout.FACT_TABLE, layout.FACT_SIZE, share)
    for i in range(len(multiplicities)):
        at = i * arity
        if not is_for_another(table, relation, cells, at):
            kind = classify(table, relation, cells, at)
            status = push(table, relation, cells, at, 0, multiplicities[i], kind)
            if status != layout.OK:
                return status
    return flush(table)


@kernel
def stage(
    table: layout.Int64s,
    relation: int,
    arity: int,
    cells: layout.Int32s,
    multiplicities: layout.Int64s,
) -> int:
    """Like `add`, but leave the last batch pending."""
    for i in range(len(multiplicities)):
        # Most facts are new, and with two threads the staging one has time to spare.
        kind = classify(table, relation, cells, i * arity)
        status = push(table, relation, cells, i * arity, 0, multiplicities[i], kind)
        if status != layout.OK:
            return status
    return layout.OK


@kernel
def add_trace(
    table: layout.Int64s,
    relation: int,
    arity: int,
    cells: layout.Int32s,
    iterations: layout.Int32s,
    multiplicities: layout.Int64s,
) -> int:
    """Add multiplicities at their iterations; *cells* is (n * arity,). Returns a status."""
    reserve(table, layout.FACT_TABLE, layout.FACT_SIZE, len(multiplicities))
    for i in range(len(multiplicities)):
        kind = classify(table, relation, cells, i * arity)
        status = push(table, relation, cells, i * arity, iterations[i], multiplicities[i], kind)
        if status != layout.OK:
            return status
    return flush(table)


@kernel
def add_later(
    table: layout.Int64s,
    relation: int,
    arity: int,
    cells: layout.Int32s,
    iterations: layout.Int32s,
    multiplicities: layout.Int64s,
) -> int:
    """Like `add_trace`, for an epoch: the facts are settled when their strata come."""
    views.scalars(table)[layout.QUIET] = 1
    status = add_trace(table, relation, arity, cells, iterations, multiplicities)
    views.scalars(table)[layout.QUIET] = 0
    if status == layout.OK:
        for i in range(len(multiplicities)):
            touch_at_start(table, find(table, relation, cells, i * arity))
    return status
