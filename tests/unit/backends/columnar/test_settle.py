"""Settling against presence by its definition, iteration by iteration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import State
from unit.backends.columnar.memory import FEW, REGIMES, Memory

from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.settling import settle

# Stratum 1 reads `e`, and only stratum 2 reads `f`.
PROGRAMS = {
    2: "p(?x) :- e(?x, _) .\nq(?x) :- p(?x), f(?x, _), not p(?x) .",
    4: "p(?a) :- e(?a, _, _, _) .\nq(?a) :- p(?a), f(?a, _, _, _), not p(?a) .",
}


def settled(model, program, stratum):
    """Settle a stratum of the model; fact -> {iteration: change}."""
    changes = {}
    for iteration in sorted(model.iterations(program, stratum)):
        for fact, change in model.settle(program, stratum, iteration).items():
            changes.setdefault(fact, {})[iteration] = change
    return changes


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data(), epochs=st.integers(1, 4))
def test_deltas_are_changes_of_presence(regime, data, epochs):
    """Each iteration lists the facts whose presence changes there, and stores it."""
    memory, model = Memory(PROGRAMS[regime.arity]), State()
    pool = data.draw(regime.facts())
    for _ in range(epochs):
        for choice, iteration, multiplicity in data.draw(regime.steps()):
            memory.add(pool[choice % len(pool)], iteration, multiplicity)
            model.add(pool[choice % len(pool)], iteration, multiplicity)

        assert memory.settle(0) == settled(model, memory.program, 0)
        assert memory.numbers("transition") == model.transitions
        assert memory.touched() == {}
        if data.draw(st.booleans()):
            journal.commit(memory.table)


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data(), epochs=st.integers(1, 4))
def test_a_stratum_starts_with_what_became_of_lower_ones(regime, data, epochs):
    """Deltas at iteration 0 are facts that a lower stratum gained or lost, where plans read them.

    A second settlement in the same epoch adds to what the first one changed.
    """
    memory, model = Memory(PROGRAMS[regime.arity]), State()
    pool = [*data.draw(regime.facts()), *data.draw(regime.facts("f"))]
    for _ in range(epochs):
        before = model.copy()
        for _ in range(2):
            for choice, iteration, multiplicity in data.draw(regime.steps()):
                memory.add(pool[choice % len(pool)], iteration, multiplicity)
                model.add(pool[choice % len(pool)], iteration, multiplicity)
            memory.settle(0)
            settled(model, memory.program, 0)
            settle.enter(memory.table, 1)
            assert memory.deltas() == {
                fact: 1 if model.holds(fact) else -1
                for fact in before.present ^ model.present
                if fact[0] == "e"
            }
            settle.clear_deltas(memory.table)
            assert memory.deltas() == {}
        journal.commit(memory.table)
