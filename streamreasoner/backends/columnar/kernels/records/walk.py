"""The group that a join walks. Invariant: each of its facts is found once, by one of the walkers.

Each fact of a group tells where the next one is, so a walk waits for one cache miss after the
other. Two things let misses overlap. Large groups have *milestones*, facts far apart, from each of
which another walker goes on to the next milestone; walkers take turns. And while additions that the
walk has derived are applied, each of them takes it one fact further ahead.

The first walk of a large group marks its milestones. They stay where they are, as new facts come
before all others, until one of them is withdrawn from the group, which then has none.
"""

from __future__ import annotations

import numpy as np

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fact_record import index_id
from streamreasoner.backends.columnar.kernels.records.fields import facts, views
from streamreasoner.backends.columnar.kernels.records.slots import mix
from streamreasoner.native.compile import inlined, kernel

_MASK = layout.WALKED_ROOM - 1
_GROUPS = 256  # that may have milestones, a power of two
APART = 256
"""Facts between milestones at least; groups without as many have none."""


def milestones() -> layout.Int32s:
    """Memory for the milestones of groups."""
    return np.zeros(_GROUPS * layout.MILESTONE_WIDTH, np.int32)


@inlined
def begin_walk(table: layout.Int64s, arrangement: int, first: int) -> None:
    """Begin to walk a group of an arrangement with its first fact, 0 if it is empty."""
    scalars = views.scalars(table)
    views.scratch(table)[layout.WALKER_AT] = first
    views.scratch(table)[layout.WALKER_END] = 0
    scalars[layout.WALKERS] = int(first != 0)
    scalars[layout.WALKER] = 0
    scalars[layout.WALKED_ARRANGEMENT] = arrangement
    scalars[layout.WALKED_VISITED] = scalars[layout.WALKED_FOUND] = 0
    scalars[layout.WALKED_DUE] = APART
    scalars[layout.WALKED_APART] = 0


@inlined
def end_walk(table: layout.Int64s) -> None:
    """End a walk, wherever it is."""
    views.scalars(table)[layout.WALKERS] = 0


@inlined
def next_walked(table: layout.Int64s) -> int:
    """The next fact to visit, or 0 at the end."""
    scalars = views.scalars(table)
    visited = scalars[layout.WALKED_VISITED]
    if visited == scalars[layout.WALKED_FOUND]:
        if scalars[layout.WALKERS] == 0:
            return 0
        scalars[layout.WALKED_VISITED] = visited + 1
        return _step(table)
    scalars[layout.WALKED_VISITED] = visited + 1
    return int(views.scratch(table)[layout.WALKED_AT + (visited & _MASK)])


@inlined
def walk_ahead(table: layout.Int64s) -> None:
    """Find one more fact of the group that is walked, if one is."""
    scalars = views.scalars(table)
    if scalars[layout.WALKERS] == 0:
        return
    found = scalars[layout.WALKED_FOUND]
    if found - scalars[layout.WALKED_VISITED] < layout.WALKED_ROOM:
        fact = _step(table)
        views.scratch(table)[layout.WALKED_AT + (found & _MASK)] = fact
        facts.prefetch_further_entry(table, fact)


@inlined
def _step(table: layout.Int64s) -> int:
    """The fact that the walker whose turn it is has come to; prefetches the one behind it."""
    scalars = views.scalars(table)
    scratch = views.scratch(table)
    walker = scalars[layout.WALKER]
    fact = scratch[layout.WALKER_AT + walker]
    header = facts.header(table, fact)
    offset = facts.link_offset(table, header, scalars[layout.WALKED_ARRANGEMENT])
    following = facts.following(table, fact, header, offset)
    scalars[layout.WALKED_FOUND] += 1
    is_marked = header & layout.MILESTONE != 0 and scalars[layout.WALKED_APART] == 0
    if is_marked or scalars[layout.WALKED_FOUND] == scalars[layout.WALKED_DUE]:
        _pass(table, fact)
    if following == scratch[layout.WALKER_END + walker]:
        _stop(table, walker, fact)
    else:
        scratch[layout.WALKER_AT + walker] = following
        views.prefetch_member(table, following, facts.link_word(offset))
        walker += 1
    scalars[layout.WALKER] = walker if walker < scalars[layout.WALKERS] else 0
    return fact


