"""Program changes on Spark agree with the oracle and the columnar backend."""

from __future__ import annotations

import pytest
from driver import Driver
from oracle import closure, evaluate, total
from spark_backend import BUCKETS, MARKS, stores
from thorough import THOROUGH

from streamreasoner.backends.spark.backend import SparkBackend
from streamreasoner.backends.spark.queries import spark_rows
from streamreasoner.backends.spark.tables import writing
from streamreasoner.backends.spark.tables.distributed_dictionary import DistributedDictionary
from streamreasoner.engine.session import Store
from streamreasoner.errors import RecursionLimitError, StateError
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program import check_text

pytestmark = MARKS

PATH = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"
# A stratum in between, so that numbers of strata and iterations change.
FAR = "far(?x, ?y) :- path(?x, ?y), not edge(?x, ?y) .\nlone(?x) :- far(?x, ?x), not far(?x, _) .\n"
LINKS = "edge(?x, ?y) :- link(?x, ?y), not closed(?x) .\n"
DEGREE = "degree(?x, count(?y)) :- edge(?x, ?y) .\n"
LEAST = "near(?x, min(?y)) :- path(?x, ?y) .\nbest(?y) :- near(_, ?y) .\n"
MOST = LEAST.replace("min", "max")
ALL = LEAST.replace("min(?y)", "?y")
WIDE = "square(?x, ?y, ?z, ?u) :- edge(?x, ?y), edge(?y, ?z), edge(?z, ?u), edge(?u, ?x) .\n"
BACK = "edge(?y, ?x) :- path(?x, ?y) .\n"
ENDLESS = "number(0) .\nnumber(?n) :- number(?m), ?n = ?m + 1 .\n"


def pairs(name, text, sign=1):
    """Updates of a predicate: of <a:x>, <a:y> for each word xy."""
    return [(name, tuple(f"<a:{letter}>" for letter in word), sign) for word in text.split()]


# A program and updates for each epoch.
HISTORY = (
    (PATH, pairs("edge", "ab bc ca cd")),
    (PATH + FAR + DEGREE, [*pairs("edge", "de"), *pairs("edge", "ca", -1)]),
    (PATH + FAR + LEAST, pairs("edge", "ca da")),
    (LINKS + PATH + FAR + MOST + WIDE, [*pairs("link", "ef ab"), *pairs("closed", "a")]),
    (PATH + BACK + ALL + DEGREE, pairs("edge", "da", -1)),
    (DEGREE + LEAST, pairs("path", "ab ac ba", 2)),
)


@pytest.fixture(scope="module")
def started(spark, tmp_path_factory):
    """A session, and a directory for its states."""
    return spark, tmp_path_factory.mktemp("states")


def step(driver, checked, updates):
    """A program and updates, as one epoch; all changes of it as sets."""
    result = driver.change(checked, updates)
    return (
        set(driver.signed(result.derived)),
        set(driver.signed(result.closure)),
        {
            (fact, iteration, multiplicity)
            for part in result.trace
            for fact, iteration, multiplicity in zip(
                driver.facts(part.predicate, part.args),
                part.iteration.tolist(),
                part.multiplicity.tolist(),
                strict=True,
            )
        },
    )


def state(driver):
    """Trace and size, hidden predicates and those of programs before too."""
    size = driver.session.engine.statistics()
    names = ("facts", "present", "asserted", "below_zero", "trace_rows")
    return driver.trace(driver.predicates), [getattr(size, name) for name in names]


def assert_from_scratch(driver, checked, updates):
    """Trace and closure are those of a program evaluated from scratch."""
    own = set(checked.arities)
    expected = evaluate(checked, total([[update for update in updates if update[0] in own]]))
    assert driver.trace() == expected
    assert driver.closure() == closure(expected)


def test_the_state_is_that_of_the_rules_there_are(started):
    """Rules, strata, lattices, aggregates and columns change, together with updates."""
    history = HISTORY if THOROUGH else (HISTORY[0], HISTORY[3], HISTORY[-1])
    first = check_text(history[0][0])
    driver, other = Driver(first, 20, store=stores(*started)()), Driver(first, 20)
    sent = []
    for rules, updates in history:
        checked = check_text(rules)
        sent += updates
        assert step(driver, checked, updates) == step(other, checked, updates)
        if THOROUGH or rules is history[-1][0]:
            assert_from_scratch(driver, checked, sent)
            assert state(driver) == state(other)
        # Only the write of a program change turns this check of Delta off.
        assert started[0].conf.get(writing.ONLY_REPLACED, "true") == "true"


@pytest.mark.skipif(not THOROUGH, reason="takes minutes; part of `make test-thorough`")
def test_many_rows_are_as_few(started, monkeypatch):
    """Rules are evaluated on all facts in files when relations may be large."""
    before, after = map(check_text, (LEAST + DEGREE, MOST + FAR))
    driver = Driver(before, store=stores(started[0], started[1] / "many")())
    sent = [*pairs("edge", "ab"), *pairs("path", "ab ac")]
    driver.apply(sent)
    monkeypatch.setattr(spark_rows, "MAX_DRIVER_ROWS", 0)
    driver.change(after)
    assert_from_scratch(driver, after, sent)


def test_a_change_that_fails_is_undone(started):
    """The earlier program continues with its own rules, arrangements and columns."""
    before, after = check_text(PATH), check_text(PATH + FAR + WIDE + LEAST + ENDLESS)
    driver = Driver(before, 9, store=stores(started[0], started[1] / "undone")())
    sent = pairs("edge", "ab bc")
    driver.apply(sent)
    with pytest.raises(RecursionLimitError):
        step(driver, after, pairs("edge", "ca"))
    more = pairs("edge", "cd")
    driver.apply(more)
    assert_from_scratch(driver, before, sent + more)


def test_a_restart_goes_on_with_the_state(started, tmp_path):
    """It also continues if the trace lacks the epoch of a change, which is then replayed."""
    spark, directory = started
    nowhere = tmp_path / "no trace is read"
    programs = check_text(PATH + LEAST), check_text(PATH + WIDE + DEGREE)

    place = f"file:{directory}/restarted"
    terms = DistributedDictionary(spark, f"{place}/terms")

    def start(checked, epoch, **earlier):
        def backend(plan):
            backend = SparkBackend(spark, place, plan, terms, BUCKETS)
            backend.resume(nowhere, epoch)
            return backend

        driver = Driver(checked, store=Store(terms, backend), **earlier)
        driver.session.engine.restore((), epoch)
        driver.epoch = epoch
        return driver

    first, second = pairs("edge", "ab bc cd"), pairs("edge", "da")
    driver = start(programs[0], 0)
    driver.apply(first)
    driver.change(programs[1], second)
    driver = start(programs[0], 1)
    assert_from_scratch(driver, programs[0], first)
    driver.change(programs[1], second)
    assert_from_scratch(driver, programs[1], first + second)
    known = lower(programs[0]).arities
    driver = start(programs[1], 2, known=known)
    assert_from_scratch(driver, programs[1], first + second)
    driver = start(programs[0], 1)
    with pytest.raises(StateError, match="Restart the process"):
        driver.apply(second)
