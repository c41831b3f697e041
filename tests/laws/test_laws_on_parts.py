"""The laws on parts: the same tests and the same engine, with states that are divided.

Each part owns facts and copies others, whatever the program is; no trace, count or change tells.
"""

from __future__ import annotations

import gc
from functools import partial

import pytest
from backend_laws import LAWS, run
from driver import Driver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import scenarios
from thorough import THOROUGH

from streamreasoner.backends.parts.here import PartsHere
from streamreasoner.backends.store import divided, parts_backend
from streamreasoner.engine.session import Store
from streamreasoner.plan.division import may_own
from streamreasoner.rdf.dictionary import Dictionary

EXAMPLES = settings(
    max_examples=200 if THOROUGH else 6,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
COUNTS = (1, 2, 3, 8) if THOROUGH else (3,)
IN_TURNS, IN_THREADS = 1 << 62, 0
"""Of how many rows steps are large: none, or all."""


def empty_store(parts):
    """A divided store, which needs the address space that drivers of earlier examples hold."""
    gc.collect()  # they are in circles
    return divided(parts)


@pytest.mark.parametrize("large", [IN_TURNS, IN_THREADS], ids=["turns", "threads"])
@pytest.mark.parametrize("parts", COUNTS)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_holds(law, parts, large, monkeypatch):
    """A law of the reasoner holds with its state in parts."""
    monkeypatch.setattr(PartsHere, "large", large)
    run(law, partial(empty_store, parts), EXAMPLES, monkeypatch)


@EXAMPLES
@given(scenarios(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_who_owns_a_fact_is_irrelevant(scenario, parts, random):
    """With owning arguments by chance, rules find each solution once, and heads their owners."""

    def by_chance(plan, _):
        return {name: random.choice((*at, None)) for name, at in may_own(plan).items()}

    def backend(plan):
        return parts_backend(plan, dictionary, parts, choose=by_chance)

    gc.collect()
    dictionary = Dictionary()
    driver = Driver(scenario.checked, store=Store(dictionary, backend))
    driver.run(scenario.epochs)

    assert driver.trace() == evaluate(scenario.checked, total(scenario.epochs))


@EXAMPLES
@given(scenarios(), st.integers(1, 4))
def test_every_count_is_that_of_one_store(scenario, parts):
    """Parts hold as many facts of every kind, and change the same."""
    one, other = Driver(scenario.checked), Driver(scenario.checked, store=empty_store(parts))
    for epoch in scenario.epochs:
        (expected,), (result,) = one.run([epoch]), other.run([epoch])
        for changes in ("derived", "closure"):
            assert sorted(other.signed(getattr(result, changes))) == sorted(
                one.signed(getattr(expected, changes))
            )
    assert counts(other) == counts(one)


def counts(driver):
    """How many facts a driver's state has, by kind."""
    found = driver.session.engine.statistics()
    return found.facts, found.present, found.asserted, found.below_zero, found.trace_rows
