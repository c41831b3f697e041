"""Records of facts and their entries against sums by fact and iteration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import State
from unit.backends.columnar.memory import FEW, REGIMES, Memory

from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.records import entry, fact_record, layout
from streamreasoner.engine.updates import MAX_MULTIPLICITY
from streamreasoner.errors import MultiplicityOverflowError

PROGRAMS = {2: "p(?x) :- e(?x, _) .", 4: "p(?a) :- e(?a, _, _, _) ."}
LARGE = st.sampled_from((1, -1, MAX_MULTIPLICITY, -MAX_MULTIPLICITY, MAX_MULTIPLICITY - 1))


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data())
def test_multiplicities_are_sums_and_touch(regime, data):
    """After each addition an entry holds the sum of its iteration, whose list holds the fact."""
    memory, model, touched = Memory(PROGRAMS[regime.arity]), State(), {}
    pool = data.draw(regime.facts())
    for choice, iteration, multiplicity in data.draw(regime.steps()):
        each = pool[choice % len(pool)]
        if address := memory.find(each):
            status = entry.add_multiplicity(memory.table, address, iteration, multiplicity)
        else:
            status = memory.add(each, iteration, multiplicity)
        model.add(each, iteration, multiplicity)
        touched.setdefault(iteration, set()).add(each)

        assert status == layout.OK
        assert memory.numbers("multiplicity") == model.multiplicities
        assert memory.touched() == {i: sorted(facts) for i, facts in touched.items()}
        for known, record in memory.records().items():
            for at, held in record.entries.items():
                assert held.touched == (known in touched.get(at, ()))
        memory.assert_no_unit_is_lost()
        if data.draw(st.booleans()):
            memory.settle(0)
            journal.commit(memory.table)
            touched = {}


@FEW
@given(st.lists(st.tuples(st.integers(0, 2), LARGE), max_size=20))
def test_a_sum_out_of_range_is_refused(additions):
    """OVERFLOW tells that a sum would leave its range, and the entry keeps its multiplicity."""
    memory, model, each = Memory(PROGRAMS[2]), State(), ("e", (1, 2))
    memory.add(each, 0, 1)
    model.add(each, 0, 1)
    for iteration, multiplicity in additions:
        status = entry.add_multiplicity(memory.table, memory.find(each), iteration, multiplicity)
        try:
            model.add(each, iteration, multiplicity)
        except MultiplicityOverflowError:
            assert status == layout.OVERFLOW
        else:
            assert status == layout.OK
        assert memory.numbers("multiplicity") == model.multiplicities


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data())
def test_a_dropped_record_is_found_no_more_and_used_again(regime, data):
    """`drop` removes a fact from the table, and the next fact of its class takes its record."""
    memory, present = Memory(PROGRAMS[regime.arity]), set()
    pool = data.draw(regime.facts())
    for choice in data.draw(st.lists(st.integers(0, 13), max_size=30)):
        each, free = pool[choice % len(pool)], int(memory.scalars[layout.TOP])
        if each in present:
            fact_record.drop(memory.table, memory.find(each))
        else:
            memory.add(each, 0, 1)
            memory.settle(0)
            journal.commit(memory.table)
        present ^= {each}

        assert memory.records().keys() == present
        assert all((memory.find(other) != 0) == (other in present) for other in pool)
        assert memory.scalars[layout.TOP] <= max(free, _top(memory, len(present)))
        memory.assert_no_unit_is_lost()


def _top(memory, records):
    """The end of an arena that has held at most this many records."""
    units = (layout.CELLS + memory.program.plan.arities["e"] + 1) // 2
    return layout.FIRST_RECORD + records * units
