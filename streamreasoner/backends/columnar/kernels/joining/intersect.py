"""Atoms that bind one variable together. Invariant: a match is in the groups of all of them.

A step of a plan walks a group and binds a variable, and later steps look up facts with its values.
If these groups are sorted by that variable, their common values are found by leaping: each group in
turn seeks the value that another one has reached (Veldhuizen, "Leapfrog Triejoin: a simple,
worst-case optimal join algorithm", ICDT 2014). A lookup in a group that is not sorted stays one.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.joining.compute import operand
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import lists, views
from streamreasoner.backends.columnar.kernels.records.sorted_groups import (
    can_sort,
    group_row,
    is_empty,
    is_short,
    seek,
    sort_group,
)
from streamreasoner.native.compile import inlined, kernel


@kernel
def open_groups(  # noqa: C901, PLR0911 - one return for each way in which groups may be
    table: layout.Int64s, first: int, depth: int
) -> bool:
    """Set the first match of a step that intersects; False if its groups are not to be sorted.

    Args:
        table: The addresses.
        first: The plan's first step.
        depth: Number of the step in its plan.
    """
    operands = views.operands(table)
    scratch = views.scratch(table)
    s = (first + depth) * layout.STEP_WIDTH
    start = views.steps(table)[s + layout.STEP_GROUPS]
    end = start + layout.STEP_GROUP_WIDTH * views.steps(table)[s + layout.STEP_GROUP_COUNT]
    scratch[layout.FACT_AT + depth] = 0
    scratch[layout.MEMBER_AT + depth] = 0
    if views.scalars(table)[layout.SORTING] == 0:
        return False
    sortable = False
    for at in range(start + layout.STEP_GROUP_WIDTH, end, layout.STEP_GROUP_WIDTH):
        sortable |= can_sort(table, operands[at + layout.STEP_GROUP_SORT])
    if not sortable:
        return False
    for at in range(start, end, layout.STEP_GROUP_WIDTH):
        key = operand(table, operands[at + layout.STEP_GROUP_KEY])
        if is_empty(table, operands[at + layout.STEP_GROUP_SORT], key):
            return True
    key = operand(table, operands[start + layout.STEP_GROUP_KEY])
    if is_short(table, operands[start + layout.STEP_GROUP_SORT], key):
        return False
    row = group_row(table, operands[start + layout.STEP_GROUP_SORT], key)
    if row == 0 or not sort_group(table, row):
        return False
    if not _begin(table, first, depth, row):
        return True
    for at in range(start + layout.STEP_GROUP_WIDTH, end, layout.STEP_GROUP_WIDTH):
        which = operands[at + layout.STEP_GROUP_DEPTH]
        scratch[layout.MEMBER_AT + which] = 0
        if not can_sort(table, operands[at + layout.STEP_GROUP_SORT]):
            continue
        key = operand(table, operands[at + layout.STEP_GROUP_KEY])
        row = group_row(table, operands[at + layout.STEP_GROUP_SORT], key)
        if row == 0 or not sort_group(table, row):
            continue
        if not _begin(table, first, which, row):
            return True
    next_common(table, first, depth)
    return True


@inlined
def _begin(table: layout.Int64s, first: int, depth: int, row: int) -> bool:
    """Start at the first member of the sorted group of a step; whether it has any for its age."""
    groups = views.sorted_groups(table)
    place = groups[row + layout.SORTED_FIRST]
    count = groups[row + layout.SORTED_COUNT]
    views.scratch(table)[layout.MEMBER_AT + depth] = place
    views.scratch(table)[layout.MEMBER_END + depth] = place + count
    if views.steps(table)[(first + depth) * layout.STEP_WIDTH + layout.STEP_OLD] != 0:
        count = groups[row + layout.SORTED_BEFORE]
    return count != 0


@kernel
def next_common(table: layout.Int64s, first: int, depth: int) -> None:
    """Set the next match of a step, and those of the lookups that it answers; 0 after the last."""
    steps = views.steps(table)
    scratch = views.scratch(table)
    items = views.sorted_items(table)
    s = (first + depth) * layout.STEP_WIDTH
    start = steps[s + layout.STEP_GROUPS]
    others = start + layout.STEP_GROUP_WIDTH
    stop = start + layout.STEP_GROUP_WIDTH * steps[s + layout.STEP_GROUP_COUNT]
    hidden = layout.SORTED_NEW if steps[s + layout.STEP_OLD] != 0 else 0
    leader = scratch[layout.MEMBER_AT + depth]
    end = scratch[layout.MEMBER_END + depth]
    scratch[layout.FACT_AT + depth] = 0
    while leader < end:
        member = items[leader]
        at = others
        if member & hidden == 0:
            while at < stop:
                which = views.operands(table)[at + layout.STEP_GROUP_DEPTH]
                at += layout.STEP_GROUP_WIDTH
                scratch[layout.FOUND_AT + which] = 0
                if scratch[layout.MEMBER_AT + which] == 0:
                    continue
                place = seek(
                    items,
                    scratch[layout.MEMBER_AT + which],
                    scratch[layout.MEMBER_END + which],
                    lists.least_member(lists.member_value(member)),
                )
                scratch[layout.MEMBER_AT + which] = place
                if place == scratch[layout.MEMBER_END + which]:
                    return
                other = items[place]
                if lists.member_value(other) != lists.member_value(member):
                    leader = seek(items, leader, end, lists.least_member(lists.member_value(other)))
                    at = others
                    break
                old = steps[(first + which) * layout.STEP_WIDTH + layout.STEP_OLD] != 0
                if old and other & layout.SORTED_NEW != 0:
                    leader += 1
                    at = others
                    break
                scratch[layout.FOUND_AT + which] = lists.member_fact(other)
        else:
            leader += 1
        if at == stop:
            scratch[layout.MEMBER_AT + depth] = leader + 1
            scratch[layout.FACT_AT + depth] = lists.member_fact(member)
            views.scalars(table)[layout.INTERSECTED] += 1
            return
