"""Winners of lattice groups against the best of all candidates, at every iteration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import State
from unit.backends.columnar.memory import FEW, REGIMES, Memory
from unit.backends.columnar.test_settle import settled

from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.records import layout

LATTICES = {
    2: "e(?x, min(?v)) :- f(?x, ?v) .",
    4: "e(?a, ?b, ?c, max(?v)) :- f(?a, ?b, ?c, ?v) .",
}
XSD = "http://www.w3.org/2001/XMLSchema#"
TERMS = (f'"2"^^<{XSD}integer>', "<urn:a>", f'"1.5"^^<{XSD}decimal>')
CHANGES = st.lists(
    st.tuples(st.integers(0, 13), st.integers(1, 4), st.sampled_from((0, 0, 1, 1, 1, 2, -1))),
    max_size=6,
)


@pytest.mark.parametrize("regime", REGIMES.values(), ids=REGIMES)
@FEW
@given(data=st.data(), ends=st.lists(st.booleans(), min_size=4, max_size=10))
def test_only_the_best_is_present(regime, data, ends):
    """Whichever candidates come, go and come back, deltas follow the winner of each iteration.

    A commit keeps the winners, and a rollback restores those before the epoch.
    """
    memory, committed = Memory(LATTICES[regime.arity]), State()
    values = [memory.program.terms.id(term) for term in TERMS]
    keys = [args[:-1] for _, args in data.draw(regime.facts())][:2]
    pool = [("e", (*key, value)) for value in values for key in keys]
    for commits in ends:
        model = committed.copy()
        for choice, iteration, number in data.draw(CHANGES):
            each = pool[choice % len(pool)]
            held = [(fact, at) for fact, entries in model.multiplicities.items() for at in entries]
            if number == 0 and held:
                # What is there is taken away, so that winners are often lost.
                each, iteration = held[choice % len(held)]  # noqa: PLW2901
            change = number - model.multiplicities.get(each, {}).get(iteration, 0)
            memory.add(each, iteration, change)
            model.add(each, iteration, change)
        if commits or data.draw(st.booleans()):
            assert memory.settle(1) == settled(model, memory.program, 1)
            assert memory.numbers("transition") == model.transitions
        if commits:
            journal.commit(memory.table)
            committed = model
        else:
            assert journal.rollback(memory.table, memory.values) == layout.OK
        assert memory.numbers("multiplicity") == committed.multiplicities
        assert memory.numbers("transition") == committed.transitions
        assert_winners(memory, committed)
        memory.assert_no_unit_is_lost()


def test_nothing_is_left_of_a_winner_that_another_replaces():
    """A winner that is gone one iteration later leaves no transition there either."""
    memory, model = Memory(LATTICES[2]), State()
    number, iri = (memory.program.terms.id(term) for term in TERMS[:2])
    for fact, iteration, change in (
        (("e", (1, number)), 1, 1),
        (("e", (1, number)), 2, -1),
        (("e", (1, iri)), 1, 1),
    ):
        memory.add(fact, iteration, change)
        model.add(fact, iteration, change)
        assert memory.settle(1) == settled(model, memory.program, 1)
        assert memory.numbers("transition") == model.transitions
        assert_winners(memory, model)
        journal.commit(memory.table)


def assert_winners(memory, model):
    """The list of winners of each group has a node wherever the winner changes, ascending."""
    ((number, lattice),) = memory.groupings("e").items()
    for key in {tuple(args[at] for at in lattice.key) for _, args in memory.records()}:
        _, group = memory.first(number, key)
        fields = group + (layout.GROUP_KEY + len(key) + 1) // 2
        nodes = [memory.words[2 * at : 2 * at + 3].tolist() for at in memory.winners(fields)]
        actual = [
            (
                node[layout.WINNER_ITERATION],
                memory.fact(node[layout.WINNER_FACT]) if node[layout.WINNER_FACT] else None,
            )
            for node in nodes
        ]
        assert actual == winners(memory.program, model, key)


def winners(program, model, key):
    """The iterations at which a group has another winner than before, with that winner."""
    found, winner = [], None
    for iteration in sorted(model.iterations(program, 1)):
        present = model.winners(program, 1, iteration)
        best = next((fact for fact in present if program.group(fact)[1][1:] == key), None)
        if best != winner:
            found.append((iteration, best))
            winner = best
    return found
