"""Winners of lattice groups by iteration. Invariant: nodes ascend, and each changes the winner.

A node holds an iteration and the winner of the group from then on, or 0.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fact_record import allocate, release
from streamreasoner.backends.columnar.kernels.records.fields import facts, views
from streamreasoner.native.compile import inlined, kernel


@inlined
def winner_before(table: layout.Int64s, at: int, iteration: int) -> tuple[int, int]:
    """The first node at or after an iteration, or 0, and the winner before the iteration."""
    node = views.units(table)[at + layout.LATTICE_WINNERS]
    before = 0
    while node != 0 and facts.word(table, node, layout.WINNER_ITERATION) < iteration:
        before = facts.word(table, node, layout.WINNER_FACT)
        node = facts.word(table, node, layout.WINNER_NEXT)
    return node, before


@kernel
def record_winner(table: layout.Int64s, at: int, iteration: int, winner: int, before: int) -> bool:
    """Record the winner at an iteration; returns whether memory sufficed."""
    previous = 0
    node = views.units(table)[at + layout.LATTICE_WINNERS]
    while node != 0 and facts.word(table, node, layout.WINNER_ITERATION) < iteration:
        previous = node
        node = facts.word(table, node, layout.WINNER_NEXT)
    known = node != 0 and facts.word(table, node, layout.WINNER_ITERATION) == iteration
    if known and winner != before:
        facts.set_word(table, node, layout.WINNER_FACT, winner)
        return True
    if known:
        following = facts.word(table, node, layout.WINNER_NEXT)
        release(table, node, layout.WINNER_UNITS)
    elif winner != before:
        following = allocate(table, layout.WINNER_UNITS)
        if following == 0:
            return False
        facts.set_word(table, following, layout.WINNER_ITERATION, iteration)
        facts.set_word(table, following, layout.WINNER_NEXT, node)
        facts.set_word(table, following, layout.WINNER_FACT, winner)
    else:
        return True
    if previous == 0:
        views.units(table)[at + layout.LATTICE_WINNERS] = following
    else:
        facts.set_word(table, previous, layout.WINNER_NEXT, following)
    return True


@kernel
def forget_winners(table: layout.Int64s, at: int) -> None:
    """Release the list of winners of a group whose fields start at a unit."""
    node = views.units(table)[at + layout.LATTICE_WINNERS]
    views.units(table)[at + layout.LATTICE_WINNERS] = 0
    while node != 0:
        following = facts.word(table, node, layout.WINNER_NEXT)
        release(table, node, layout.WINNER_UNITS)
        node = following
