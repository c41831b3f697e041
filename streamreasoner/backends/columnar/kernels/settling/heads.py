"""The heads of reductions. Invariant: they are added at iteration 1, where reductions derive."""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, views
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, push
from streamreasoner.native.compile import kernel


@kernel
def emit(table: layout.Int64s, r: int, group: int, result: int, multiplicity: int) -> int:
    """Add *multiplicity* to the head for a group's result; returns a status."""
    reductions = views.reductions(table)
    scratch = views.scratch(table)
    head = reductions[r + layout.REDUCTION_HEAD]
    keys = reductions[r + layout.REDUCTION_KEYS]
    for i in range(reductions[r + layout.REDUCTION_HEAD_COUNT]):
        code = views.operands(table)[head + i]
        if code < 0:
            scratch[layout.CELLS_OUT + i] = ~code
        elif code == keys:
            scratch[layout.CELLS_OUT + i] = result
        else:
            scratch[layout.CELLS_OUT + i] = views.words(table)[facts.key_at(group) + code]
    relation = reductions[r + layout.REDUCTION_HEAD_RELATION]
    return push(table, relation, scratch, layout.CELLS_OUT, 1, multiplicity, UNKNOWN)
