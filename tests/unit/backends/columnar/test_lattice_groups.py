"""Parts of settling a lattice: what is offered, what is cleared, and what a restart derives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import State
from unit.backends.columnar.memory import FEW, REGIMES, Memory
from unit.backends.columnar.test_lattice import LATTICES, TERMS, assert_winners

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.settling import lattice

ADDITIONS = st.lists(
    st.tuples(st.integers(0, 13), st.integers(1, 4), st.sampled_from((1, 1, 2, -1, -2))),
    min_size=1,
    max_size=14,
)


def populated(regime, data):
    """A memory of candidates of at most two groups, and a model that holds the same."""
    memory, model = Memory(LATTICES[regime.arity]), State()
    values = [memory.program.terms.id(term) for term in TERMS]
    keys = [args[:-1] for _, args in data.draw(regime.facts())][:2]
    pool = [("e", (*key, value)) for value in values for key in keys]
    for choice, iteration, number in data.draw(ADDITIONS):
        memory.add(pool[choice % len(pool)], iteration, number)
        model.add(pool[choice % len(pool)], iteration, number)
    return memory, model


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data())
def test_multiplicities_alone_give_winners_and_transitions(regime, data):
    """A restored group has those that settling gives it, and no candidate stays marked."""
    memory, model = populated(regime, data)
    model.settle_all(memory.program)
    facts = data.draw(st.permutations(sorted(memory.records())))
    for fact in facts:
        assert lattice.restore_group(memory.table, memory.values, memory.find(fact)) == layout.OK
    for fact in facts:
        lattice.unmark_group(memory.table, memory.find(fact))

    assert memory.numbers("transition") == model.transitions
    assert memory.numbers("multiplicity") == model.multiplicities
    assert not any(record.flags & layout.MARKED for record in memory.records().values())
    assert_winners(memory, model)


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data(), iteration=st.integers(1, 4))
def test_the_best_present_candidate_represents_its_group(regime, data, iteration):
    """In whatever order candidates are offered; if all are absent, one of them does, negated."""
    memory, model = populated(regime, data)
    ((number, kind),) = memory.groupings("e").items()
    groups = {}
    for fact in data.draw(st.permutations(sorted(memory.records()))):
        lattice.offer(memory.table, memory.values, memory.find(fact), iteration)
        groups.setdefault(tuple(fact[1][at] for at in kind.key), []).append(fact)
    fields = {
        key: memory.first(number, key)[1] + (layout.GROUP_KEY + len(key) + 1) // 2 for key in groups
    }
    for key, candidates in groups.items():
        best = int(memory.state.units[fields[key] + layout.LATTICE_BEST])
        present = [fact for fact in candidates if model.total(fact, iteration) > 0]
        if present:
            assert memory.fact(best) == memory.program.best(kind, present)
        else:
            assert memory.fact(-best) in candidates
    assert _unsettled(memory) == sorted(fields.values())
    lattice.clear_unsettled_groups(memory.table)

    assert _unsettled(memory) == []
    for at in fields.values():
        assert memory.state.units[at + layout.LATTICE_BEST] == 0
        assert memory.state.units[at + layout.LATTICE_NEXT] == 0


def _unsettled(memory):
    """The groups on the list of groups to settle, each once."""
    found, at = [], int(memory.scalars[layout.UNSETTLED_GROUP])
    while at != -1:
        found.append(at)
        at = int(memory.state.units[at + layout.LATTICE_NEXT])
    return sorted(found)
