"""Scans of the state against those of the model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import ModelBackend
from unit.backends.columnar.memory import FEW, REGIMES, Memory

from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.records import select

PROGRAMS = {
    2: "p(?x) :- e(?x, _), f(?x, _) .",
    4: "p(?a) :- e(?a, _, _, _), f(?a, _, _, _) .",
}


def described(selection):
    """Fact -> stratum, since, until, asserted and total."""
    columns = (
        selection.stratum, selection.since, selection.until, selection.asserted, selection.total
    )  # fmt: skip
    rows = zip(*(column.tolist() for column in columns), strict=True)
    facts = list(map(tuple, selection.args.tolist()))
    assert len(set(facts)) == len(facts)
    return dict(zip(facts, rows, strict=True))


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data())
def test_scans_read_what_is_there(regime, data):
    """Counts, facts, traces and selections by any positions are those of the model."""
    memory = Memory(PROGRAMS[regime.arity])
    model = ModelBackend(memory.program.plan, memory.backend._dictionary)  # noqa: SLF001
    # Few facts, so that each has many entries.
    pool = [*data.draw(regime.facts())[:3], *data.draw(regime.facts("f"))[:1]]
    for choice, iteration, multiplicity in data.draw(regime.steps()):
        memory.add(pool[choice % len(pool)], iteration, multiplicity)
        model.state.add(pool[choice % len(pool)], iteration, multiplicity)
    memory.settle(0)
    journal.commit(memory.table)
    model.state.settle_all(memory.program)
    relation, arity = memory.numbering.relations["e"], regime.arity
    present, rows = select.count(memory.table, relation)
    args = np.empty((present, arity), np.int32)
    select.read_facts(memory.table, relation, args)
    together = memory.backend.facts_of(["f", "e"])
    assert sorted(together["e"].tolist()) == sorted(args.tolist())
    assert sorted(together["f"].tolist()) == sorted(memory.backend.facts("f").tolist())
    trace = np.empty((rows, arity), np.int32), np.empty(rows, np.int32), np.empty(rows, np.int64)
    select.read_trace(memory.table, relation, *trace)

    assert sorted(args.tolist()) == sorted(model.facts("e").tolist())
    assert {("e", tuple(cells)): {} for cells in trace[0].tolist()}.keys() == {
        fact for fact in model.state.multiplicities if fact[0] == "e"
    }
    expected = model.trace("e")
    assert sorted(zip(*(column.tolist() for column in trace), strict=True)) == sorted(
        zip(expected.args.tolist(), expected.iteration.tolist(), expected.multiplicity.tolist(),
            strict=True)
    )  # fmt: skip
    for _ in range(6):
        positions = data.draw(st.sets(st.integers(0, arity - 1)))
        bound = {at: data.draw(st.sampled_from(pool))[1][at] for at in positions}
        at = data.draw(st.integers(0, regime.last + 1))
        found = memory.backend.select("e", bound, at)
        assert described(found) == described(model.select("e", bound, at))
    facts = [args for predicate, args in pool if predicate == "e"]
    absent = [tuple(1_000 + i for i in args) for args in facts]
    # More facts than the kernel looks up at once.
    asked = np.array([*facts, *absent] * 20, np.int32).reshape(-1, arity)
    assert memory.backend.asserted("e", asked).tolist() == model.asserted("e", asked).tolist()
