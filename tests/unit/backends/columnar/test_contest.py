"""Winners from the log against those of a state of dicts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import FEW
from unit.backends.columnar.test_absorb import ROWS, Load, expected
from unit.backends.columnar.test_log import ASSERTED

from streamreasoner.backends.columnar.kernels.loading import contest
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.settling import settle

ADDED = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 3)), max_size=8)


@FEW
@given(asserted=ASSERTED, epochs=st.lists(ADDED, min_size=1, max_size=4))
def test_what_is_only_added_to_is_decided(asserted, epochs):
    """The winners of each iteration, and their transitions, are those of all candidates."""
    load = Load(asserted)
    memory = load.memory
    for iteration, rows in enumerate(epochs, start=1):
        load.push(rows, iteration)
        assert contest.contest(memory.table, iteration) == layout.OK
        assert memory.scalars[layout.LOGGING]
        assert contest.crown(memory.table, iteration) == layout.OK
        assert load.listed() == set()
        assert memory.deltas() == load.model.settle(memory.program, 1, iteration)
        settle.clear_deltas(memory.table)
        assert memory.numbers("transition") == load.model.transitions
    assert not memory.scalars[layout.REPLAYED]


@FEW
@given(asserted=ASSERTED, rows=ROWS)
def test_what_is_subtracted_ends_the_log_unless_something_better_is_there(asserted, rows):
    """All candidates with a multiplicity at the iteration are then touched, to be settled."""
    load = Load(asserted)
    memory = load.memory
    best, lost, _ = expected(load, asserted, rows)
    decided = all(
        key in best and load.rank(best[key]) < load.rank(value) for key, value in lost.items()
    )
    load.push(rows)
    assert contest.contest(memory.table, 1) == layout.OK
    assert bool(memory.scalars[layout.LOGGING]) == decided
    assert memory.scalars[layout.REPLAYED] == (not decided)
    if decided:
        assert contest.crown(memory.table, 1) == layout.OK
        assert memory.deltas() == load.model.settle(memory.program, 1, 1)
    else:
        assert memory.numbers("multiplicity") == load.model.multiplicities
        at_one = {fact for fact, record in memory.records().items() if 1 in record.entries}
        assert {*memory.touched(1).get(1, ())} == at_one
        assert {load.pool[choice] for choice, _ in rows} == at_one
