"""The laws where hierarchies are encoded: no trace, fact or change tells."""

from __future__ import annotations

import gc
from contextlib import suppress
from functools import partial
from itertools import zip_longest

import pytest
from backend_laws import LAWS, run
from driver import Driver
from hierarchies import COPYING, PREFIXES, every_epoch_decides, programs, scenarios
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from laws import test_incremental_equals_batch as incremental
from oracle import closure, evaluate, total
from strategies import checked
from teams import store_elsewhere
from thorough import THOROUGH

from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.store import columnar, divided
from streamreasoner.engine.inheritance import climb, guess, inherited, sets
from streamreasoner.errors import CircularNegationError, EngineError
from streamreasoner.explain import Fact, Limits, explain

EXAMPLES = settings(
    max_examples=200 if THOROUGH else 6,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
STORES = [columnar, partial(divided, 2), partial(store_elsewhere, 2)]
NAMES = ["one", "parts", "elsewhere"]
COUNT_WHAT_IS_STORED = {incremental.test_statistics_equal_those_of_the_trace}


@pytest.mark.parametrize(
    "law",
    [law for law in LAWS if law not in COUNT_WHAT_IS_STORED],
    ids=lambda law: law.__name__,
)
def test_holds(law, monkeypatch):
    """A law of the reasoner holds if the copies of facts are not stored."""
    monkeypatch.setattr(Driver, "encodes", True)
    run(law, columnar, EXAMPLES, monkeypatch)


@pytest.mark.parametrize("store", STORES, ids=NAMES)
@settings(EXAMPLES, max_examples=1_000 if THOROUGH else 12)
@given(scenarios(), st.lists(programs() | st.none(), max_size=3), st.randoms())
def test_nothing_tells(store, scenario, later, random):
    """Traces, facts, changes and reads are those of a state that has all copies, and the oracle's.

    Facts and edges come and go, and so do rules, of which some copy, and some read copies.
    """
    gc.collect()  # drivers, which are in circles, hold address space
    check_nothing_tells(
        Driver(scenario.checked, store=store(), encodes=True), scenario, later, random
    )


@pytest.mark.parametrize("store", STORES, ids=NAMES)
@settings(EXAMPLES, max_examples=1_000 if THOROUGH else 12)
@given(
    scenarios(),
    st.lists(programs() | st.none(), max_size=3),
    st.randoms(),
    st.sampled_from([0, 0.2, 0.5]),
)
def test_nothing_tells_when_an_epoch_decides(store, scenario, later, random, part):
    """The first epoch, or one that comes to facts that are there, finds encoding worthwhile."""
    gc.collect()
    with every_epoch_decides(part):
        encoded = Driver(scenario.checked, store=store(), encodes=None)
        check_nothing_tells(encoded, scenario, later, random)


def check_nothing_tells(encoded, scenario, later, random):
    """The same for a driver, in which hierarchies may be encoded."""
    stored = Driver(scenario.checked)
    program, accepted = scenario.checked, []
    for epoch, text in zip_longest(scenario.epochs, later, fillvalue=None):
        if text is not None:
            program = checked(text)
            assert_same_changes(stored, encoded, partial(Driver.change, checked=program))
        updates = [update for update in epoch or () if update[0] in program.arities]
        accepted.append(updates)
        # What is rolled back is not remembered.
        some = random.choice(scenario.epochs)
        rehearsed = encoded.encode(update for update in some if update[0] in program.arities)
        with suppress(EngineError):  # it may have no meaning
            encoded.session.rehearse(rehearsed)
        assert_same_changes(stored, encoded, partial(Driver.apply, updates=updates))
        assert encoded.trace() == stored.trace()
        assert encoded.closure() == stored.closure()
        assert_same_reads(stored, encoded, random)
        for fact in random.sample(sorted(stored.closure()), min(1, len(stored.closure()))):
            assert explained(encoded, fact) == explained(stored, fact)
    if any(program.guarded):
        return  # what the schema decides has an oracle of its own
    own = set(program.arities)
    expected = evaluate(program, total([u for u in each if u[0] in own] for each in accepted))
    assert encoded.trace() == {fact: rows for fact, rows in expected.items() if fact[0] in own}
    assert encoded.closure() == {fact for fact in closure(expected) if fact[0] in own}


def test_a_guess_changes_nothing(monkeypatch):
    """Whatever the schema alone lets an epoch hold from the beginning."""
    monkeypatch.setattr(guess, "LARGE", 0)
    monkeypatch.setattr(guess, "SHARE", 0)
    test_nothing_tells(columnar)


def test_many_entities_climb_as_few(monkeypatch):
    """What many entities have in common is found out once."""
    monkeypatch.setattr(climb, "MANY", 0)
    test_nothing_tells(columnar)


@pytest.mark.parametrize("module", [inherited, sets], ids=["edges", "keys"])
def test_many_classes_are_found_as_few(module, monkeypatch):
    """By all edges, and in the order of keys."""
    monkeypatch.setattr(module, "MANY", 0)
    test_nothing_tells(columnar)


def test_what_is_known_of_edges_may_be_forgotten(monkeypatch):
    """It is read again."""
    monkeypatch.setattr(inherited, "KEPT", 0)
    test_nothing_tells(columnar)


def test_a_large_epoch_is_evaluated_once(monkeypatch):
    """If its schema tells which classes rules read."""
    withdrawn = []
    monkeypatch.setattr(guess, "LARGE", 0)
    monkeypatch.setattr(ColumnarBackend, "rollback", lambda _: withdrawn.append(1))
    text = "@input in/2, part/2, bad/1 .\nrisk(?x) :- in(?x, ?c), bad(?c) .\n"
    encoded = Driver(checked(f"{text}{COPYING[4]}"), encodes=True)
    facts = [("in", (f"<x{n}>", "<c0>"), 1) for n in range(100)]
    encoded.apply([*facts, ("part", ("<c0>", "<c1>"), 1), ("bad", ("<c1>",), 1)])

    assert not withdrawn
    assert ("risk", ("<x99>",)) in encoded.closure()


def test_a_copy_that_is_stored_from_now_on_may_hide_a_change():
    """A derivation goes, and a copy comes into its place: nothing stored changes, but a count."""
    rules = "in(?x, ?c) :- near(?x, ?c) .\nrisk(?x) :- in(?x, ?c), bad(?c) ."
    program = checked("\n".join((PREFIXES, COPYING[4], rules)))
    stored, encoded = Driver(program), Driver(program, encodes=True)
    first = [(name, ("<x>", "<c>"), 1) for name in ("in", "near")]
    for updates in (
        [*first, ("part", ("<c>", "<c>"), 1)],
        [("near", ("<x>", "<c>"), -1), ("bad", ("<c>",), 1)],
    ):
        assert_same_changes(stored, encoded, partial(Driver.apply, updates=updates))


def assert_same_changes(stored, encoded, step):
    """A step of both has the same changes, of the program's predicates."""
    told, results = [], []
    try:
        results.append(step(stored))
    except CircularNegationError:
        reject()  # the facts leave the program without a meaning
    results.append(step(encoded))
    for driver, result in zip((stored, encoded), results, strict=True):
        changes = [dict(driver.signed(part)) for part in (result.closure, result.derived)]
        trace = {}
        driver.add_trace(result.trace, trace)
        own = set(driver.own)
        told.append([{f: n for f, n in each.items() if f[0] in own} for each in (*changes, trace)])
    assert told[0] == told[1]


def assert_same_reads(stored, encoded, random):
    """Facts that are looked up by some of their arguments are the same, as of an iteration."""
    for predicate, args in random.sample(sorted(stored.trace()), min(3, len(stored.trace()))):
        places = [place for place in range(len(args)) if random.random() < 0.5]
        iteration = random.randrange(5)
        assert selected(encoded, predicate, args, places, iteration) == selected(
            stored, predicate, args, places, iteration
        )


def explained(driver, fact):
    """Why a fact holds, as text."""
    session = driver.session
    terms = session.dictionary
    return explain(session.program, session.engine, terms, Fact(*fact), Limits()).text()


def selected(driver, predicate, args, places, iteration):
    """What a driver says of the facts with some of these arguments."""
    intern = driver.session.dictionary.intern
    bound = {place: intern(args[place]) for place in places}
    found = driver.session.engine.select(predicate, bound, iteration)
    columns = (found.stratum, found.since, found.until, found.asserted, found.total)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return dict(zip(driver.facts(predicate, found.args), rows, strict=True))
