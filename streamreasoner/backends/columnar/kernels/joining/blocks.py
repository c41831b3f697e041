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
from streamreasoner.backends.columnar.kernels.records.entry import change_of, class_of
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, push
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.backends.columnar.kernels.records.work import account
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel

LARGEST = 256
"""Deltas of a block at most, whose records then stay in the nearest cache."""
WORDS = 1 << 15
"""Length of the buffer of rows, which fits the cache too."""
FIRST = 1
"""Where the rows begin: behind the length of the buffer."""
_CELLS = 2  # the arguments of a row, behind its iteration and sign


def rows() -> layout.Int32s:
    """An empty buffer of rows."""
    buffer = np.zeros(FIRST + WORDS, np.int32)
    buffer[0] = FIRST + WORDS
    return buffer


@kernel
def link_blocks(table: layout.Int64s, start: int, stop: int) -> None:
    """Chain deltas of equal keys, in their order; an index by key has the first of each chain."""
    deltas = int64_column(table[layout.DELTAS])
    heads = int32_column(table[layout.BLOCK_HEADS])
    following = int32_column(table[layout.BLOCK_NEXT])
    for i in range(stop - 1, start - 1, -1):
        following[i] = 0
        key = key_of(table, deltas[i])
        if key >= 0:
            following[i] = heads[key]
            heads[key] = i + 1


@kernel
def unlink_blocks(table: layout.Int64s, start: int, stop: int) -> None:
    """Empty the index, after a failure."""
    deltas = int64_column(table[layout.DELTAS])
    heads = int32_column(table[layout.BLOCK_HEADS])
    for i in range(start, stop):
        key = key_of(table, deltas[i])
        if key >= 0:
            heads[key] = 0


@inlined
def key_of(table: layout.Int64s, delta: int) -> int:
    """The argument on which the deltas of a block agree, or -1 if those of its class form none."""
    place = layout.DISPATCH_WIDTH * class_of(delta) + layout.DISPATCH_KEY
    argument = int32_column(table[layout.DISPATCH])[place] - 1
    if argument < 0:
        return -1
    return int32_column(table[layout.ARENA])[2 * (delta & LOW) + layout.CELLS + argument]


@kernel
def take_block(table: layout.Int64s, key: int) -> None:
    """Make a chain of the first delta with a key, and of those that follow it and share its class.

    The others stay in the index, in their order.
    """
    deltas = int64_column(table[layout.DELTAS])
    heads = int32_column(table[layout.BLOCK_HEADS])
    following = int32_column(table[layout.BLOCK_NEXT])
    first = heads[key]
    kind = class_of(deltas[first - 1])
    last = first
    size = 1
    rest = last_left = 0
    number = following[first - 1]
    while number != 0 and size < LARGEST:
        after = following[number - 1]
        if class_of(deltas[number - 1]) == kind:
            prefetch(table[layout.ARENA] + 8 * (deltas[number - 1] & LOW))
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
    operands = int32_column(table[layout.OPERANDS])
    plans = int32_column(table[layout.PLANS])
    scratch = int32_column(table[layout.SCRATCH])
    buffer = int32_column(table[layout.BLOCK_ROWS])
    kept = plans[p + layout.PLAN_KEPT]
    count = plans[p + layout.PLAN_KEPT_COUNT]
    buffer[end] = iteration
    buffer[end + 1] = sign
    for i in range(count):
        buffer[end + _CELLS + i] = scratch[layout.SLOTS + operands[kept + 2 * i]]
    return end + _CELLS + count


@inlined
def is_full(table: layout.Int64s, p: int, end: int) -> bool:
    """Whether another row might not fit behind the rows."""
    count = int32_column(table[layout.PLANS])[p + layout.PLAN_KEPT_COUNT]
    return end + _CELLS + count > int32_column(table[layout.BLOCK_ROWS])[0]


@kernel
def emit_rows(table: layout.Int64s, p: int, block: int, end: int) -> int:
    """Add the head of every row for every delta of a block; returns a status.

    Args:
        table: The addresses.
        p: Offset of the plan's row.
        block: Number + 1 of the first delta.
        end: End of the rows.
    """
    words = int32_column(table[layout.ARENA])
    deltas = int64_column(table[layout.DELTAS])
    following = int32_column(table[layout.BLOCK_NEXT])
    plans = int32_column(table[layout.PLANS])
    operands = int32_column(table[layout.OPERANDS])
    buffer = int32_column(table[layout.BLOCK_ROWS])
    scratch = int32_column(table[layout.SCRATCH])
    relation = plans[p + layout.PLAN_HEAD_RELATION]
    head = plans[p + layout.PLAN_SHARED_HEAD]
    kept = plans[p + layout.PLAN_KEPT]
    count = plans[p + layout.PLAN_KEPT_COUNT]
    firings = 0
    while block != 0:
        fact = deltas[block - 1] & LOW
        block = following[block - 1]
        for i in range(plans[p + layout.PLAN_HEAD_COUNT]):
            place = operands[head + i]
            if place < 0:
                scratch[layout.CELLS_OUT + i] = ~place
            elif place < layout.MAX_ARITY:
                scratch[layout.CELLS_OUT + i] = words[2 * fact + layout.CELLS + place]
        change = change_of(words[2 * fact])
        row = FIRST
        while row < end:
            for i in range(count):
                place = layout.CELLS_OUT + operands[kept + 2 * i + 1]
                scratch[place] = buffer[row + _CELLS + i]
            sign = change * buffer[row + 1]
            status = push(table, relation, scratch, layout.CELLS_OUT, buffer[row], sign, UNKNOWN)
            if status != layout.OK:
                return status
            firings += 1
            row += _CELLS + count
    account(table, p, firings, firings)
    return layout.OK
