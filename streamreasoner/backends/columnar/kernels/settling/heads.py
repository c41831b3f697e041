"""The heads of reductions. Invariant: they are added at iteration 1, where reductions derive."""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, push
from streamreasoner.native.addresses import int32_column
from streamreasoner.native.compile import kernel


@kernel
def emit(table: layout.Int64s, r: int, group: int, result: int, multiplicity: int) -> int:
    """Add *multiplicity* to the head for a group's result; returns a status."""
    words = int32_column(table[layout.ARENA])
    reductions = int32_column(table[layout.REDUCTIONS])
    operands = int32_column(table[layout.OPERANDS])
    scratch = int32_column(table[layout.SCRATCH])
    head = reductions[r + layout.REDUCTION_HEAD]
    keys = reductions[r + layout.REDUCTION_KEYS]
    for i in range(reductions[r + layout.REDUCTION_HEAD_COUNT]):
        code = operands[head + i]
        if code < 0:
            scratch[layout.CELLS_OUT + i] = ~code
        elif code == keys:
            scratch[layout.CELLS_OUT + i] = result
        else:
            scratch[layout.CELLS_OUT + i] = words[2 * group + layout.GROUP_KEY + code]
    relation = reductions[r + layout.REDUCTION_HEAD_RELATION]
    return push(table, relation, scratch, layout.CELLS_OUT, 1, multiplicity, UNKNOWN)
