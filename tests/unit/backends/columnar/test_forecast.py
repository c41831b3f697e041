"""What a forecast counts against the model, and which epochs it gives up."""

from __future__ import annotations

from itertools import pairwise

import pytest
from driver import Driver
from hypothesis import given
from hypothesis import strategies as st
from model import State
from unit.backends.columnar.memory import DENSE, FEW, Memory

from benchmarks.generators import clique, uniform
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.columnar.kernels.epoch import journal
from streamreasoner.backends.columnar.kernels.settling import forecast, settle
from streamreasoner.engine import cost_model
from streamreasoner.engine.ports import UNLIMITED
from streamreasoner.engine.recomputation import Recomputation
from streamreasoner.program.checked import check_text

ALL = 1 << 40
"""More slots than there are."""
SELF_JOIN = """
p(?x, ?y) :- e(?x, ?y) .
p(?x, ?z) :- p(?x, ?y), p(?y, ?z) .
"""
MIXED = """
p(?x, ?y) :- e(?x, ?y) .
p(?x, ?z) :- p(?x, ?y), e(?y, ?w), p(?w, ?z) .
"""
LINEAR = """
p(?x, ?y) :- e(?x, ?y) .
p(?x, ?z) :- p(?x, ?y), e(?y, ?z) .
"""


@FEW
@given(data=st.data(), epochs=st.integers(1, 3))
def test_counts_are_those_of_the_model(data, epochs):
    """Of present facts since an iteration and later ones, and of what an iteration has changed."""
    memory, model = Memory("p(?x) :- e(?x, _) ."), State()
    pool = data.draw(DENSE.facts())
    for _ in range(epochs):
        steps = data.draw(DENSE.steps())
        for choice, iteration, multiplicity in steps:
            memory.add(pool[choice % len(pool)], iteration, multiplicity)
            model.add(pool[choice % len(pool)], iteration, multiplicity)
        settle.enter(memory.table, 0)
        waiting = {iteration for _, iteration, _ in steps}  # though nothing may be left of them
        for at in sorted(waiting | model.iterations(memory.program, 0)):
            changes = model.settle(memory.program, 0, at).values()
            settle.settle(memory.table, memory.values, at)
            assert forecast._changed(memory.table) == (len(changes), -sum(changes))  # noqa: SLF001 - no other door
            since = [
                max(when for when, change in model.transitions[fact].items() if change > 0)
                for fact in model.present
            ]
            later = [when for when in since if when > at]
            counted = forecast._count(memory.table, at, ALL)  # noqa: SLF001 - as above
            assert counted == (len(since), since.count(at) + 1, len(later), sum(later))
            settle.clear_deltas(memory.table)
        journal.commit(memory.table)


def epoch_without(rules, edges, removed, monkeypatch):
    """Load edges, and remove some; returns the result, and what was spent of the budget."""
    monkeypatch.setattr(cost_model, "LEAST", 0)
    spent = []
    recompute = Recomputation.budget

    def budget(self, effort, gained):
        spent.append(recompute(self, effort, gained))
        return spent[-1]

    monkeypatch.setattr(Recomputation, "budget", budget)
    driver = Driver(check_text(rules))
    driver.apply([("e", edge, 1) for edge in edges])
    backend = driver.session.engine._backend  # noqa: SLF001 - nothing else has it
    begin_anew = type(backend).begin_anew

    def noting(self, state):
        spent.append(self.effort().work)
        begin_anew(self, state)

    monkeypatch.setattr(type(backend), "begin_anew", noting)
    result = driver.apply([("e", edge, -1) for edge in removed])
    return result, spent


def names(edges):
    """Edges between terms."""
    return [(f"<x:{source}>", f"<x:{target}>") for source, target in edges.tolist()]


def test_an_epoch_that_spreads_is_given_up_early(monkeypatch):
    """A tenth of the edges has most proofs: what is given up has spent a part of the budget."""
    edges = names(uniform(300, 450))
    result, (first, budget, spent) = epoch_without(SELF_JOIN, edges, edges[::10], monkeypatch)

    assert (first, result.given_up) == (UNLIMITED, True)
    assert spent < budget / 2


def test_an_epoch_that_is_hopeless_at_once_is_given_up_in_iteration_0(monkeypatch):
    """A quarter of the edges takes part in most joins: some of them tell what all would take."""
    derived, derive = [], ColumnarBackend.derive

    def noting(self, iteration):
        derived.append(iteration)
        derive(self, iteration)
        derived.append("done")

    monkeypatch.setattr(ColumnarBackend, "derive", noting)
    edges = names(uniform(300, 450))
    result, (_, budget, spent) = epoch_without(MIXED, edges, edges[::4], monkeypatch)

    assert result.given_up
    assert spent < budget / 64
    given_up = [a for a, b in pairwise(derived) if "done" not in {a, b}]
    assert given_up == [0]


@pytest.mark.parametrize("rules", [SELF_JOIN, MIXED, LINEAR])
def test_an_epoch_that_does_not_spread_is_not_given_up(rules, monkeypatch):
    """A tenth of many small components, with whatever rules."""
    edges = [(f"{a[:-1]}/{i}>", f"{b[:-1]}/{i}>") for i in range(50) for a, b in names(clique(5))]
    result, _ = epoch_without(rules, edges, edges[: len(edges) // 10], monkeypatch)

    assert not result.recomputed


def test_linear_rules_have_the_time_that_evaluating_anew_takes(monkeypatch):
    """A tenth of the edges has half of the proofs, and takes little more work than a load."""
    edges = names(uniform(600, 900))
    result, _ = epoch_without(LINEAR, edges, edges[::10], monkeypatch)

    assert not result.recomputed


def test_linear_rules_are_left_to_their_budget(monkeypatch):
    """They change each fact once or twice, whatever share of them."""
    edges = names(uniform(300, 450))
    result, (_, budget, *spent) = epoch_without(LINEAR, edges, edges[::10], monkeypatch)

    assert not result.given_up or spent[0] > budget
