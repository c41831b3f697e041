"""The order of joins decides what an epoch costs, and nothing else."""

from __future__ import annotations

from random import Random

import pytest
from backend_laws import LAWS, run
from driver import Driver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model import ModelBackend
from oracle import evaluate, total
from strategies import scenarios
from thorough import THOROUGH

from streamreasoner.backends.store import columnar
from streamreasoner.engine.session import Store
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.order import left_deep
from streamreasoner.program import check_text
from streamreasoner.rdf.dictionary import Dictionary

EXAMPLES = settings(
    max_examples=200 if THOROUGH else 4, deadline=None, suppress_health_check=list(HealthCheck)
)
SEEDS = st.integers(0, 2**32)


def shuffle(patch, seed):
    """Order joins at random; negations still wait for their columns."""
    random, cost = Random(seed), left_deep.cost

    def at_random(atom, bound, facts):
        return (cost(atom, bound, facts)[0], *random.sample(range(6), 5))

    patch.setattr(left_deep, "cost", at_random)


@settings(max_examples=1_000 if THOROUGH else 24)
@given(scenarios(), SEEDS, SEEDS)
def test_a_restart_may_join_in_another_order(scenario, first, second):
    """Before and after it the trace is that of the oracle, with all its counts."""
    half = (len(scenario.epochs) + 1) // 2
    with pytest.MonkeyPatch.context() as patch:
        shuffle(patch, first)
        before = Driver(scenario.checked)
        before.run(scenario.epochs[:half])
    with pytest.MonkeyPatch.context() as patch:
        shuffle(patch, second)
        after = Driver(scenario.checked)
        after.inherit(before)
        after.run(scenario.epochs[half:])

    assert before.trace() == evaluate(scenario.checked, total(scenario.epochs[:half]))
    assert after.trace() == evaluate(scenario.checked, total(scenario.epochs))


def in_dicts():
    """A store that keeps its state in dicts."""
    dictionary = Dictionary()
    return Store(dictionary, lambda plan: ModelBackend(plan, dictionary))


@pytest.mark.parametrize("new_store", [columnar, in_dicts])
@pytest.mark.parametrize("law", LAWS if THOROUGH else LAWS[-2:], ids=lambda law: law.__name__)
def test_holds(law, new_store, monkeypatch):
    """A law of the reasoner holds whatever the order is, also through changes of rules."""
    shuffle(monkeypatch, 0)
    run(law, new_store, EXAMPLES, monkeypatch)


def test_orders_are_shuffled(monkeypatch):
    """The laws above see other orders than those that are chosen."""
    program = check_text("h(?x) :- a(?x), b(?x, _), c(?x, _), d(?x, _), e(?x, _) .")
    chosen = lower(program)
    shuffle(monkeypatch, 0)
    assert len({chosen.strata, lower(program).strata, lower(program).strata}) == 3
