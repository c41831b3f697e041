"""Rows of the log in records against sums in a dict."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from unit.backends.columnar.memory import FEW
from unit.backends.columnar.test_absorb import ROWS, Load
from unit.backends.columnar.test_log import ASSERTED

from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.loading import absorb, log, merge
from streamreasoner.backends.columnar.kernels.records import entry, layout


@FEW
@given(asserted=ASSERTED, merges=st.lists(st.lists(ROWS, max_size=3), min_size=1, max_size=3))
def test_each_row_is_added_once(asserted, merges):
    """To the record of its candidate, which is new or not, at its iteration."""
    load = Load(asserted)
    memory, iteration, count = load.memory, 0, 0
    for iterations in merges:
        for rows in iterations:
            iteration += 1
            load.push(rows, iteration)
            count += len(rows)
        assert absorb.absorb(memory.table) == layout.OK
        assert merge.merge(memory.table) == layout.OK
        assert memory.numbers("multiplicity") == load.model.multiplicities
        assert memory.scalars[[layout.LOG_COUNT, layout.LOG_ABSORBED]].tolist() == [0, 0]
        assert memory.scalars[layout.LOGGED_ROWS] == count
        check_groups(load)
        assert not memory.reserved(layout.LOG_RECORDS)[:64].any()
        memory.assert_no_unit_is_lost()


def check_groups(load):
    """Each candidate is found by its arguments and in its group, once."""
    memory = load.memory
    (lattice,) = memory.program.plan.lattices
    number = memory.numbering.groupings[lattice]
    records = memory.records()
    for key in {args[0] for _, args in records}:
        members = memory.members(number, (key,))
        assert len(members) == len({*members})
        assert {*members} == {fact for fact in records if fact[1][0] == key}
    for fact, record in records.items():
        assert memory.find(fact) == record.address


@FEW
@given(rows=ROWS)
def test_records_of_rows_are_withdrawn_with_their_epoch(rows):
    """They are journaled as any other."""
    load = Load()
    load.push(rows)
    assert log.make_room(load.memory.table) == layout.OK
    assert journal.rollback(load.memory.table, load.memory.values) == layout.OK
    assert load.memory.records() == {}
    load.memory.assert_no_unit_is_lost()


def test_a_multiplicity_that_overflows_is_told():
    """As if it had been added without a log."""
    load = Load([0])
    fact, most = load.memory.find(load.pool[0]), layout.MAX_MULTIPLICITY - 1
    assert entry.add_multiplicity(load.memory.table, fact, 0, most) == layout.OK
    load.push([(0, 1)], 0)
    assert absorb.absorb(load.memory.table) == layout.OK
    assert merge.merge(load.memory.table) == layout.OVERFLOW
