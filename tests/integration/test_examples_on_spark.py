"""Each example on both backends: from scratch, and after random epochs.

With HYPOTHESIS_PROFILE=thorough they are twenty.
The same input must change the same facts and rows of the trace, and lead to the same trace.
"""

from __future__ import annotations

import random

import pytest
from driver import Driver
from examples.test_examples import CASES, SIZES, generated, messages
from spark_backend import MARKS, THOROUGH

from streamreasoner.backends.spark import state
from streamreasoner.rdf.nodes import to_ntriples

pytestmark = MARKS

EPOCHS = 20 if THOROUGH else 5
RECENT = 400
"""So few that the state is in the driver, in the table and in both."""


def epochs(name):
    """A load of most facts that the generator has, and epochs of random additions and deletions."""
    chosen = random.Random(name)
    text = generated(name, "--json", "--seed", 3, "--size", SIZES.get(name, 24))
    facts = sorted({(one, tuple(map(to_ntriples, args))) for one, args in messages(text)})
    present = set(chosen.sample(facts, len(facts) * 2 // 3))
    yield [(*fact, 1) for fact in sorted(present)]
    for _ in range(EPOCHS):
        some = chosen.sample(facts, min(len(facts), chosen.randint(1, 6)))
        yield [(*fact, -1 if fact in present else 1) for fact in some]
        present.symmetric_difference_update(some)


def outcome(driver, updates):
    """All that an epoch has changed."""
    result, trace = driver.apply(updates), {}
    driver.add_trace(result.trace, trace)
    return set(driver.signed(result.derived)), set(driver.signed(result.closure)), trace


@pytest.mark.parametrize("name", CASES)
def test_both_backends_agree(name, spark_store, monkeypatch):
    """After the load and every epoch the changes are the same, and in the end the trace."""
    monkeypatch.setattr(state, "RECENT", RECENT)
    checked = CASES[name].checked
    columnar, spark = Driver(checked), Driver(checked, store=spark_store())

    for updates in epochs(name):
        assert outcome(spark, updates) == outcome(columnar, updates)

    traces = [driver.trace(driver.predicates) for driver in (columnar, spark)]
    assert traces[0] == traces[1] != {}
