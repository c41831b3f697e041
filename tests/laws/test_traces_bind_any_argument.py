"""The rows of facts with some terms are those of the whole trace, whenever they are asked for.

In one store and in parts, within an epoch and at its end, before a commit and after a rollback, in
states that were differentiated and in those that were evaluated anew, whatever the program.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from random import Random
from typing import ClassVar

import numpy as np
import pytest
from driver import Driver
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from laws.test_rules_change import part
from oracle import evaluate, total
from oracle.arithmetic import numeral
from strategies import HEADER, scenarios
from teams import store_elsewhere, store_here
from thorough import THOROUGH

from streamreasoner.backends.columnar import read_index
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.parts.backend import PartsBackend
from streamreasoner.backends.parts.here import PartsHere
from streamreasoner.backends.store import columnar
from streamreasoner.engine import cost_model, recomputation
from streamreasoner.engine.ports import Effort
from streamreasoner.errors import EngineError, RecursionLimitError
from streamreasoner.program import check_text

EXAMPLES = settings(
    max_examples=500 if THOROUGH else 8, deadline=None, suppress_health_check=list(HealthCheck)
)
IN_TURNS, IN_THREADS = 1 << 62, 0


class Read:
    """A backend that is read while an epoch is evaluated, and before it is committed.

    By chance, epochs are evaluated anew: at once, or after some work.

    Attributes:
        at_end: Reads it before a commit.
        done: How many epochs were committed, and evaluated anew.
    """

    done: ClassVar = Counter()

    def __init__(self, plan, *args):
        super().__init__(plan, *args)
        self._arities, self._random = plan.arities, Random(0)
        self.at_end = lambda: None

    def effort(self):
        """One for which the engine differentiates, or evaluates anew."""
        derivations = self._random.choice((None, None, 0, 5))
        return None if derivations is None else Effort(1 << 20, derivations, work=0)

    def recompute(self):
        """Evaluate anew."""
        self.done["anew"] += 1
        return super().recompute()

    def migrate(self, change):
        """Read what both programs have."""
        known = change.after.arities
        self._arities = {name: known[name] for name in self._arities if name in known}
        super().migrate(change)

    def enter(self, stratum):
        """Arguments are sorted when some facts are still to come."""
        super().enter(stratum)
        for predicate, arity in self._arities.items():
            if arity > 1:
                self.present(predicate, {0: 1})

    def commit(self):
        """Read what the epoch has made."""
        self.done["committed"] += 1
        self.at_end()
        super().commit()


class ReadColumnar(Read, ColumnarBackend):
    """One of kernels."""


class ReadParts(Read, PartsBackend):
    """One of parts."""


one_store = partial(columnar, kind=ReadColumnar)
parts_store = partial(store_here, 3, kind=ReadParts)
store_of_processes = partial(store_elsewhere, 2, kind=ReadParts)


@pytest.fixture(autouse=True)
def budgets(monkeypatch):
    """Any work may be given up, and all facts looked through for more than two ids."""
    monkeypatch.setattr(read_index, "SOUGHT_LEAST", 2)
    monkeypatch.setattr(cost_model, "LEAST", 0)
    monkeypatch.setattr(recomputation, "FEW", 0)
    Read.done.clear()


STORES = pytest.mark.parametrize(
    ("new_store", "large"),
    [
        (one_store, IN_TURNS),
        (parts_store, IN_TURNS),
        (parts_store, IN_THREADS),
        (store_of_processes, IN_TURNS),
    ],
    ids=["one store", "parts in turns", "parts in threads", "parts in processes"],
)


@STORES
def test_rows_with_some_terms_are_those_of_the_oracle(new_store, large, monkeypatch):
    """Each epoch is rehearsed, and then applied."""
    monkeypatch.setattr(PartsHere, "large", large)
    follow_epochs(new_store)

    assert 0 < Read.done["anew"] < 2 * Read.done["committed"]  # each has a rehearsal


@EXAMPLES
@given(scenarios(), st.randoms(use_true_random=False))
def follow_epochs(new_store, scenario, random):
    """At the end of each epoch and after it, the rows are those of the input so far."""
    driver, accepted = Driver(scenario.checked, store=new_store()), []
    check = partial(assert_rows, driver, random, driver.own)
    for epoch in scenario.epochs:
        before = driver.trace()

        def at_end(updates=(*accepted, epoch)):
            check(evaluate(scenario.checked, total(updates)))

        try:
            driver.session.rehearse(driver.encode(epoch), read=at_end)
        except RecursionLimitError:
            reject()
        if random.random() < 0.5:
            check(before)
        backend_of(driver).at_end = at_end
        driver.run([epoch])
        accepted.append(epoch)
        check(evaluate(scenario.checked, total(accepted)))


@STORES
def test_rows_with_some_terms_follow_the_program(new_store, large, monkeypatch):
    """At the end of an epoch that changes it, they are those of the whole trace after it."""
    monkeypatch.setattr(PartsHere, "large", large)
    follow_programs(new_store)


@EXAMPLES
@given(
    scenarios(),
    st.lists(st.integers(0, 255), min_size=2, max_size=4),
    st.randoms(use_true_random=False),
)
def follow_programs(new_store, scenario, choices, random):
    """Each change of the program is rehearsed, and then made."""
    assume(scenario.program.startswith(HEADER))
    programs = [program for choice in choices if (program := part(scenario.program, choice))]
    assume(programs)
    driver = Driver(programs[0], store=new_store())
    for program, epoch in zip(programs, [*scenario.epochs, *([] for _ in programs)], strict=False):
        updates = [update for update in epoch if update[0] in program.arities]
        own, found = [*program.arities], []

        def at_end(own=own, found=found):
            found.append(driver.trace(own))
            assert_rows(driver, random, own, found[-1])

        backend_of(driver).at_end = at_end
        try:
            driver.session.rehearse(driver.encode(updates), program, read=at_end)
            driver.change(program, updates)
        except EngineError:
            continue
        assert found == [driver.trace(own)] * 2


def backend_of(driver):
    """The backend of a driver."""
    return driver.session.engine._backend  # noqa: SLF001 - nothing else reaches it


def assert_rows(driver, random, predicates, expected):
    """A trace of some facts has the rows of those with the terms asked for, and no others."""
    for predicate in predicates:
        facts = sorted(fact for fact in expected if fact[0] == predicate)
        for _ in range(3 if facts else 0):
            _, args = random.choice(facts)
            find, places = driver.session.dictionary.find, range(len(args))
            known = {at: {args[at]} for at in places if random.random() < 0.5}
            for at in [*known]:
                if random.random() < 0.5:
                    known[at] |= {other[at] for _, other in random.sample(facts, len(facts) // 2)}
            bound = {
                at: np.array([*map(find, terms)], np.int32)
                if len(terms) > 1 or random.random() < 0.5
                else find(*terms)
                for at, terms in known.items()
            }

            assert driver.trace([predicate], bound) == {
                fact: expected[fact]
                for fact in facts
                if all(fact[1][at] in terms for at, terms in known.items())
            }


@pytest.mark.parametrize("new_store", [one_store, parts_store, store_of_processes])
def test_absent_facts_have_their_rows(new_store):
    """Candidates that lose, and facts that were taken back more often than asserted."""
    driver = Driver(check_text("@input e/2 . best(?x, min(?y)) :- e(?x, ?y) ."), store=new_store())
    one, two, three = map(numeral, (1, 2, 3))
    driver.apply([("e", (one, two), 1), ("e", (one, three), 1), ("e", (two, one), -2)])
    ids = {term: driver.session.dictionary.find(term) for term in (one, two, three)}

    assert driver.trace(bound={0: ids[one]}) == {
        ("e", (one, two)): {0: 1},
        ("e", (one, three)): {0: 1},
        ("best", (one, two)): {1: 1},
        ("best", (one, three)): {1: 1},
    }
    assert driver.closure(["best"]) == {("best", (one, two))}
    assert driver.trace(bound={0: ids[two]}) == {("e", (two, one)): {0: -2}}
    assert driver.trace(bound={0: ids[two], 1: ids[one]}) == {("e", (two, one)): {0: -2}}
    assert driver.trace(bound={0: ids[three]}) == {}
