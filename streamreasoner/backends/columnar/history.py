"""Histories of lattice groups. Invariant: nodes ascend by iteration, and each has another winner.

A node is an iteration and who is the best of the group from then on; 0 stands for nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.fact import allocate, release
from streamreasoner.backends.columnar.layout import (
    ARENA,
    HISTORY_ITERATION,
    HISTORY_NEXT,
    HISTORY_UNITS,
    HISTORY_WINNER,
    LATTICE_HISTORY,
)
from streamreasoner.rdf.kernels.compile import inlined, kernel
from streamreasoner.rdf.kernels.memory import int32_column, int64_column

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.arrays import Int64s


@inlined
def history_at(table: Int64s, at: int, iteration: int) -> tuple[int, int]:
    """The first node of an iteration or later, or 0, and the winner before the iteration."""
    words = int32_column(table[ARENA])
    node = int64_column(table[ARENA])[at + LATTICE_HISTORY]
    before = 0
    while node != 0 and words[2 * node + HISTORY_ITERATION] < iteration:
        before = words[2 * node + HISTORY_WINNER]
        node = words[2 * node + HISTORY_NEXT]
    return node, before


@kernel
def note(table: Int64s, at: int, iteration: int, winner: int, before: int) -> bool:
    """Write the winner at an iteration into a history; whether there was memory for it."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    previous = 0
    node = units[at + LATTICE_HISTORY]
    while node != 0 and words[2 * node + HISTORY_ITERATION] < iteration:
        previous = node
        node = words[2 * node + HISTORY_NEXT]
    known = node != 0 and words[2 * node + HISTORY_ITERATION] == iteration
    if known and winner != before:
        words[2 * node + HISTORY_WINNER] = winner
        return True
    if known:
        following = words[2 * node + HISTORY_NEXT]
        release(table, node, HISTORY_UNITS)
    elif winner != before:
        following = allocate(table, HISTORY_UNITS)
        if following == 0:
            return False
        words[2 * following + HISTORY_ITERATION] = iteration
        words[2 * following + HISTORY_NEXT] = node
        words[2 * following + HISTORY_WINNER] = winner
    else:
        return True
    if previous == 0:
        units[at + LATTICE_HISTORY] = following
    else:
        words[2 * previous + HISTORY_NEXT] = following
    return True


@kernel
def forget(table: Int64s, at: int) -> None:
    """Release the history of a group whose fields start at a unit."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    node = units[at + LATTICE_HISTORY]
    units[at + LATTICE_HISTORY] = 0
    while node != 0:
        following = words[2 * node + HISTORY_NEXT]
        release(table, node, HISTORY_UNITS)
        node = following
