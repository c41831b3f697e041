"""Migration to other programs against the same state in dicts: there and back is the identity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import State
from strategies import checked
from unit.backends.columnar.memory import FEW, REGIMES, Memory

from streamreasoner.backends.columnar.compiler.program import compile_program
from streamreasoner.backends.columnar.kernels.epoch import journal, relocate
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.program_plan import Lattice

# Facts of `e` are in no group, in one or two arrangements, or candidates; some by a constant.
PROGRAMS = {
    2: (
        "p(?x) :- e(?x, _) .",
        "p(?x, ?z) :- e(?x, ?y), e(?y, ?z) .",
        "p(?x, ?z) :- f(?x, ?y), e(?y, ?z) .\nq(?x) :- e(?x, _) .",
        "e(?x, min(?v)) :- g(?x, ?v) .",
        "e(?x, max(?v)) :- g(?x, ?v) .\np(?x, ?z) :- e(?x, ?y), e(?y, ?z) .",
    ),
    4: (
        "p(?a) :- e(?a, _, _, _) .",
        "p(?a, ?f) :- e(?a, ?b, ?c, _), e(_, ?b, ?c, ?f) .",
        "p(?a, ?f) :- e(?a, ?b, ?c, _), e(_, ?b, ?c, ?f), e(?f, _, ?a, ?c) .",
        "e(?a, ?b, ?c, min(?v)) :- g(?a, ?b, ?c, ?v) .",
    ),
}


def move(memory, text):
    """Give a memory the tables of another program, by the three passes of a migration."""
    plan = lower(checked(text))
    tables = compile_program(plan, memory.numbering, memory.program.terms.id)
    old_table, old_arrays = memory.table.copy(), memory.state.arrays()
    new_table, new_scalars = memory.state.preview(tables)
    top = int(memory.scalars[layout.TOP])
    needed = np.zeros(layout.MAX_RECORD + 1, np.int64)
    relocate.detach(memory.table, new_table, needed)
    units = relocate.lacking(memory.table, needed)
    memory.state.install(tables)
    classes = int(memory.scalars[layout.CLASS_COUNT])
    sizes, effects = np.zeros(classes, np.int64), np.zeros(classes, np.int32)
    relocate.relocate(memory.table, old_table, sizes, effects)

    assert memory.scalars[layout.TOP] <= top + units
    assert relocate.attach(memory.table) == layout.OK
    assert sizes.tolist() == [
        [record.kind for record in memory.records().values()].count(kind) for kind in range(classes)
    ]
    del old_arrays, new_scalars  # kept alive until here: the tables hold their addresses
    return plan


def assert_grouped(memory, plan, model):
    """Facts with transitions are in all arrangements of the program, and candidates in lattices."""
    for number, grouping in memory.groupings("e").items():
        lattice = isinstance(grouping, Lattice)
        used = (
            grouping in plan.lattices
            if lattice
            else any(
                grouping in delta.arrangements for stratum in plan.strata for delta in stratum.plans
            )
        )
        expected = model.multiplicities if lattice else model.transitions
        for key in {tuple(args[at] for at in grouping.key) for _, args in model.facts}:
            members = [f for f in expected if tuple(f[1][at] for at in grouping.key) == key]
            assert sorted(memory.members(number, key)) == (sorted(members) if used else [])


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data(), moves=st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_facts_move_and_stay_the_same(regime, data, moves):
    """Whatever programs a state moves through, multiplicities and transitions stay as they are."""
    texts = PROGRAMS[regime.arity]
    memory, model = Memory(texts[0]), State()
    pool = data.draw(regime.facts())
    for choice, iteration, multiplicity in data.draw(regime.steps()):
        memory.add(pool[choice % len(pool)], iteration, multiplicity)
        model.add(pool[choice % len(pool)], iteration, multiplicity)
    memory.settle(0)
    model.settle_all(memory.program)
    journal.commit(memory.table)
    for choice in [*moves, 0]:
        plan = move(memory, texts[choice % len(texts)])

        assert memory.numbers("multiplicity") == model.multiplicities
        assert memory.numbers("transition") == model.transitions
        assert all(record.flags & layout.MARKED == 0 for record in memory.records().values())
        assert all(memory.find(fact) for fact in model.facts)
        assert_grouped(memory, plan, model)
        memory.assert_no_unit_is_lost()
