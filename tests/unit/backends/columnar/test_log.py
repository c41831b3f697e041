"""The log of a load against a state that is settled after each iteration."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import State
from unit.backends.columnar.memory import FEW, Memory
from unit.backends.columnar.test_lattice import LATTICES, TERMS, assert_winners
from unit.backends.columnar.test_settle import settled

from streamreasoner.backends.columnar import arena
from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.loading import log
from streamreasoner.backends.columnar.kernels.records import layout, pending
from streamreasoner.backends.columnar.kernels.settling import settle

KEYS = (1, 2, 3)
HEADS = st.lists(
    st.tuples(
        st.integers(0, len(KEYS) * len(TERMS) - 1), st.sampled_from((1, 1, 1, 1, 2, 3, -1, 1, 200))
    ),
    max_size=8,
)
ASSERTED = st.lists(st.integers(0, len(KEYS) * len(TERMS) - 1), max_size=3)


def loaded(limit, asserted):
    """A memory whose stratum is entered, a log of some rows, what it holds, and possible facts."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(arena, "log_rows", lambda: limit)
        memory, model = Memory(LATTICES[2]), State()
    values = [memory.program.terms.id(term) for term in TERMS]
    pool = [("e", (key, value)) for value in values for key in KEYS]
    for choice in asserted:
        memory.add(pool[choice], 0, 1)
        model.add(pool[choice], 0, 1)
    settle.enter(memory.table, 1)
    return memory, model, pool


def begin(memory):
    """Whether the log takes the heads of the stratum."""
    return log.begin(memory.table, memory.state.tables.logged[1])


@FEW
@given(data=st.data(), limit=st.integers(1, 9), asserted=ASSERTED)
def test_winners_and_counts_are_those_of_facts(data, limit, asserted):
    """Whatever is added and subtracted, and whether or not the log can tell the winners.

    A rollback leaves nothing, at whichever iteration.
    """
    memory, model, pool = loaded(limit, asserted)
    assert begin(memory)
    changes = defaultdict(dict)
    for iteration in range(4):
        cells = np.zeros(2, np.int32)
        for choice, multiplicity in data.draw(HEADS) if iteration > 0 else ():
            cells[:] = pool[choice][1]
            relation = memory.numbering.relations["e"]
            kind = pending.UNKNOWN
            status = pending.push(memory.table, relation, cells, 0, iteration, multiplicity, kind)
            assert status == layout.OK
            model.add(pool[choice], iteration, multiplicity)
            if choice % 3 == 0 and memory.scalars[layout.LOGGING]:
                assert log.make_room(memory.table) == layout.OK
        assert pending.flush(memory.table) == layout.OK
        if settle.next_touched(memory.table, iteration - 1) == iteration:
            assert settle.settle(memory.table, memory.values, iteration) == layout.OK
        for fact, change in memory.deltas().items():
            changes[fact][iteration] = change
        settle.clear_deltas(memory.table)
    if data.draw(st.booleans()):
        assert journal.rollback(memory.table, memory.values) == layout.OK
        assert memory.records() == {}
        assert not memory.scalars[layout.LOGGING]
        memory.assert_no_unit_is_lost()
        return
    assert settle.next_touched(memory.table, 3) < 0
    if memory.scalars[layout.LOGGING]:
        assert log.end_log(memory.table) == layout.OK

    assert dict(changes) == settled(model, memory.program, 1)
    assert memory.numbers("multiplicity") == model.multiplicities
    assert memory.numbers("transition") == model.transitions
    assert_winners(memory, model)
    memory.assert_no_unit_is_lost()
    journal.commit(memory.table)
    assert memory.numbers("multiplicity") == model.multiplicities
    memory.assert_no_unit_is_lost()


@pytest.mark.parametrize(("iteration", "multiplicity"), [(0, -1), (1, 1)])
def test_nothing_is_logged_beside_facts_that_may_be_absent(iteration, multiplicity):
    """A fact asserted negatively, or at a later iteration, has a sum that the log ignores."""
    memory, _, pool = loaded(9, ())
    memory.add(pool[0], iteration, multiplicity)
    memory.add(pool[0], 0, 0)

    assert not begin(memory)
    assert not memory.scalars[layout.LOGGING]
