"""Pairs: a winner in the log, and the one it replaces. Invariant: only their values differ.

Both change at one iteration, so a plan that does not read the value has the same matches for both:
it walks them once, and logs one row for the two heads that each match adds and subtracts.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.entry import change_of
from streamreasoner.backends.columnar.kernels.records.pending import (
    UNKNOWN,
    append,
    is_logged,
    push,
    value_argument,
)
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.native.addresses import int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel


@inlined
def is_pair(table: layout.Int64s, i: int, stop: int) -> bool:
    """Whether a delta and the next one are a pair."""
    deltas = int64_column(table[layout.DELTAS])
    if i + 1 == stop:
        return False
    words = int32_column(table[layout.ARENA])
    gained, lost = deltas[i] & LOW, deltas[i + 1] & LOW
    row = (words[2 * gained] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    classes = int32_column(table[layout.CLASSES])
    if int32_column(table[layout.LOGGED])[classes[row + layout.CLASS_RELATION]] == 0:
        return False
    key = layout.CELLS + 1 - classes[row + layout.CLASS_LATTICE_CELL]
    return bool(
        (words[2 * gained] ^ words[2 * lost]) & layout.CLASS_BITS == 0
        and words[2 * gained + key] == words[2 * lost + key]
        and change_of(words[2 * gained]) == 1
        and change_of(words[2 * lost]) == -1
    )


@inlined
def shares_matches(table: layout.Int64s, p: int, fact: int) -> bool:
    """Whether the plan whose row starts at *p* logs one row for the heads of a pair.

    It only probes a group whose key is not the value, and nor is that of its head.
    """
    plans = int32_column(table[layout.PLANS])
    relation = plans[p + layout.PLAN_HEAD_RELATION]
    head = plans[p + layout.PLAN_PROBE_HEAD]
    if head < 0 or int32_column(table[layout.LOGGED])[relation] == 0:
        return False
    row = (int32_column(table[layout.ARENA])[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    cell = int32_column(table[layout.CLASSES])[row + layout.CLASS_LATTICE_CELL]
    key = head + 1 - value_argument(table, relation)
    is_key = int32_column(table[layout.OPERANDS])[key] == cell
    return plans[p + layout.PLAN_PROBE_KEY] != cell and not is_key


@kernel
def push_pair(table: layout.Int64s, p: int, lost: int, iteration: int, multiplicity: int) -> int:
    """Add the head at CELLS_OUT of SCRATCH, and subtract that of the lost fact; a status."""
    plans = int32_column(table[layout.PLANS])
    scratch = int32_column(table[layout.SCRATCH])
    relation = plans[p + layout.PLAN_HEAD_RELATION]
    at = value_argument(table, relation)
    place = int32_column(table[layout.OPERANDS])[plans[p + layout.PLAN_PROBE_HEAD] + at]
    if not 0 <= place < layout.MAX_ARITY:
        return layout.OK  # the heads are the same fact
    value = int32_column(table[layout.ARENA])[2 * lost + layout.CELLS + place]
    if value == scratch[layout.CELLS_OUT + at]:
        return layout.OK
    if is_logged(table, relation, iteration, multiplicity):
        cells = layout.CELLS_OUT
        return append(table, relation, scratch, cells, value + 1, iteration, multiplicity)
    first = push(table, relation, scratch, layout.CELLS_OUT, iteration, multiplicity, UNKNOWN)
    scratch[layout.CELLS_OUT + at] = value
    second = push(table, relation, scratch, layout.CELLS_OUT, iteration, -multiplicity, UNKNOWN)
    return max(first, second)
