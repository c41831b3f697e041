"""What a load logs becomes the facts, counts and winners that deriving them one by one gives.

The log holds a few rows, so it is merged often. Rows of the log, and logs that could not tell the
best values or had no room, are counted.
"""

from __future__ import annotations

import numpy as np
import pytest
from backend_laws import LAWS, run
from driver import Driver, set_recursion_limit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import numbers, programs_of, updates_of
from thorough import THOROUGH

from streamreasoner.backends.columnar import arena, backend
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.engine import cost_model, recomputation
from streamreasoner.engine.session import Store
from streamreasoner.errors import RecursionLimitError
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values.value_columns import Values

BASE = (
    "d(?x, min(?x)) :- e(?x, _) .",
    "m(?x, max(?y)) :- f(?x, ?y) .",
    "k(min(?x), ?y) :- e(?x, ?y) .",
)
MONOTONE = (
    "d(?y, min(?l)) :- d(?x, ?l), e(?x, ?y) .",
    "d(?x, min(?l)) :- d(?y, ?l), e(?x, ?y) .",
    "d(?y, min(?l + ?w)) :- d(?x, ?l), e(?x, ?y), f(?y, ?w) .",
    "d(?x, min(?m)) :- d(?x, ?l), d(?l, ?m) .",
    "d(?x, min(2)) :- d(?y, _), e(?x, ?y) .",
    "d(?y, min(?l)) :- p(?x, ?l), e(?x, ?y) .",
    "p(?x, ?l) :- d(?x, ?l), f(?x, _) .",
    "m(?y, max(?l)) :- m(?x, ?l), f(?x, ?y) .",
    "m(?y, max(?l)) :- m(?x, ?l), d(?x, ?y), e(_, ?y) .",
    "k(min(?l), ?x) :- k(?l, ?y), f(?x, ?y) .",
    "k(min(?l), ?l) :- k(?l, _), p(_, ?l) .",
    "d(?z, min(?l)) :- d(?x, ?l), e(?x, ?y), e(?y, ?z), e(?x, ?z) .",
)
OTHER = (
    "d(?x, min(?l)) :- m(?x, ?l) .",
    "d(?x, min(?y)) :- f(?x, ?y), not g(?x, ?y) .",
    "d(?y, min(?z)) :- d(?x, ?l), g(?l, ?z), e(?x, ?y) .",
    "m(?y, max(3 - ?l)) :- m(?x, ?l), e(?x, ?y), ?x < ?y .",
    "m(?x, max(?y)) :- f(?x, ?y), g(_, _), g(_, _), g(_, _), g(_, _), g(_, _) .",
    "m(?x, max(?l)) :- d(?x, ?l) .",
)
INPUT = "@input e/2, f/2, g/2, d/2, m/2 ."
TERMS = numbers(5)
LOADS = st.lists(updates_of("eeeeeefffgd", TERMS), min_size=2, max_size=2).map(
    lambda lists: [update for each in lists for update in each]
)
LATER = st.lists(updates_of("eefgdm", TERMS), max_size=2)


@pytest.fixture(autouse=True)
def every_load(monkeypatch):
    """Any load is logged, in 15 to 20 rows at a time."""
    monkeypatch.setattr(backend, "LOGGED", 0)
    monkeypatch.setattr(arena, "log_rows", lambda: 20)


def counted(driver):
    """The rows that were merged, those of targets, and logs that ended before their stratum."""
    scalars = driver.session.engine._backend._state.scalars  # noqa: SLF001
    numbers = (layout.LOGGED_ROWS, layout.TARGETED, layout.REPLAYED)
    return tuple(int(scalars[number]) for number in numbers)


@pytest.mark.parametrize("rules", [BASE + MONOTONE, BASE + MONOTONE + OTHER])
def test_the_trace_is_that_of_facts(rules):
    """Also later, when facts of the load are changed, and when all of them are gone."""
    counts = []

    @settings(max_examples=1500 if THOROUGH else 24)
    @given(programs_of(INPUT, rules, min_size=7), LOADS, LATER)
    def law(checked, load, later):
        driver = Driver(checked)
        driver.run([load])
        counts.append(counted(driver))
        accepted = [load]

        assert driver.trace() == evaluate(checked, total(accepted))
        for updates in later:
            driver.run([updates])
            accepted.append(updates)

            assert driver.trace() == evaluate(checked, total(accepted))
        driver.apply([(*fact, -sign) for batch in accepted for *fact, sign in batch])

        assert not driver.trace()
        assert driver.session.engine.statistics().facts == 0

    law()

    rows, targeted, replayed = np.sum(counts, axis=0)
    assert rows > 4 * len(counts)
    assert targeted > len(counts) // 2
    assert replayed > 0


@settings(max_examples=200 if THOROUGH else 15)
@given(programs_of(INPUT, BASE + MONOTONE + OTHER, min_size=7), LOADS, st.integers(0, 3))
def test_a_load_that_fails_leaves_nothing(checked, load, limit):
    """It leaves no fact and no group, and the next load is like the first, also if that fails."""
    driver = Driver(checked, recursion_limit=limit)
    if ends(driver, load):
        driver.apply([(*fact, -sign) for *fact, sign in load])
    else:
        driver.apply([])
    assert driver.session.engine.statistics().facts == 0
    again = Driver(checked)
    set_recursion_limit(driver.session.engine, Driver.recursion_limit)

    has_ended = ends(driver, load)
    assert ends(again, load) == has_ended
    assert driver.trace() == again.trace()
    assert not has_ended or again.trace() == evaluate(checked, total([load]))


def ends(driver, load):
    """Whether a load is evaluated within the recursion limit; one that is not leaves nothing."""
    try:
        driver.apply(load)
    except RecursionLimitError:
        assert driver.session.engine.statistics().facts == 0
        return False
    return True


@pytest.mark.parametrize("law", [*LAWS[:8], LAWS[-1]], ids=lambda law: law.__name__)
def test_holds(law, monkeypatch):
    """A law of the reasoner holds, also where epochs are evaluated anew."""

    def store():
        dictionary = Dictionary()
        values = Values(dictionary)
        return Store(dictionary, lambda plan: ColumnarBackend(plan, dictionary, values))

    monkeypatch.setattr(cost_model, "LEAST", 0)
    monkeypatch.setattr(recomputation, "FEW", 0)
    examples = settings(
        max_examples=500 if THOROUGH else 5,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run(law, store, examples, monkeypatch)
