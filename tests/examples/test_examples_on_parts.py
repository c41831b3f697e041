"""Each example on one store and on parts elsewhere: from scratch, and after random epochs.

HYPOTHESIS_PROFILE=thorough runs twenty epochs instead of three. The same input must change the same
facts and trace rows, and lead to the same trace.
"""

from __future__ import annotations

import random

import pytest
from driver import Driver
from examples.test_examples import CASES, SIZES, generated, messages
from teams import store_elsewhere
from thorough import THOROUGH

from streamreasoner.api.nodes import to_ntriples

EPOCHS = 20 if THOROUGH else 3


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
def test_parts_agree(name):
    """The changes of every epoch and the final trace are the same."""
    checked = CASES[name].checked
    one, parts = Driver(checked), Driver(checked, store=store_elsewhere(3))

    for updates in epochs(name):
        assert outcome(parts, updates) == outcome(one, updates)

    traces = [driver.trace(driver.predicates) for driver in (one, parts)]
    assert traces[0] == traces[1] != {}
