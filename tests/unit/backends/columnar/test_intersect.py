"""Atoms that bind one variable together, against intersections of Python sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import FEW, Memory

from streamreasoner.backends.columnar.kernels.joining import derive, intersect, together
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.settling import settle

TEXT = "t(?x, ?y, ?z) :- e(?x, ?y), e(?y, ?z), e(?x, ?z) ."
"""Each plan binds the third variable by a probe, and looks up one fact more with it."""
IDS = st.integers(1, 3) | st.integers(1, 12)
SHORT = 4
"""Groups with at most as many facts are not sorted."""
EDGES = st.sets(st.tuples(IDS, IDS), max_size=60)


class Intersecting:
    """A memory in the middle of an epoch: its deltas are listed, in their groups, and marked.

    Attributes:
        old: Edges that were present before.
        new: Edges that are present now.
    """

    def __init__(self, before, after):
        self.memory = Memory(TEXT)
        self.old, self.new = before, after
        self._assert([(edge, 1) for edge in sorted(before)])
        settle.enter(self.memory.table, 1)
        if settle.next_touched(self.memory.table, -1) == 0:
            self._settle()
            assert derive.derive(self.memory.table, self.memory.values, 0) == layout.OK
        self.memory.backend.commit()
        signs = [(edge, 1 if edge in after else -1) for edge in sorted(before ^ after)]
        self._assert(signs)
        settle.enter(self.memory.table, 1)
        if settle.next_touched(self.memory.table, -1) == 0:
            self._settle()
        memory = self.memory
        memory.scalars[layout.CYCLIC_RULES] = layout.LATER
        count = int(memory.scalars[layout.DELTA_COUNT])
        assert derive.apply_deltas(memory.table, memory.values, 0, count, 0) == layout.OK
        together.mark_deltas(memory.table)
        memory.scalars[layout.SORTING] = 1
        memory.state.column(layout.SCRATCH)[layout.ITERATION_AT] = 0

    def _assert(self, edges):
        for edge, multiplicity in edges:
            assert self.memory.add(("e", edge), 0, multiplicity) == layout.OK
        self.memory.settle(0)

    def _settle(self):
        assert settle.settle(self.memory.table, self.memory.values, 0) == layout.OK

    def rows(self, plan):
        """The rows of the probe and of the lookup of a plan, and the probe's number."""
        memory = self.memory
        row = memory.plans[plan]
        first = int(row[layout.PLAN_STEPS])
        steps = memory.state.column(layout.STEPS).reshape(-1, layout.STEP_WIDTH)
        return first, steps[first], steps[first + 1]

    def bind(self, first, second):
        """Bind the first two variables."""
        scratch = self.memory.state.column(layout.SCRATCH)
        scratch[layout.SLOTS : layout.SLOTS + 2] = first, second

    def group(self, probe, bound):
        """The edges of the group that a probe walks, present or not."""
        operands = self.memory.state.column(layout.OPERANDS)
        key = bound[operands[probe[layout.STEP_KEY]]]
        members = self.memory.members(int(probe[layout.STEP_TARGET]), (int(key),))
        return [args for _, args in members]

    def matches(self, first):
        """Pairs of edges, of the probe and of the lookup; None for a lookup that is not sorted."""
        memory, scratch = self.memory, self.memory.state.column(layout.SCRATCH)
        found = []
        while scratch[layout.FACT_AT]:
            probed, looked_up = scratch[[layout.FACT_AT, layout.FOUND_AT + 1]].tolist()
            found.append((memory.fact(probed)[1], memory.fact(looked_up)[1] if looked_up else None))
            intersect.next_common(memory.table, first, 0)
        return found

    def expected(self, probe, lookup, bound):
        """The same by nested loops, sorted by the value that they have in common."""
        operands = self.memory.state.column(layout.OPERANDS)
        position = int(operands[probe[layout.STAGE_BINDS]])
        key = bound[operands[probe[layout.STEP_KEY]]]
        codes = operands[lookup[layout.STEP_KEY] :][:2].tolist()
        visible = self.old if probe[layout.STEP_OLD] else self.old | self.new
        others = self.old if lookup[layout.STEP_OLD] else self.old | self.new
        return [
            (edge, other)
            for edge in sorted(visible, key=lambda edge: edge[position])
            if edge[1 - position] == key
            for other in [tuple(bound[c] if c < 2 else edge[position] for c in codes)]
            if other in others
        ]


@FEW
@given(
    before=EDGES,
    after=EDGES,
    plan=st.integers(0, 2),
    bound=st.lists(st.tuples(IDS, IDS), min_size=1, max_size=8),
)
def test_matches_are_those_of_nested_loops(before, after, plan, bound):
    """In the order of their common value; what deltas have brought is not in old groups."""
    state = Intersecting(before, after)
    first, probe, lookup = state.rows(plan)
    for pair in bound:
        state.bind(*pair)
        if intersect.open_groups(state.memory.table, first, 0):
            assert state.matches(first) == state.expected(probe, lookup, pair)
        else:
            assert len(state.group(probe, pair)) <= SHORT


@FEW
@given(edges=EDGES, plan=st.integers(0, 2), pair=st.tuples(IDS, IDS))
def test_a_group_that_is_not_sorted_is_left_to_lookups(edges, plan, pair):
    """If there is room for the probe's group only, all its facts are matches, none looked up."""
    edges |= {(key, value) for key in pair for value in range(1, 8)}
    edges |= {(value, key) for key in pair for value in range(1, 8)}
    state = Intersecting(set(), edges)
    first, probe, _ = state.rows(plan)
    state.bind(*pair)
    group = [] if probe[layout.STEP_OLD] else state.group(probe, pair)
    scalars = state.memory.scalars
    scalars[layout.SORTED_GROUP_CAPACITY] = scalars[layout.SORTED_GROUP_COUNT] + 2
    assert intersect.open_groups(state.memory.table, first, 0)
    found = state.matches(first)
    if pair[0] != pair[1]:
        assert found == [(edge, None) for edge in sorted(group)]


@FEW
@given(edges=EDGES, plan=st.integers(0, 2), pair=st.tuples(IDS, IDS))
def test_nothing_is_sorted_unless_deltas_are_many(edges, plan, pair):
    """The step is left to a walk, and no group has been sorted for it."""
    state = Intersecting(set(), edges)
    first, *_ = state.rows(plan)
    state.bind(*pair)
    state.memory.scalars[layout.SORTING] = 0
    count = state.memory.scalars[layout.SORTED_GROUP_COUNT]
    assert not intersect.open_groups(state.memory.table, first, 0)
    assert state.memory.scalars[layout.SORTED_GROUP_COUNT] == count
