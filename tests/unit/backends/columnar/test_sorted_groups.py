"""Sorted groups against sorted lists of the members that the memory has."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import DENSE, FEW, Memory

from streamreasoner.backends.columnar.kernels.joining import derive, together
from streamreasoner.backends.columnar.kernels.records import layout, sorted_groups
from streamreasoner.backends.columnar.kernels.records.layout import LOW
from streamreasoner.backends.columnar.kernels.settling import settle

ITEMS = st.lists(st.integers(0, 2**62), max_size=120)
# Both strata read both arrangements of e: by its first argument and by its second.
TEXT = """
t(?x, ?y, ?z) :- e(?x, ?y), e(?y, ?z), e(?x, ?z) .
e(?x, ?z) :- f(?x, ?y), e(?y, ?z), e(?x, ?z) .
"""


@given(ITEMS, st.integers(0, 3))
def test_items_are_sorted_in_place(items, before):
    """Few items and many; those around them stay."""
    column = np.array([5] * before + items + [5], np.int64)
    sorted_groups.sort_items(column, before, before + len(items))
    assert column.tolist() == [5] * before + sorted(items) + [5]


@given(ITEMS, st.data())
def test_a_bound_is_found_from_any_place(items, data):
    """The first item from a place on that is not below a bound."""
    items.sort()
    at = data.draw(st.integers(0, len(items)))
    bound = data.draw(st.integers(0, 2**62) | st.sampled_from([*items, 0]))
    column = np.array([*items, 0], np.int64)
    found = sorted_groups.seek(column, at, len(items), bound)
    assert found == max(at, bisect_left(items, bound))


@FEW
@given(data=st.data())
def test_a_group_has_the_members_with_transitions_sorted(data):
    """Before the deltas of an iteration or with them; the rest of the group is left out."""
    memory = Memory(TEXT)
    pool = data.draw(DENSE.facts())
    iteration = None
    for _ in range(data.draw(st.integers(1, 3))):
        for number, multiplicity in data.draw(
            st.lists(st.tuples(st.integers(0, 13), st.sampled_from((1, 1, 2, -1))), max_size=12)
        ):
            assert memory.add(pool[number % len(pool)], 0, multiplicity) == layout.OK
        stratum = data.draw(st.integers(1, 2))
        settle.enter(memory.table, stratum)
        iteration = settle.next_touched(memory.table, -1)
        if iteration < 0:
            continue
        settle.settle(memory.table, memory.values, iteration)
        changes = memory.deltas()
        count = len(changes)
        status = derive.apply_deltas(memory.table, memory.values, 0, count, iteration)
        assert status == layout.OK
        together.mark_deltas(memory.table)
        assert memory.deltas() == changes
        memory.state.column(layout.SCRATCH)[layout.ITERATION_AT] = iteration
        for sort, (arrangement, position) in enumerate(sorts(memory)):
            for key in range(1, 9 if arrangement >= 0 else 0):
                check_group(memory, sort, (arrangement, position, key), changes, iteration)
        assert derive.finish(memory.table, layout.OK) == layout.OK
        assert memory.deltas() == {}
        assert memory.scalars[layout.SORTED_GROUP_COUNT] == 0
        assert not any(column.array[:9].any() for column in memory.state._sorted_rows)  # noqa: SLF001


def sorts(memory):
    """(arrangement, position) of each sort."""
    rows = memory.state.column(layout.SORTS).reshape(-1, layout.SORT_WIDTH)
    return rows[:, [layout.SORT_ARRANGEMENT, layout.SORT_VALUE]].tolist()


def check_group(memory, sort, place, changes, iteration):
    """Sort a group and compare it; one for which there is no room is refused."""
    arrangement, position, key = place
    members = memory.members(arrangement, (key,))
    assert bool(members) != sorted_groups.is_empty(memory.table, sort, key)
    row = sorted_groups.group_row(memory.table, sort, key)
    assert row == sorted_groups.group_row(memory.table, sort, key) != 0
    expected, before = [], 0
    for fact in members:
        now = memory.numbers("transition").get(fact, {})
        own = (
            memory.class_row(memory.find(fact))[layout.CLASS_STRATUM]
            == (memory.scalars[layout.STRATUM])
        )
        was = dict(now) if own else {iteration: sum(now.values())}
        was[iteration] = was.get(iteration, 0) - changes.get(fact, 0)
        if any(was.values()) or (any(now.values()) if own else sum(now.values())):
            expected.append((fact[1][position], not any(was.values()), memory.find(fact)))
            before += any(was.values())
    groups = memory.reserved(layout.SORTED_GROUPS)
    top, capacity = memory.scalars[[layout.SORTED_TOP, layout.SORTED_CAPACITY]]
    if expected:
        memory.scalars[layout.SORTED_CAPACITY] = top + len(expected) - 1
        assert not sorted_groups.sort_group(memory.table, row)
        assert groups[row + layout.SORTED_FIRST] == 0
    memory.scalars[layout.SORTED_CAPACITY] = capacity
    assert sorted_groups.sort_group(memory.table, row)
    assert memory.scalars[layout.SORTED_TOP] == top + len(expected)
    assert sorted_groups.sort_group(memory.table, row)
    assert memory.scalars[layout.SORTED_TOP] == top + len(expected)
    first = groups[row + layout.SORTED_FIRST]
    items = memory.reserved(layout.SORTED)[first : first + groups[row + layout.SORTED_COUNT]]
    found = [
        (item >> 32, bool(item & layout.SORTED_NEW), item & LOW & ~layout.SORTED_NEW)
        for item in items.tolist()
    ]
    assert found == sorted(expected)
    assert groups[row + layout.SORTED_BEFORE] == before
