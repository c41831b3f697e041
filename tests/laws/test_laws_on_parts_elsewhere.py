"""The laws on parts in other processes: the same tests, with states that are divided among them."""

from __future__ import annotations

from functools import partial

import pytest
from backend_laws import LAWS, run
from driver import Driver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import scenarios
from teams import store_elsewhere
from thorough import THOROUGH

from streamreasoner.plan.division import may_own

EXAMPLES = settings(
    max_examples=100 if THOROUGH else 4,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
COUNTS = (1, 2, 3, 8) if THOROUGH else (2,)


@pytest.mark.parametrize("parts", COUNTS)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_holds(law, parts, monkeypatch):
    """A law of the reasoner holds with its state in other processes."""
    run(law, partial(store_elsewhere, parts), EXAMPLES, monkeypatch)


@EXAMPLES
@given(scenarios(), st.sampled_from(COUNTS), st.randoms(use_true_random=False))
def test_who_owns_a_fact_is_irrelevant(scenario, parts, random):
    """With owning arguments by chance, rules find each solution once, and heads their owners."""

    def by_chance(plan, _):
        return {name: random.choice((*at, None)) for name, at in may_own(plan).items()}

    driver = Driver(scenario.checked, store=store_elsewhere(parts, choose=by_chance))
    driver.run(scenario.epochs)

    assert driver.trace() == evaluate(scenario.checked, total(scenario.epochs))
