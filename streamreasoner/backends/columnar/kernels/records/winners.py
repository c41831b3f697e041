"""Winners of lattice groups by iteration. Invariant: nodes ascend, and each changes the winner.

A node holds an iteration and the winner of the group from then on; 0 is no winner.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fact_record import allocate, release
from streamreasoner.native.addresses import int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel


@inlined
def winner_before(table: layout.Int64s, at: int, iteration: int) -> tuple[int, int]:
    """The first node at or after an iteration, or 0, and the winner before the iteration."""
    words = int32_column(table[layout.ARENA])
    node = int64_column(table[layout.ARENA])[at + layout.LATTICE_WINNERS]
    before = 0
    while node != 0 and words[2 * node + layout.WINNER_ITERATION] < iteration:
        before = words[2 * node + layout.WINNER_FACT]
        node = words[2 * node + layout.WINNER_NEXT]
    return node, before


@kernel
def record_winner(table: layout.Int64s, at: int, iteration: int, winner: int, before: int) -> bool:
    """Record the winner at an iteration; returns whether memory sufficed."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    previous = 0
    node = units[at + layout.LATTICE_WINNERS]
    while node != 0 and words[2 * node + layout.WINNER_ITERATION] < iteration:
        previous = node
        node = words[2 * node + layout.WINNER_NEXT]
    known = node != 0 and words[2 * node + layout.WINNER_ITERATION] == iteration
    if known and winner != before:
        words[2 * node + layout.WINNER_FACT] = winner
        return True
    if known:
        following = words[2 * node + layout.WINNER_NEXT]
        release(table, node, layout.WINNER_UNITS)
    elif winner != before:
        following = allocate(table, layout.WINNER_UNITS)
        if following == 0:
            return False
        words[2 * following + layout.WINNER_ITERATION] = iteration
        words[2 * following + layout.WINNER_NEXT] = node
        words[2 * following + layout.WINNER_FACT] = winner
    else:
        return True
    if previous == 0:
        units[at + layout.LATTICE_WINNERS] = following
    else:
        words[2 * previous + layout.WINNER_NEXT] = following
    return True


@kernel
def forget_winners(table: layout.Int64s, at: int) -> None:
    """Release the list of winners of a group whose fields start at a unit."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    node = units[at + layout.LATTICE_WINNERS]
    units[at + layout.LATTICE_WINNERS] = 0
    while node != 0:
        following = words[2 * node + layout.WINNER_NEXT]
        release(table, node, layout.WINNER_UNITS)
        node = following
