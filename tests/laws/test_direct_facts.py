"""Facts that are there only as copies along hierarchies: the rules that do not copy lack them."""

from __future__ import annotations

import gc
from functools import partial
from itertools import zip_longest

import pytest
from driver import Driver
from hierarchies import COPYING, PREFIXES, every_epoch_decides, programs, scenarios
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from oracle.core import asserted_part
from oracle.program import derivations
from strategies import checked
from teams import store_elsewhere
from thorough import THOROUGH

from streamreasoner.backends.columnar import read_index
from streamreasoner.backends.store import columnar, divided
from streamreasoner.engine.inheritance import direct, inherited
from streamreasoner.errors import CircularNegationError
from streamreasoner.lang.printer import print_rule

STORES = [columnar, partial(divided, 2), partial(store_elsewhere, 2)]
COPY = {print_rule(rule) for rule in checked("\n".join((PREFIXES, *COPYING))).rules}


@pytest.mark.parametrize("store", STORES, ids=["one", "parts", "elsewhere"])
@settings(
    max_examples=1_000 if THOROUGH else 15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    scenarios(),
    st.lists(programs() | st.none(), max_size=3),
    st.sampled_from([False, True, 0, 0.2, 0.5]),
)
def test_direct_facts_are_those_with_other_derivations(store, scenario, later, encodes):
    """An epoch changes what the counts of derivations say, whatever is stored of hierarchies."""
    gc.collect()  # drivers, which are in circles, hold address space
    if encodes is False or encodes is True:
        check_direct(Driver(scenario.checked, store=store(), encodes=encodes), scenario, later)
    else:
        with every_epoch_decides(encodes):
            check_direct(Driver(scenario.checked, store=store(), encodes=None), scenario, later)


def test_many_are_read_at_once(monkeypatch):
    """As few are: facts, entities, classes and edges."""
    monkeypatch.setattr(direct, "FEW", 0)
    monkeypatch.setattr(inherited, "MANY", 0)
    monkeypatch.setattr(read_index, "SOUGHT_LEAST", 0)
    test_direct_facts_are_those_with_other_derivations(columnar)


def check_direct(driver, scenario, later):
    """The changes of direct facts are the difference of those before and after each epoch."""
    model, program = Driver(scenario.checked, encodes=False), scenario.checked
    before = {True: set(), False: set()}
    for epoch, text in zip_longest(scenario.epochs, later):
        if text is not None:
            former, program = program, checked(text)
            apply = partial(Driver.change, checked=program)
            before = step((model, driver), apply, (former, program), before)
        updates = [update for update in epoch or () if update[0] in program.arities]
        apply = partial(Driver.apply, updates=updates)
        before = step((model, driver), apply, (program, program), before)


def step(drivers, apply, programs, before):
    """Apply an epoch to the model and another, and compare; gives the direct facts after it."""
    (model, driver), (former, program) = drivers, programs
    try:
        apply(model)
    except CircularNegationError:
        reject()  # the facts leave the program without a meaning
    changed = apply(driver).direct(former.copied, program.copied)
    after = direct_of(model, program)
    for derived, part in ((True, changed.derived), (False, changed.closure)):
        expected = dict.fromkeys(after[derived] - before[derived], 1)
        expected |= dict.fromkeys(before[derived] - after[derived], -1)
        own = {fact: sign for fact, sign in expected.items() if fact[0] in driver.own}
        found = [(fact, sign) for fact, sign in driver.signed(part) if fact[0] in driver.own]
        assert len(found) == len(dict(found))
        assert dict(found) == own
    for predicate in driver.own:
        args = driver.session.engine.facts(predicate)
        chosen = args[driver.session.engine.direct(program.copied, predicate, args)]
        assert {*driver.facts(predicate, chosen)} == {
            fact for fact in after[False] if fact[0] == predicate
        }
    return after


def direct_of(model, program):
    """The direct facts, by whether asserted ones are left out."""
    trace, present = model.trace(), model.closure()
    given = {fact for fact, rows in trace.items() if rows.get(0, 0) > 0}
    rules = [rule for rule in program.rules if print_rule(rule) in COPY]
    counts = derivations(rules, present | asserted_part(trace))
    own = {fact for fact in present if sum(trace[fact].values()) > counts.get(fact, 0)}
    return {True: own - given, False: own}
