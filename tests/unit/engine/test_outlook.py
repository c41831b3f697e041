"""When hierarchies are encoded: what an epoch is estimated to have, and what it decides."""

from __future__ import annotations

import gc
import threading
import weakref
from itertools import pairwise

import numpy as np
import pytest
from driver import Driver
from hierarchies import every_epoch_decides
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import checked

from streamreasoner.backends.store import columnar
from streamreasoner.engine.inheritance.outlook import Weighed
from streamreasoner.engine.session import Session
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import EngineError
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.hierarchies import with_hierarchies
from streamreasoner.program.load import load_program
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.system import ahead

COPYING = "@input in/2, part/2, bad/1 .\nin(?x, ?s) :- in(?x, ?r), part(?r, ?s) .\n"
RULES = f"{COPYING}risk(?x) :- in(?x, ?s), bad(?s) .\n"
NEVER = 2
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SUBCLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
REGIONS = [f"<r{number}>" for number in range(6)]
CHAIN = [("part", pair, 1) for pair in pairwise(REGIONS)]


def facts():
    """Facts that sensors are in regions, which are parts of others, and some of them bad."""
    region = st.sampled_from(REGIONS)
    return st.lists(
        st.tuples(st.just("part"), st.tuples(region, region))
        | st.tuples(st.just("in"), st.tuples(st.sampled_from(["<x>", "<y>"]), region))
        | st.tuples(st.just("bad"), st.tuples(region)),
        max_size=20,
        unique=True,
    )


def sensors(count):
    """Facts that sensors are in the lowest region."""
    return [("in", (f"<x{number}>", REGIONS[0]), 1) for number in range(count)]


def elsewhere(count):
    """Facts that the sensors are in a region that is part of none, too."""
    return [("in", (f"<x{number}>", REGIONS[-1]), 1) for number in range(count)]


def in_memory(driver):
    """How many facts of sensors the state has."""
    return len(driver.session.engine._backend.facts("in"))  # noqa: SLF001 - copies left out


@settings(max_examples=100)
@given(facts())
def test_the_estimate_is_what_there_is(given):
    """If all entities are read: all facts, and those that are not in memory."""
    updates = [(*fact, 1) for fact in given]
    weighed, encoded = Driver(checked(RULES), encodes=None), Driver(checked(RULES), encodes=True)
    with every_epoch_decides(NEVER):
        weighed.apply(updates)
    encoded.apply(updates)
    found = weighed.session.engine.outlook.estimate
    assume(found is not None)  # there is a schema

    assert not weighed.session.encodes
    assert found.facts == sum(name != "risk" for name, _ in weighed.closure())
    assert found.left_out == in_memory(weighed) - in_memory(encoded)


def test_an_epoch_that_cannot_decide_is_not_weighed():
    """Until it has as many updates as are asserted: reading the schema may sort all triples."""
    driver = Driver(checked(RULES), encodes=None)
    driver.apply(elsewhere(70_000))
    engine, made = driver.session.engine, []
    plan = lower(with_hierarchies(driver.session.program))
    weighed = Weighed(plan, driver.session.dictionary.intern)
    engine.outlook.begin(engine.plan, lambda: made.append(1) or weighed)
    batch = Updates("in", np.zeros((66_000, 2), np.int32), np.ones(66_000, np.int64))
    engine.outlook.note(batch)

    assert not made
    engine.outlook.note(batch)
    assert made


def test_a_load_that_decides_leaves_terms_to_what_reads_its_blocks(monkeypatch):
    """They are added in another thread, in which the dictionary may move meanwhile."""
    intern, reading = Dictionary.intern, threading.Event()

    def in_turn(dictionary, term):
        assert not reading.is_set(), "the dictionary has another user"
        return intern(dictionary, term)

    def blocks():
        reading.set()
        for number in range(20):
            yield from driver.encode([("triple", (f"<x{number}>", TYPE, REGIONS[0]), 1), *edges])
        reading.clear()

    edges = [("triple", (below, SUBCLASS, above), 1) for _, (below, above), _ in CHAIN]
    monkeypatch.setattr(Dictionary, "intern", in_turn)
    monkeypatch.setattr(ahead, "processors", lambda: 2)
    with every_epoch_decides(0):
        driver = Driver(load_program("rho-df"), encodes=None)
        driver.session.load(blocks())

    assert driver.session.encodes


def test_some_entities_stand_for_all():
    """One of 32, whatever their ids: the estimate is near, and has not read them all."""
    driver = Driver(checked(RULES), encodes=None)
    driver.apply([*CHAIN, *sensors(80_000)])
    found = driver.session.engine.outlook.estimate

    assert found.facts == pytest.approx(6 * 80_000, rel=0.1)
    assert found.left_out == pytest.approx(5 * 80_000, rel=0.1)
    assert in_memory(driver) == 80_000
    assert driver.session.encodes


@pytest.mark.parametrize(
    ("first", "then"),
    [
        # Few facts, which are cheap either way.
        (lambda: [*CHAIN, *sensors(1_000)], list),
        # A third would be left out.
        (lambda: [*CHAIN[:1], *sensors(80_000), *elsewhere(80_000)], list),
        # A rule reads the copies.
        (lambda: [("bad", (REGIONS[-1],), 1), *CHAIN, *sensors(80_000)], list),
        # It adds less than there is.
        (lambda: sensors(160_000), lambda: [*CHAIN, *sensors(80_000)]),
    ],
    ids=["few", "shallow", "read", "late"],
)
def test_it_does_not_pay(first, then):
    """What was stored stays as it is."""
    driver = Driver(checked(RULES), encodes=None)
    driver.apply(first())
    driver.apply(then())

    assert not driver.session.encodes


def test_a_large_epoch_decides_although_the_schema_was_there():
    """The edges of epochs before count."""
    driver = Driver(checked(RULES), encodes=None)
    driver.apply(CHAIN)
    driver.apply(sensors(80_000))

    assert driver.session.encodes
    assert in_memory(driver) == 80_000


def test_a_program_that_changes_stays_encoded():
    """Also where a change of it lets rules read what was left out."""
    driver = Driver(checked(COPYING), encodes=None)
    driver.apply([*CHAIN, *sensors(80_000), ("bad", (REGIONS[1],), 1)])
    driver.change(checked(RULES))

    assert driver.session.encodes
    assert in_memory(driver) == 160_000
    assert len(driver.session.engine.facts("in")) == 6 * 80_000
    assert len(driver.session.engine.facts("risk")) == 80_000


def test_an_epoch_that_is_rolled_back_decides_nothing():
    """The next one is weighed anew."""
    rules = f"{RULES}n(?y) :- n(?x), ?y = ?x + 1 .\n@input n/1 .\n"
    driver = Driver(checked(rules), encodes=None)
    one = ("n", ('"1"^^<http://www.w3.org/2001/XMLSchema#integer>',), 1)
    with pytest.raises(EngineError):
        driver.apply([*CHAIN, *sensors(80_000), one])
    assert not driver.session.encodes
    driver.apply([*CHAIN, *sensors(80_000)])

    assert driver.session.encodes


def test_a_session_is_released_at_once():
    """Nothing that decides holds it in a circle, so its memory does not wait for a collection."""
    gc.collect()
    gc.disable()
    try:
        session = Session(checked(RULES), columnar(), encodes=None)
        session.apply(())
        released = weakref.ref(session.engine)
        del session
        assert released() is None
    finally:
        gc.enable()
