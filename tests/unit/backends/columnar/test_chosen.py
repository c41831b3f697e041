"""The list of a group's best values, of any length, against sorting all values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import State
from unit.backends.columnar.memory import FEW, Memory

from streamreasoner.backends.columnar.compiler import reductions
from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.records import layout

MOST = 200
RANGES = st.tuples(
    st.integers(0, MOST), st.integers(1, 60), st.integers(1, 7), st.integers(0, 1)
).map(lambda drawn: (range(drawn[0], min(drawn[0] + drawn[1], MOST), drawn[2]), drawn[3]))
"""Values, not necessarily next to each other, that a group has from now on, or has no more."""


@pytest.mark.parametrize("function", ["lowest", "highest"])
@pytest.mark.parametrize("spare", [0, 3, 40])
@FEW
@given(
    shown=st.sampled_from((1, 2, 16, 50)),
    epochs=st.lists(st.tuples(st.lists(RANGES, max_size=5), st.booleans()), max_size=6),
)
def test_the_best_values_are_shown(function, spare, shown, epochs):
    """Chunks are divided, emptied and dropped; a rollback shows what was shown before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reductions, "SPARE", spare)
        memory = Memory(f"r({function}(?v, {shown})) :- e(?v) .")
    (reduction,) = memory.program.plan.reductions
    ids = [memory.program.terms.id(f'"{n:03}"') for n in range(MOST)]
    committed = State()
    for ranges, commits in epochs:
        model = committed.copy()
        for numbers, present in ranges:
            for number in numbers:
                fact = reduction.candidates, (ids[number],)
                change = present - model.total(fact)
                if change:
                    memory.add(fact, 1, change)
                    model.add(fact, 1, change)
        for stratum in range(len(memory.program.plan.strata) + 1):
            memory.settle(stratum, derives=True)

        assert results(memory) == best(function, shown, ids, model)
        if commits:
            journal.commit(memory.table)
            committed = model
        else:
            assert journal.rollback(memory.table, memory.values) == layout.OK
            assert results(memory) == best(function, shown, ids, committed)
        memory.assert_no_unit_is_lost()


def results(memory):
    """The ids of the values that are shown."""
    found = memory.numbers("multiplicity").items()
    assert all(each == {1: 1} for fact, each in found if fact[0] == "r")
    return {args[0] for (predicate, args), _ in found if predicate == "r"}


def best(function, shown, ids, model):
    """The same, by sorting; the ids are in the order of their terms."""
    present = {args[0] for (_, args) in model.multiplicities}
    ordered = [each for each in ids if each in present]
    return set(ordered[:shown] if function == "lowest" else ordered[::-1][:shown])
