"""Winners of lattice groups by iteration. Invariant: nodes ascend, and each changes the winner.

A node holds an iteration and the winner of the group from then on; 0 is no winner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.kernels.records.fact_record import allocate, release
from streamreasoner.backends.columnar.kernels.records.layout import (
    ARENA,
    LATTICE_WINNERS,
    WINNER_FACT,
    WINNER_ITERATION,
    WINNER_NEXT,
    WINNER_UNITS,
)
from streamreasoner.native.addresses import int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.kernels.records.layout import Int64s


@inlined
def winner_before(table: Int64s, at: int, iteration: int) -> tuple[int, int]:
    """The first node at or after an iteration, or 0, and the winner before the iteration."""
    words = int32_column(table[ARENA])
    node = int64_column(table[ARENA])[at + LATTICE_WINNERS]
    before = 0
    while node != 0 and words[2 * node + WINNER_ITERATION] < iteration:
        before = words[2 * node + WINNER_FACT]
        node = words[2 * node + WINNER_NEXT]
    return node, before


@kernel
def record_winner(table: Int64s, at: int, iteration: int, winner: int, before: int) -> bool:
    """Record the winner at an iteration; returns whether memory sufficed."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    previous = 0
    node = units[at + LATTICE_WINNERS]
    while node != 0 and words[2 * node + WINNER_ITERATION] < iteration:
        previous = node
        node = words[2 * node + WINNER_NEXT]
    known = node != 0 and words[2 * node + WINNER_ITERATION] == iteration
    if known and winner != before:
        words[2 * node + WINNER_FACT] = winner
        return True
    if known:
        following = words[2 * node + WINNER_NEXT]
        release(table, node, WINNER_UNITS)
    elif winner != before:
        following = allocate(table, WINNER_UNITS)
        if following == 0:
            return False
        words[2 * following + WINNER_ITERATION] = iteration
        words[2 * following + WINNER_NEXT] = node
        words[2 * following + WINNER_FACT] = winner
    else:
        return True
    if previous == 0:
        units[at + LATTICE_WINNERS] = following
    else:
        words[2 * previous + WINNER_NEXT] = following
    return True


@kernel
def forget_winners(table: Int64s, at: int) -> None:
    """Release the list of winners of a group whose fields start at a unit."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    node = units[at + LATTICE_WINNERS]
    units[at + LATTICE_WINNERS] = 0
    while node != 0:
        following = words[2 * node + WINNER_NEXT]
        release(table, node, WINNER_UNITS)
        node = following
