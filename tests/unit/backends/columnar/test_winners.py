"""Lists of winners against dicts from an iteration to the winner from then on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import DENSE, FEW, SPARSE, Memory

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.winners import forget_winners, record_winner

GROUPS = {
    "dense": ("e(?x, min(?v)) :- f(?x, ?v) .", ("e", (1, 2)), DENSE),
    "sparse": ("e(?a, ?b, ?c, min(?v)) :- f(?a, ?b, ?c, ?v) .", ("e", (10**6, 1, 9, 2)), SPARSE),
}
LAST = {DENSE: 8, SPARSE: 10**6}
"""Last iteration that has a winner."""


@pytest.mark.parametrize(("text", "fact", "regime"), GROUPS.values(), ids=GROUPS)
@FEW
@given(data=st.data())
def test_a_list_has_the_iterations_at_which_the_winner_changes(text, fact, regime, data):
    """Nodes ascend, whatever was recorded first, and units of nodes that go are free again."""
    memory, winners = Memory(text), {}
    at = fields(memory, fact)
    changes = st.tuples(st.integers(0, LAST[regime]), st.integers(0, 3))
    for chosen, winner in data.draw(st.lists(changes, max_size=20)):
        # Half of the time an iteration that has a winner.
        iteration = sorted(winners)[chosen % len(winners)] if winners and chosen % 2 else chosen
        before = [winners[earlier] for earlier in sorted(winners) if earlier < iteration]
        former = before[-1] if before else 0
        winners[iteration] = winner
        if winner == former:
            del winners[iteration]

        assert record_winner(memory.table, at, iteration, winner, former)
        assert recorded(memory, at) == sorted(winners.items())
        memory.assert_no_unit_is_lost()


@pytest.mark.parametrize(("text", "fact", "regime"), GROUPS.values(), ids=GROUPS)
def test_nothing_is_left_of_a_forgotten_list(text, fact, regime):
    """Its units are free again, and the list can be recorded anew in them."""
    memory = Memory(text)
    at = fields(memory, fact)
    for _ in range(2):
        for iteration in (0, 1, LAST[regime]):
            assert record_winner(memory.table, at, iteration, iteration + 1, iteration)
        top = memory.scalars[layout.TOP]
        forget_winners(memory.table, at)

        assert recorded(memory, at) == []
        memory.assert_no_unit_is_lost()

    assert memory.scalars[layout.TOP] == top


def test_full_memory_is_told_and_leaves_the_list():
    """Without a unit left, a winner is not recorded, and those before it stay."""
    text, fact, _ = GROUPS["dense"]
    memory = Memory(text)
    at = fields(memory, fact)
    assert record_winner(memory.table, at, 1, 7, 0)
    memory.scalars[layout.CAPACITY] = memory.scalars[layout.TOP]

    assert not record_winner(memory.table, at, 2, 8, 7)
    assert recorded(memory, at) == [(1, 7)]


def fields(memory, fact):
    """The fields of the group of a candidate, which is added."""
    memory.add(fact, 1, 1)
    ((number, lattice),) = memory.groupings("e").items()
    key = tuple(fact[1][position] for position in lattice.key)
    _, group = memory.first(number, key)
    return group + (layout.GROUP_KEY + len(key) + 1) // 2


def recorded(memory, at):
    """(iteration, winner) of each node, in the order of the list."""
    nodes = [memory.words[2 * node : 2 * node + 3].tolist() for node in memory.winners(at)]
    return [(node[layout.WINNER_ITERATION], node[layout.WINNER_FACT]) for node in nodes]
