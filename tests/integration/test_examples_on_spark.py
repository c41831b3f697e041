"""Each example on both backends: from scratch, and after random epochs.

HYPOTHESIS_PROFILE=thorough runs twenty epochs instead of three. The same input must change the same
facts and trace rows, and lead to the same trace.
"""

from __future__ import annotations

import random

import pytest
from driver import Driver
from examples.test_examples import CASES, SIZES, generated, messages
from spark_backend import MARKS
from thorough import THOROUGH

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.backends.spark.tables import committed

pytestmark = MARKS

EPOCHS = 20 if THOROUGH else 3
RECENT = 400
"""Few, so that the state is in the driver, in the table, or in both."""


def epochs(name):
    """A load of two thirds of the facts, then epochs of random additions and deletions."""
    chosen = random.Random(name)
    text = generated(name, "--json", "--seed", 3, "--size", SIZES.get(name, 24))
    facts = sorted({(name, tuple(map(to_ntriples, args))) for name, args in messages(text)})
    present = set(chosen.sample(facts, len(facts) * 2 // 3))
    yield [(*fact, 1) for fact in sorted(present)]
    for _ in range(EPOCHS):
        some = chosen.sample(facts, min(len(facts), chosen.randint(1, 6)))
        yield [(*fact, -1 if fact in present else 1) for fact in some]
        present.symmetric_difference_update(some)


def outcome(driver, updates):
    """All changes of an epoch."""
    result, trace = driver.apply(updates), {}
    driver.add_trace(result.trace, trace)
    return set(driver.signed(result.derived)), set(driver.signed(result.closure)), trace


@pytest.mark.parametrize("name", CASES)
def test_both_backends_agree(name, spark_store, monkeypatch):
    """The changes of every epoch and the final trace are the same."""
    monkeypatch.setattr(committed, "RECENT", RECENT)
    checked = CASES[name].checked
    columnar, spark = Driver(checked), Driver(checked, store=spark_store())

    for updates in epochs(name):
        assert outcome(spark, updates) == outcome(columnar, updates)

    traces = [driver.trace(driver.predicates) for driver in (columnar, spark)]
    assert traces[0] == traces[1] != {}
