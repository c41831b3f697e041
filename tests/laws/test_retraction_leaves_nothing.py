"""Retraction is exact: it removes asserted facts and all their consequences."""

from __future__ import annotations

from driver import Driver
from hypothesis import given
from hypothesis import strategies as st
from oracle import evaluate
from strategies import scenarios


@given(scenarios(), st.randoms(use_true_random=False))
def test_retracting_everything_leaves_the_program_alone(scenario, random):
    """Retracting every update, in any order, leaves only consequences of stated facts.

    Without stated facts, and without a schema that decides an order, the state is empty.
    """
    driver = Driver(scenario.checked)
    updates = [update for epoch in scenario.epochs for update in epoch]
    driver.run(scenario.epochs)
    driver.run(
        [(predicate, args, -multiplicity)]
        for predicate, args, multiplicity in random.sample(updates, len(updates))
    )
    statistics = driver.session.engine.statistics()

    assert driver.trace() == evaluate(scenario.checked, {})
    if not scenario.checked.facts and not any(scenario.checked.guarded):
        assert (statistics.facts, statistics.trace_rows, statistics.present) == (0, 0, 0)


@given(scenarios())
def test_an_update_and_its_negation_cancel(scenario):
    """An epoch whose updates cancel changes nothing and reports no changes."""
    driver = Driver(scenario.checked)
    driver.run(scenario.epochs)
    before = driver.trace(driver.predicates)
    updates = [update for epoch in scenario.epochs for update in epoch]
    inverse = [(predicate, args, -multiplicity) for predicate, args, multiplicity in updates]
    (result,) = driver.run([updates + inverse])

    assert (result.closure, result.derived, result.trace) == ((), (), ())
    assert driver.trace(driver.predicates) == before
