"""Blocks: deltas that share the matches of a plan. Invariant: a block has one class and one key.

If the steps of a plan read a single argument of the driving fact, all deltas with the same argument
have the same matches: Δ(A(k, x) ⋈ B(k)) = ΔA(k, x) × B(k). Such deltas are applied together. The
plan's steps run once for the block, and write what a head needs of each match as a row: iteration,
sign, arguments. Each delta is then combined with all rows.

Atoms before the one that drives a plan are read with the changes of the whole block, those after it
without, so that the contributions of blocks telescope as those of single deltas do.
"""

from __future__ import annotations

import numpy as np

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, push
from streamreasoner.backends.columnar.kernels.records.work import account
from streamreasoner.native.compile import inlined, kernel

LARGEST = 256
"""Deltas of a block at most, whose records then stay in the nearest cache."""
WORDS = 1 << 15
"""Length of the buffer of rows, which fits the cache too."""
FIRST = 1
"""Where the rows begin: behind the length of the buffer."""
_SIGN, _CELLS = 1, 2  # of a row, behind its iteration


def rows() -> layout.Int32s:
    """An empty buffer of rows."""
    buffer = np.zeros(FIRST + WORDS, np.int32)
    buffer[0] = FIRST + WORDS
    return buffer


@kernel
def link_blocks(table: layout.Int64s, start: int, stop: int) -> None:
    """Chain deltas of equal keys, in their order; an index by key has the first of each chain."""
    heads = views.block_heads(table)
    following = views.block_next(table)
    for i in range(stop - 1, start - 1, -1):
        following[i] = 0
        key = key_of(table, i)
        if key >= 0:
            following[i] = heads[key]
            heads[key] = i + 1


@kernel
def unlink_blocks(table: layout.Int64s, start: int, stop: int) -> None:
    """Empty the index, after a failure."""
    for i in range(start, stop):
        key = key_of(table, i)
        if key >= 0:
            views.block_heads(table)[key] = 0


@inlined
def key_of(table: layout.Int64s, i: int) -> int:
    """What the deltas of a block agree on with delta *i*, or -1 if those of its class form none."""
    place = layout.DISPATCH_WIDTH * lists.delta_class(table, i) + layout.DISPATCH_KEY
    argument = views.dispatch(table)[place] - 1
    if argument < 0:
        return -1
    return facts.argument(table, lists.delta_fact(table, i), argument)


@kernel
def take_block(table: layout.Int64s, key: int) -> None:
    """Make a chain of the first delta with a key, and of those that follow it and share its class.

    The others stay in the index, in their order.
    """
    heads = views.block_heads(table)
    following = views.block_next(table)
    first = heads[key]
    kind = lists.delta_class(table, first - 1)
    last = first
    size = 1
    rest = last_left = 0
    number = following[first - 1]
    while number != 0 and size < LARGEST:
        after = following[number - 1]
        if lists.delta_class(table, number - 1) == kind:
            views.prefetch_unit(table, lists.delta_fact(table, number - 1))
            following[last - 1] = number
            last = number
            size += 1
        elif last_left == 0:
            rest = last_left = number
        else:
            following[last_left - 1] = number
            last_left = number
        number = after
    following[last - 1] = 0
    if last_left == 0:
        rest = number
    else:
        following[last_left - 1] = number
    heads[key] = rest


@inlined
def add_row(table: layout.Int64s, p: int, iteration: int, sign: int, end: int) -> int:
    """Write a match of the plan whose row starts at *p* behind the rows; returns their new end."""
    buffer = views.block_rows(table)
    kept = views.plans(table)[p + layout.PLAN_KEPT]
    count = views.plans(table)[p + layout.PLAN_KEPT_COUNT]
    buffer[end] = iteration
    buffer[end + _SIGN] = sign
    for i in range(count):
        buffer[end + _CELLS + i] = views.scratch(table)[
            layout.SLOTS + views.operands(table)[kept + layout.KEPT_WIDTH * i + layout.KEPT_SLOT]
        ]
    return end + _CELLS + count


@inlined
def is_full(table: layout.Int64s, p: int, end: int) -> bool:
    """Whether another row might not fit behind the rows."""
    count = views.plans(table)[p + layout.PLAN_KEPT_COUNT]
    return end + _CELLS + count > views.block_rows(table)[0]


@kernel
def emit_rows(table: layout.Int64s, p: int, block: int, end: int) -> int:
    """Add the head of every row for every delta of a block; returns a status.

    Args:
        table: The addresses.
        p: Offset of the plan's row.
        block: Number + 1 of the first delta.
        end: End of the rows.
    """
    plans = views.plans(table)
    operands = views.operands(table)
    buffer = views.block_rows(table)
    scratch = views.scratch(table)
    relation = plans[p + layout.PLAN_HEAD_RELATION]
    head = plans[p + layout.PLAN_SHARED_HEAD]
    kept = plans[p + layout.PLAN_KEPT]
    count = plans[p + layout.PLAN_KEPT_COUNT]
    firings = 0
    while block != 0:
        fact = lists.delta_fact(table, block - 1)
        block = views.block_next(table)[block - 1]
        for i in range(plans[p + layout.PLAN_HEAD_COUNT]):
            place = operands[head + i]
            if place < 0:
                scratch[layout.CELLS_OUT + i] = ~place
            elif place < layout.MAX_ARITY:
                scratch[layout.CELLS_OUT + i] = facts.argument(table, fact, place)
        change = facts.change(facts.header(table, fact))
        row = FIRST
        while row < end:
            for i in range(count):
                place = (
                    layout.CELLS_OUT + operands[kept + layout.KEPT_WIDTH * i + layout.KEPT_POSITION]
                )
                scratch[place] = buffer[row + _CELLS + i]
            sign = change * buffer[row + _SIGN]
            status = push(table, relation, scratch, layout.CELLS_OUT, buffer[row], sign, UNKNOWN)
            if status != layout.OK:
                return status
            firings += 1
            row += _CELLS + count
    account(table, p, firings, firings)
    return layout.OK
