"""Sizes of groups that plans only count. Invariant: each applied delta has been counted once.

A counter belongs to a stratum, and holds by key the number of the present facts of its groups, as
far as their deltas have been applied in this stratum: between epochs of all present facts. The
facts are those of lower strata. Those of stratum 0 are for withdrawn rules, and hold the sizes from
before the change of program.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.entry import presence
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.slots import fact_at, fact_words
from streamreasoner.native.addresses import int32_column
from streamreasoner.native.compile import inlined, kernel


@inlined
def count_change(table: layout.Int64s, fact: int, change: int) -> None:
    """Add a change of a fact's presence to its counters of the present stratum."""
    row = layout.DISPATCH_WIDTH * facts.class_of(table, fact)
    first = views.dispatch(table)[row + layout.DISPATCH_COUNTED]
    for i in range(first, first + views.dispatch(table)[row + layout.DISPATCH_COUNTED_COUNT]):
        _add(table, fact, layout.COUNTED_WIDTH * i, change)


@inlined
def _count_in_strata(table: layout.Int64s, fact: int, start: int, stop: int, change: int) -> None:
    """Add a change of a fact's presence to its counters of some strata."""
    kind = facts.class_of(table, fact)
    first = facts.class_field(table, kind, layout.CLASS_COUNTED)
    count = facts.class_field(table, kind, layout.CLASS_COUNTED_COUNT)
    for i in range(first, first + count):
        row = layout.COUNTED_WIDTH * i
        if start <= views.counted(table)[row + layout.COUNTED_STRATUM] < stop:
            _add(table, fact, row, change)


@inlined
def _add(table: layout.Int64s, fact: int, row: int, change: int) -> None:
    """Add a change of a fact's presence to the counter of a row of COUNTED."""
    counted = views.counted(table)
    counters = views.counters(table)
    key = _key(table, fact, counted[row + layout.COUNTED_KEY])
    int32_column(counters[counted[row + layout.COUNTED_COUNTER]])[key] += change


@inlined
def size(table: layout.Int64s, counter: int, key: int, fact: int, old: bool) -> int:  # noqa: FBT001 - numba has no keyword-only arguments
    """The size of a group while a fact drives a plan.

    Args:
        table: The addresses.
        counter: The counter.
        key: Its key; 0 if there is only one group.
        fact: The fact that drives the plan, whose delta has been counted already.
        old: Whether the group is read without this delta, and those of its block.
    """
    members: int = int32_column(views.counters(table)[counter])[key]
    if not old:
        return members
    number = views.scalars(table)[layout.BLOCK]
    if number == 0:
        return members - _part(table, counter, key, fact)
    while number != 0:
        members -= _part(table, counter, key, lists.delta_fact(table, number - 1))
        number = views.block_next(table)[number - 1]
    return members


@inlined
def _part(table: layout.Int64s, counter: int, key: int, fact: int) -> int:
    """What the delta of a fact has added to the size of a group."""
    if not facts.has(table, fact, layout.DELTA_BITS):
        return 0
    change = facts.change(facts.header(table, fact))
    counted = views.counted(table)
    row = layout.DISPATCH_WIDTH * facts.class_of(table, fact)
    first = views.dispatch(table)[row + layout.DISPATCH_COUNTED]
    part = 0
    for i in range(first, first + views.dispatch(table)[row + layout.DISPATCH_COUNTED_COUNT]):
        at = layout.COUNTED_WIDTH * i
        is_counter = counted[at + layout.COUNTED_COUNTER] == counter
        if is_counter and _key(table, fact, counted[at + layout.COUNTED_KEY]) == key:
            part += change
    return part


@kernel
def uncount(table: layout.Int64s) -> None:
    """Subtract what an epoch that fails has counted, while its deltas and journal are there.

    These are the changes of the facts of lower strata in each stratum up to the present one, where
    the deltas that are left have not been applied.
    """
    scalars = views.scalars(table)
    if scalars[layout.COUNTER_COUNT] == 0:
        return
    for i in range(scalars[layout.JOURNALED_FACTS]):
        fact = lists.journaled_fact(table, i)
        change = presence(table, fact) - (lists.state_before(table, i) & layout.WAS_PRESENT)
        if change != 0:
            waiting = facts.has(table, fact, layout.DELTA_BITS)
            stop = scalars[layout.STRATUM] + (0 if waiting else 1)
            _count_in_strata(table, fact, 1, stop, -change)


@kernel
def recount(table: layout.Int64s) -> None:
    """Fill the counters, which are all 0, from the transitions of all facts."""
    for i in range(fact_words(table)):
        fact = fact_at(table, i)
        present = presence(table, fact) if fact != 0 else 0
        if present != 0:
            _count_in_strata(table, fact, 0, views.scalars(table)[layout.STRATA], present)


@inlined
def _key(table: layout.Int64s, fact: int, position: int) -> int:
    """The key of a fact: an argument, or 0 without a position."""
    return facts.argument(table, fact, position) if position >= 0 else 0
