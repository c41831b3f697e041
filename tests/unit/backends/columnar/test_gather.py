"""Readers of groups against nested loops over the facts that the memory has."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import FEW, Memory

from streamreasoner.backends.columnar.kernels.joining import derive, gather
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.settling import settle

TEXT = "t(?x, ?y, ?z) :- e(?x, ?y), e(?y, ?z), e(?x, ?z) ."
PAIRS = st.tuples(st.integers(1, 8), st.integers(1, 8))


@FEW
@given(
    edges=st.sets(PAIRS, min_size=1, max_size=40),
    bound=st.lists(PAIRS, min_size=1, max_size=layout.READERS),
)
def test_readers_find_what_nested_loops_find(edges, bound):
    """Several at once, of all plans, with groups of several lengths, also empty ones."""
    memory = arranged(edges)
    expected, opened = [], []
    for reader, (first, second) in enumerate(bound):
        plan = reader % 3
        opened.append(open_reader(memory, plan, reader, first, second))
        expected.append(nested_loops(memory, plan, edges))
    used = 2 * memory.scalars[layout.TOP]
    words = memory.words[:used].copy()
    gather.gather(memory.table, 0, len(bound))
    for reader, first in enumerate(opened):
        found = matches(memory, reader, first)
        assert Counter(found) == expected[reader]
    assert np.array_equal(memory.words[:used], words)


@pytest.mark.parametrize("degree", [1, 16, 17, 63, 64, 65, 300])
def test_a_reader_goes_on_when_its_matches_have_been_taken(degree):
    """Whatever the room for them."""
    edges = {(x, y) for x in (1, 2) for y in range(3, 3 + degree)} | {(y, 2) for y in range(3, 9)}
    memory = arranged(edges)
    for plan in range(3):
        first = open_reader(memory, plan, 0, 1, 2)
        expected = nested_loops(memory, plan, edges)
        gather.gather(memory.table, 0, 1)
        assert Counter(matches(memory, 0, first)) == expected
    before = memory.scalars[layout.GATHERED]
    first = open_reader(memory, 0, 0, 1, 2)
    gather.gather(memory.table, 0, 1)
    assert len(matches(memory, 0, first)) == degree
    assert memory.scalars[layout.GATHERED] == before + degree


def arranged(edges):
    """A memory whose edges are in their groups."""
    memory = Memory(TEXT)
    for edge in sorted(edges):
        assert memory.add(("e", edge), 0, 1) == layout.OK
    memory.settle(0)
    settle.enter(memory.table, 1)
    assert settle.next_touched(memory.table, -1) == 0
    settle.settle(memory.table, memory.values, 0)
    assert derive.derive(memory.table, memory.values, 0) == layout.OK
    return memory


def open_reader(memory, plan, reader, first, second):
    """Open a reader of a plan whose driving fact has two arguments; returns the plan's first step.

    The slots of the first two variables are those of the arguments.
    """
    row = memory.plans[plan]
    assert row[layout.STAGE_BIND_COUNT] == 2
    memory.state.column(layout.SCRATCH)[layout.SLOTS : layout.SLOTS + 2] = first, second
    step = int(row[layout.PLAN_STEPS])
    gather.open_reader(memory.table, reader, step, 0)
    return step


def matches(memory, reader, first):
    """Pairs of facts that a reader finds, of the step and of the lookup."""
    scratch = memory.state.column(layout.SCRATCH)
    found = []
    gather.begin_matches(memory.table, first, reader)
    assert ~int(scratch[layout.MEMBER_AT]) == reader
    while scratch[layout.FACT_AT]:
        pair = scratch[[layout.FACT_AT, layout.FOUND_AT + 1]].tolist()
        found.append(tuple(memory.fact(address)[1] for address in pair))
        gather.next_match(memory.table, reader)
    return found


def nested_loops(memory, plan, edges):
    """The same, by the steps of the plan."""
    row = memory.plans[plan]
    steps = memory.state.column(layout.STEPS).reshape(-1, layout.STEP_WIDTH)
    operands = memory.state.column(layout.OPERANDS)
    slots = memory.state.column(layout.SCRATCH)[layout.SLOTS :]
    probe, lookup = steps[row[layout.PLAN_STEPS] :][:2]
    bind = operands[probe[layout.STAGE_BINDS]]
    key = slots[operands[probe[layout.STEP_KEY]]]
    codes = operands[lookup[layout.STEP_KEY] :][:2].tolist()
    found = Counter()
    for edge in edges:
        if edge[1 - bind] == key:
            other = tuple(edge[bind] if code > 1 else int(slots[code]) for code in codes)
            if other in edges:
                found[edge, other] += 1
    return found
