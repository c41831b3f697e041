"""Whether an epoch is differentiated or evaluated anew cannot be seen in any result.

All laws of backends hold while epochs are evaluated anew at random: at once, or after some work.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from random import Random
from typing import ClassVar

import pytest
from backend_laws import LAWS, run
from driver import Driver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model import ModelBackend
from strategies import scenarios
from teams import store_elsewhere, store_here
from thorough import THOROUGH

from streamreasoner.backends.columnar import backend, parallel
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.columnar.kernels.epoch import recompute
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.parts.backend import PartsBackend
from streamreasoner.backends.parts.here import PartsHere
from streamreasoner.backends.store import columnar
from streamreasoner.engine import cost_model, recomputation
from streamreasoner.engine.ports import Effort
from streamreasoner.engine.session import Store
from streamreasoner.errors import EnvironmentSetupError, StateFullError
from streamreasoner.program.checked import check_text
from streamreasoner.rdf.dictionary import Dictionary

EXAMPLES = settings(
    max_examples=1_000 if THOROUGH else 5, deadline=None, suppress_health_check=list(HealthCheck)
)


class Deciding:
    """A backend that makes the engine decide at random, and counts what it did."""

    done: ClassVar = Counter()

    def __init__(self, *args):
        super().__init__(*args)
        self._random = Random(52)  # anew in a second epoch, which most examples have

    def effort(self):
        """An effort for which the engine evaluates anew, after little or much work."""
        derivations = self._random.choice((0, 0, 1, 2, 5, 1000))
        return Effort(asserted=1 << 20, derivations=derivations, work=0)

    def recompute(self):
        """Evaluate anew."""
        self.done["recomputed"] += 1
        return super().recompute()


class DecidingColumnar(Deciding, ColumnarBackend):
    """One of kernels."""


class DecidingParts(Deciding, PartsBackend):
    """One of parts."""


class DecidingModel(Deciding, ModelBackend):
    """One of dicts."""


columnar_store = partial(columnar, kind=DecidingColumnar)
parts_store = partial(store_here, 3, kind=DecidingParts)
store_of_processes = partial(store_elsewhere, 2, kind=DecidingParts)


def model_store():
    """A store with a model that decides at random."""
    dictionary = Dictionary()
    return Store(dictionary, lambda plan: DecidingModel(plan, dictionary))


@pytest.fixture(autouse=True)
def budgets(monkeypatch):
    """Any work may be given up."""
    monkeypatch.setattr(cost_model, "LEAST", 0)
    monkeypatch.setattr(cost_model, "LOADS", 0.5)
    monkeypatch.setattr(recomputation, "FEW", 0)
    Deciding.done.clear()


@pytest.fixture
def two_threads(monkeypatch):
    """Chunks of a few rows, in turns with another thread."""
    in_chunks(monkeypatch, 2)


def in_chunks(monkeypatch, rows):
    """Let two threads work in turns, on chunks of some rows."""
    monkeypatch.setattr(backend.ColumnarBackend, "large", 1)
    monkeypatch.setattr(parallel, "CHUNK", rows)
    monkeypatch.setattr(parallel, "LIMIT", 2 * rows)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_holds(law, monkeypatch):
    """A law of the reasoner holds; epochs are evaluated anew."""
    run(law, columnar_store, EXAMPLES, monkeypatch)

    assert Deciding.done["recomputed"] > 0


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("law", LAWS[:3], ids=lambda law: law.__name__)
def test_holds_with_two_threads(law, monkeypatch):
    """The second thread stops with the first one, and begins again with the second state."""
    run(law, columnar_store, EXAMPLES, monkeypatch)

    assert Deciding.done["recomputed"] > 0


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_holds_in_parts(law, monkeypatch):
    """Each part has a second state, whose copies are fetched anew."""
    run(law, parts_store, EXAMPLES, monkeypatch)

    assert Deciding.done["recomputed"] > 0


@pytest.mark.parametrize("law", LAWS[:3], ids=lambda law: law.__name__)
def test_holds_in_parts_in_threads(law, monkeypatch):
    """Parts begin anew, and compare, at the same time."""
    monkeypatch.setattr(PartsHere, "large", 0)
    run(law, parts_store, EXAMPLES, monkeypatch)

    assert Deciding.done["recomputed"] > 0


@pytest.mark.parametrize("law", LAWS[:8], ids=lambda law: law.__name__)
def test_holds_in_parts_in_processes(law, monkeypatch):
    """What parts have sent each other before is forgotten."""
    run(law, store_of_processes, EXAMPLES, monkeypatch)

    assert Deciding.done["recomputed"] > 0


@pytest.mark.parametrize("law", LAWS[:3], ids=lambda law: law.__name__)
def test_holds_on_the_model(law, monkeypatch):
    """What the port says of evaluating anew is enough, whatever the memory is like."""
    run(law, model_store, EXAMPLES, monkeypatch)

    assert Deciding.done["recomputed"] > 0


@pytest.mark.parametrize("new_store", [columnar_store, parts_store])
def test_holds_without_room(new_store, monkeypatch):
    """Without address space for a second state, an epoch begins again in the first one."""
    refused = []

    def refuse(state):
        refused.append(state)
        raise EnvironmentSetupError("No address space.")

    monkeypatch.setattr(backend.ColumnarBackend, "second_state", refuse)
    run(LAWS[0], new_store, EXAMPLES, monkeypatch)

    assert refused


@pytest.mark.parametrize("new_store", [columnar_store, parts_store])
def test_an_epoch_that_changes_the_program_is_differentiated(new_store):
    """Whatever it costs: evaluating anew begins with what the former program has asserted."""
    program = check_text("p(?x) :- q(?x) .")
    driver = Driver(program, store=new_store())
    for number in range(12):
        driver.change(program, [("q", (f"<http://example.org/{number}>",), 1)])

    assert Deciding.done["recomputed"] == 0


@pytest.mark.parametrize("new_store", [columnar_store, parts_store])
@settings(EXAMPLES, max_examples=1_000 if THOROUGH else 12)
@given(scenario=scenarios())
def test_each_epoch_has_the_same_changes(new_store, scenario):
    """Changes of facts and of the trace, and sizes, are those of an engine that differentiates."""
    one, other = Driver(scenario.checked), Driver(scenario.checked, store=new_store())
    for epoch in scenario.epochs:
        found = []
        for driver in (one, other):
            (result,) = driver.run([epoch])
            sums = {}, {}, {}
            driver.add_changes(result.closure, sums[0])
            driver.add_changes(result.derived, sums[1])
            driver.add_trace(result.trace, sums[2])
            size = driver.session.engine.statistics()
            found.append((sums, size.facts, size.present, size.asserted, size.trace_rows))

        assert found[0] == found[1]
        assert one.trace(one.predicates) == other.trace(other.predicates)


MIXED = """
@input e/2 .
p(?x, ?y) :- e(?x, ?y) .
p(?x, ?z) :- p(?x, ?y), e(?y, ?w), p(?w, ?z) .
q(?x, ?n) :- p(?x, ?y), n(?n), ?x != ?y .
"""


@pytest.mark.parametrize("new_store", [columnar, partial(store_here, 3)])
@pytest.mark.parametrize("threads", [1, 2])
@settings(EXAMPLES)
@given(data=st.data())
def test_deltas_that_are_tried_first_are_applied_once(new_store, threads, data):
    """In epochs of many, some are applied before a forecast: it is right, whatever that says."""
    terms = [f"<urn:{i}>" for i in range(40)]
    edge = st.tuples(st.sampled_from(terms), st.sampled_from(terms))
    edges = data.draw(st.lists(edge, min_size=230, max_size=260, unique=True))
    count = data.draw(st.integers(70, 200))
    rows = [("e", each, 1) for each in edges] + [("n", (term,), 1) for term in terms[:3]]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cost_model, "LEAST", data.draw(st.sampled_from((0, 1 << 40))))
        if threads > 1:
            in_chunks(patched, 16)
        checked = check_text(MIXED, "generated.dl")
        driver = Driver(checked, store=new_store())
        driver.apply(rows)
        for sign in (-1, 1):
            driver.apply([(name, args, sign) for name, args, _ in rows[:count]])
            fresh = Driver(checked, store=columnar())
            fresh.apply(rows if sign > 0 else rows[count:])
            assert driver.trace() == fresh.trace()


def test_an_epoch_that_fails_in_the_second_state_leaves_the_first(monkeypatch):
    """Its changes cannot be told, say; what was there before still is, and epochs go on."""
    rules = "@input e/2 . p(?x, ?y) :- e(?x, ?y) . p(?x, ?z) :- p(?x, ?y), p(?y, ?z) ."
    driver = Driver(check_text(rules, "generated.dl"), store=columnar_store())
    edges = [("e", (f"<urn:{i}>", f"<urn:{i + 1}>"), 1) for i in range(5)]
    driver.apply(edges)
    before = driver.trace()
    monkeypatch.setattr(cost_model, "LOADS", -1.0)  # all is given up
    monkeypatch.setattr(recompute, "compare", lambda *_: layout.FULL)
    with pytest.raises(StateFullError):
        driver.apply([(*edges[2][:2], -1)])
    assert driver.trace() == before
    monkeypatch.undo()
    driver.epoch += 1
    driver.apply([(*edges[2][:2], -1)])
    driver.apply([edges[2]])

    assert Deciding.done["recomputed"] > 0
    assert driver.trace() == before


def test_an_epoch_whose_changes_are_not_read_ends_like_others():
    """Its commit counts what the epoch has changed, and the next one begins where it ended."""
    checked = check_text(
        "@input e/2 . p(?x, ?y) :- e(?x, ?y) . q(?x) :- p(?x, _) .", "generated.dl"
    )
    one, other = Driver(checked), Driver(checked, store=columnar_store())
    edges = [("e", (f"<urn:{i}>", f"<urn:{i % 3}>"), 1) for i in range(9)]
    for epoch in (edges, [(*edge[:2], -1) for edge in edges[1:]], edges[4:6]):
        sizes = []
        for driver in (one, other):
            driver.apply(epoch, report=False)
            size = driver.session.engine.statistics()
            sizes.append((size.facts, size.present, size.asserted, size.trace_rows))
        assert sizes[0] == sizes[1]
        assert one.trace() == other.trace()

    assert Deciding.done["recomputed"] > 0
