"""The outbox of a part: heads that other parts own. Invariant: it has a row per fact and iteration.

A head may be derived many times in an iteration, by many facts. Its multiplicities are summed here,
so that it is sent once. The rows of each other part are linked, so that it reads only these; it may
do so as long as this part derives nothing.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fact_record import tag_of
from streamreasoner.backends.columnar.kernels.records.fields import lists, views
from streamreasoner.backends.columnar.kernels.records.parts.owners import owner_of
from streamreasoner.native.compile import kernel

_SUMMED = 1 << 32  # keeps sums small, so that they overflow where single additions would


@kernel
def post(
    table: layout.Int64s,
    relation: int,
    cells: layout.Int32s,
    at: int,
    iteration: int,
    multiplicity: int,
) -> int:
    """Put a head into the outbox; the arguments are those of `pending.push`. Returns a status."""
    scalars = views.scalars(table)
    rows, slots = views.outbox_rows(table), views.outbox_slots(table)
    kept = views.outbox_cells(table)
    arity = views.arity(table, relation)
    tag = tag_of(table, relation, cells, at)
    mask = scalars[layout.OUTBOX_MASK]
    i = tag & mask
    while slots[i] != 0:
        row = layout.OUTBOX_WIDTH * (lists.lower(slots[i]) - 1)
        if lists.upper(slots[i]) == tag and rows[row + layout.OUTBOX_ITERATION] == iteration:
            first = rows[row + layout.OUTBOX_CELL]
            j = 0
            while j < arity and kept[first + j] == cells[at + j]:
                j += 1
            total = rows[row + layout.OUTBOX_MULTIPLICITY]
            small = -_SUMMED < multiplicity < _SUMMED and -_SUMMED < total < _SUMMED
            if j == arity and rows[row + layout.OUTBOX_RELATION] == relation and small:
                rows[row + layout.OUTBOX_MULTIPLICITY] = total + multiplicity
                return layout.OK
        i = (i + 1) & mask
    number = scalars[layout.OUTBOX_COUNT]
    top = scalars[layout.OUTBOX_TOP]
    if number == scalars[layout.OUTBOX_LIMIT] or top + arity > scalars[layout.OUTBOX_CELL_LIMIT]:
        return layout.FULL
    for j in range(arity):
        kept[top + j] = cells[at + j]
    row = layout.OUTBOX_WIDTH * number
    first_row = views.outbox_first(table)
    owner = owner_of(table, relation, cells, at)
    rows[row + layout.OUTBOX_RELATION] = relation
    rows[row + layout.OUTBOX_TAG] = tag
    rows[row + layout.OUTBOX_ITERATION] = iteration
    rows[row + layout.OUTBOX_MULTIPLICITY] = multiplicity
    rows[row + layout.OUTBOX_CELL] = top
    rows[row + layout.OUTBOX_NEXT] = first_row[owner]
    first_row[owner] = number + 1
    slots[i] = lists.pack(tag, number + 1)
    scalars[layout.OUTBOX_COUNT] = number + 1
    scalars[layout.OUTBOX_TOP] = top + arity
    if 2 * number > mask:
        _grow(table, 2 * mask + 1)
    return layout.OK


@kernel
def _grow(table: layout.Int64s, mask: int) -> None:
    """Find the rows by as many slots as a mask says."""
    rows, slots = views.outbox_rows(table), views.outbox_slots(table)
    for i in range(mask + 1):
        slots[i] = 0
    for number in range(views.scalars(table)[layout.OUTBOX_COUNT]):
        tag = rows[layout.OUTBOX_WIDTH * number + layout.OUTBOX_TAG]
        i = tag & mask
        while slots[i] != 0:
            i = (i + 1) & mask
        slots[i] = lists.pack(tag, number + 1)
    views.scalars(table)[layout.OUTBOX_MASK] = mask


@kernel
def clear_outbox(table: layout.Int64s) -> None:
    """Forget all rows, which the parts that own them have, or which a failed epoch has left."""
    scalars = views.scalars(table)
    if scalars[layout.OUTBOX_COUNT] == 0:
        return
    slots, first_row = views.outbox_slots(table), views.outbox_first(table)
    for i in range(scalars[layout.OUTBOX_MASK] + 1):
        slots[i] = 0
    for part in range(scalars[layout.PARTS]):
        first_row[part] = 0
    scalars[layout.OUTBOX_COUNT] = 0
    scalars[layout.OUTBOX_TOP] = 0
    scalars[layout.OUTBOX_MASK] = layout.OUTBOX_FIRST_MASK
