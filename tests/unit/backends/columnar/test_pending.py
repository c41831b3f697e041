"""Batched additions against the list of those that wait."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import State
from unit.backends.columnar.memory import FEW, REGIMES, Memory

from streamreasoner.backends.columnar.kernels.records import layout, pending

PROGRAMS = {2: "p(?x) :- e(?x, _) .", 4: "p(?a) :- e(?a, _, _, _) ."}


def batched(memory, limit):
    """The addresses of a memory, with an own batch of some additions."""
    table = memory.table.copy()
    columns = pending.columns(limit)
    for column, array in columns.items():
        table[column] = array.ctypes.data
    return table, columns


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data(), limit=st.integers(1, 6))
def test_what_waits_is_added_once(regime, data, limit):
    """A batch that is full, flushed or accumulated is added; one that is discarded is not."""
    memory, model = Memory(PROGRAMS[regime.arity]), State()
    table, kept_alive = batched(memory, limit)
    relation, waiting = memory.numbering.relations["e"], []
    pool = data.draw(regime.facts())
    for choice, iteration, multiplicity in data.draw(regime.steps()):
        each = pool[choice % len(pool)]
        cells = np.array((0, *each[1]), np.int32)
        status = pending.push(table, relation, cells, 1, iteration, multiplicity, pending.UNKNOWN)
        waiting.append((each, iteration, multiplicity))
        step = data.draw(
            st.sampled_from(("push", "push", "push", "flush", "discard", "accumulate"))
        )
        count = pending.pending_count(table)
        assert count <= min(len(waiting), limit - 1)
        if step == "flush":
            status = max(status, pending.flush(table))
        elif step == "accumulate":
            status = max(status, pending.accumulate(memory.table, table))
        elif step == "discard" and count:
            pending.discard_pending(table)
            waiting.clear()

        assert status == layout.OK
        if pending.pending_count(table) == 0:
            for addition in waiting:
                model.add(*addition)
            waiting.clear()
        assert memory.numbers("multiplicity") == model.multiplicities
    assert len(kept_alive) > 0


def test_additions_to_one_fact_are_one_row():
    """Additions to one fact and iteration wait as their sum, and those to another do not."""
    memory = Memory(PROGRAMS[2])
    table, kept_alive = batched(memory, 100)
    relation, cells = memory.numbering.relations["e"], np.array((1, 2), np.int32)
    for iteration in (0, 1):
        for _ in range(10):
            pending.push(table, relation, cells, 0, iteration, 2, pending.UNKNOWN)

        assert pending.pending_count(table) == iteration + 1
    pending.flush(table)
    assert memory.numbers("multiplicity") == {("e", (1, 2)): {0: 20, 1: 20}}
    assert len(kept_alive) > 0