@kernel
def _pass(table: layout.Int64s, fact: int) -> None:
    """Let further walkers begin at the milestones behind a fact, or mark one if there are none."""
    scalars = views.scalars(table)
    if scalars[layout.WALKED_APART] == 0:
        if _divide(table, fact):
            scalars[layout.WALKED_APART] = -1
            scalars[layout.WALKED_DUE] = 0
            return
        scalars[layout.WALKED_APART] = APART
        scalars[layout.WALKED_MARKS] = 0
        if scalars[layout.WALKED_FOUND] < scalars[layout.WALKED_DUE]:
            return  # a milestone of another group
    scratch = views.scratch(table)
    marks = scalars[layout.WALKED_MARKS]
    if marks == layout.MOST_MILESTONES:
        # Every other one is enough, as the group is so large.
        marks //= 2
        for i in range(marks):
            scratch[layout.MARKED_AT + i] = scratch[layout.MARKED_AT + 2 * i + 1]
        scalars[layout.WALKED_APART] *= 2
    scratch[layout.MARKED_AT + marks] = fact
    scalars[layout.WALKED_MARKS] = marks + 1
    scalars[layout.WALKED_DUE] += scalars[layout.WALKED_APART]


@inlined
def _divide(table: layout.Int64s, fact: int) -> bool:
    """Divide a walk that has come to a fact at the milestones behind it; whether there are any."""
    scalars = views.scalars(table)
    scratch = views.scratch(table)
    rows = views.milestones(table)
    row = _find(table, scalars[layout.WALKED_ARRANGEMENT], fact)
    if row < 0:
        return False
    # All that are before the fact would have been noticed.
    i = int(rows[row + layout.MILESTONE_FACTS] == fact)
    walker = 0
    while i < rows[row + layout.MILESTONE_COUNT]:
        begin = rows[row + layout.MILESTONE_FACTS + i]
        views.prefetch_unit(table, begin)
        scratch[layout.WALKER_END + walker] = begin
        walker += 1
        scratch[layout.WALKER_AT + walker] = begin
        i += 1
    scratch[layout.WALKER_END + walker] = 0
    scalars[layout.WALKERS] = walker + 1
    scalars[layout.WALKED_ALONE] = scalars[layout.WALKED_FOUND]
    scalars[layout.MILESTONED] += 1
    return True


@kernel
def _stop(table: layout.Int64s, walker: int, fact: int) -> None:
    """A walker is done; *fact* is its last one. After the last walker, the group is known."""
    scalars = views.scalars(table)
    scratch = views.scratch(table)
    last = scalars[layout.WALKERS] - 1
    scratch[layout.WALKER_AT + walker] = scratch[layout.WALKER_AT + last]
    scratch[layout.WALKER_END + walker] = scratch[layout.WALKER_END + last]
    scalars[layout.WALKERS] = last
    found = scalars[layout.WALKED_FOUND]
    if last == 1:
        scalars[layout.WALKED_ALONE] = found
    if last != 0 or scalars[layout.WALKED_APART] == 0:
        return
    if scalars[layout.WALKED_APART] > 0:
        if scalars[layout.WALKED_MARKS] > 0:
            _mark(table, fact)
    elif 2 * (found - scalars[layout.WALKED_ALONE]) > found + 2 * APART:
        # Most of the group has come since its milestones were marked: mark them anew next time.
        forget_milestones(table, scalars[layout.WALKED_ARRANGEMENT], fact)


@inlined
def _mark(table: layout.Int64s, fact: int) -> None:
    """Make the marked facts the milestones of the group of a fact."""
    scalars = views.scalars(table)
    rows = views.milestones(table)
    arrangement = scalars[layout.WALKED_ARRANGEMENT]
    key = index_id(table, arrangement, fact)
    row = _row(arrangement, key)
    rows[row + layout.MILESTONE_ARRANGEMENT] = arrangement + 1
    rows[row + layout.MILESTONE_KEY] = key
    rows[row + layout.MILESTONE_COUNT] = scalars[layout.WALKED_MARKS]
    for i in range(scalars[layout.WALKED_MARKS]):
        marked = views.scratch(table)[layout.MARKED_AT + i]
        rows[row + layout.MILESTONE_FACTS + i] = marked
        facts.mark(table, marked, layout.MILESTONE)


@inlined
def _row(arrangement: int, key: int) -> int:
    """Where a group has its milestones; others may have theirs there instead."""
    return layout.MILESTONE_WIDTH * (mix(arrangement, key) & (_GROUPS - 1))


@inlined
def _find(table: layout.Int64s, arrangement: int, fact: int) -> int:
    """Where the milestones of the group of a fact are, or -1 if it has none."""
    rows = views.milestones(table)
    key = index_id(table, arrangement, fact)
    row = _row(arrangement, key)
    is_same = rows[row + layout.MILESTONE_ARRANGEMENT] == arrangement + 1
    return row if is_same and rows[row + layout.MILESTONE_KEY] == key else -1


@kernel
def forget_milestones(table: layout.Int64s, arrangement: int, fact: int) -> None:
    """Forget the milestones of the group of a fact, if it has any."""
    if views.index(table, arrangement) == 0:
        return
    row = _find(table, arrangement, fact)
    if row >= 0:
        views.milestones(table)[row + layout.MILESTONE_ARRANGEMENT] = 0
