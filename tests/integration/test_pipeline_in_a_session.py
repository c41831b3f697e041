"""A pipeline in a Spark session that its user made: both go on, whatever happens to the other."""

from __future__ import annotations

import os
import random
import signal
import threading

import pytest
from oracle import derived, evaluate, total
from pipelines import (
    DEADLINE_SECONDS,
    await_published,
    changes,
    eventually,
    fact,
    net,
    new_case,
    no_change_twice,
    produce,
)
from pyspark.sql import SparkSession
from spark_jvm import MARKS

from streamreasoner.errors import (
    ConfigError,
    EnvironmentSetupError,
    StartError,
    StreamReasonerError,
)
from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.spark import session
from streamreasoner.io.spark.series import CONNECTOR
from streamreasoner.program import check_text
from streamreasoner.spark import run, start

pytestmark = [*MARKS, pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
SLOW_RULES = "many(count(?x)) :- node(?x), node(?y), node(?z), ?x < ?y, ?y < ?z ."
# Of the user, and unlike those of a pipeline.
SETTINGS = {
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.shuffle.partitions": "7",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
}


def user_session(**settings):
    """A session as a notebook makes it."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in settings.items():
        builder = builder.config(name, value)
    handler = signal.getsignal(signal.SIGINT)
    made = builder.getOrCreate()
    signal.signal(signal.SIGINT, handler)  # PySpark's would outlive the session
    return made


@pytest.fixture
def user():
    """A session of a user."""
    made = user_session(**SETTINGS)
    yield made
    made.stop()


def edges(generator):
    """Some updates."""
    node = [f"<http://example.org/n{number}>" for number in range(4)]
    return [("edge", tuple(generator.choices(node, k=2)), 1) for _ in range(5)]


def send(case, updates):
    """Produce updates."""
    return produce(case, (fact(name, *args, diff=diff) for name, args, diff in updates))


def test_the_session_stays_and_the_pipeline_goes_on(broker, user, tmp_path):
    """Stopped and run again, it publishes what a single run would; the session is as it was."""
    case = new_case(broker, tmp_path, RULES)
    generator = random.Random(7)
    sent = [edges(generator) for _ in range(3)]
    user.sql("create temporary view mine as select 1 as one")
    threads = set(threading.enumerate())

    with start(case.file, spark=user) as running:
        running.await_ready(DEADLINE_SECONDS)
        await_published(case, send(case, sent[0]))
        assert user.table("mine").count() == 1
    assert not running.is_running
    running.stop()

    # Of sections, and until an interrupt, as a cell of a notebook.
    produced = send(case, sent[1])

    def interrupt():
        await_published(case, produced)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    sections = {**case.raw, "rules": {"program": str(tmp_path / "rules.dl")}}
    run({**sections, "state": {"directory": str(tmp_path / "state")}}, spark=user)

    with start(case.file, spark=user):
        await_published(case, send(case, sent[2]))

    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == derived(evaluate(check_text(RULES), total(sent)))
    assert {name: user.conf.get(name) for name in SETTINGS} == SETTINGS
    assert user.table("mine").count() == 1
    assert SparkSession.builder.getOrCreate() is user
    assert not user.streams.active
    eventually(lambda: {t.name for t in set(threading.enumerate()) - threads} & OURS, set())


OURS = {"streamreasoner", "watchdog", "presence", "kafka-watch"}


def test_a_session_that_is_stopped_ends_the_pipeline(broker, user, tmp_path):
    """The error says so, and a run in another session goes on."""
    case = new_case(broker, tmp_path, RULES)
    running = start(case.file, spark=user)
    running.await_ready(DEADLINE_SECONDS)
    user.stop()
    with pytest.raises(EnvironmentSetupError, match="The Spark session was stopped while"):
        running.wait(DEADLINE_SECONDS)
    with pytest.raises(EnvironmentSetupError, match="The Spark session has ended"):
        run(case.file, spark=user)

    eventually(lambda: running.is_running, expected=False)
    other = user_session()
    with start(case.file, spark=other):
        await_published(case, send(case, [("edge", ("<x:a>", "<x:b>"), 1)]))
    other.stop()
    assert net(changes(case)) == {("path", ("<x:a>", "<x:b>"))}


def test_a_batch_that_takes_too_long_is_an_error_of_the_caller(broker, user, tmp_path):
    """The process lives, the state is locked until the batch ends, and the next run is right."""
    case = new_case(broker, tmp_path, SLOW_RULES, pipeline={"batch_timeout": 1})
    running = start(case.file, spark=user)
    running.await_ready(DEADLINE_SECONDS)
    sent = send(case, [("node", (number,), 1) for number in range(500)])
    with pytest.raises(StreamReasonerError, match=r"did not finish within 1 s \(pipeline\.batch_t"):
        running.wait(DEADLINE_SECONDS)
    with pytest.raises(StreamReasonerError, match="did not finish"):
        running.stop()

    eventually(lambda: running.is_running, expected=False)
    case.raw["pipeline"]["batch_timeout"] = 600
    with start(case.file, spark=user):
        await_published(case, sent)
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == {("many", ('"20708500"^^<http://www.w3.org/2001/XMLSchema#integer>',))}


def test_a_stop_does_not_wait_for_kafka(user, tmp_path):
    """Clients wait for a broker that is away for minutes; a stop does not, and nothing is lost."""
    (tmp_path / "broker").mkdir()
    with Broker(directory=tmp_path / "broker") as own:
        case = new_case(own, tmp_path, RULES)
        running = start(case.file, spark=user)
        running.await_ready(DEADLINE_SECONDS)
        own.kill()
        threading.Thread(target=running.stop).start()
        assert running.wait(DEADLINE_SECONDS)
        own.start()
        with start(case.file, spark=user):
            await_published(case, send(case, [("edge", ("<x:a>", "<x:b>"), 1)]))
        assert net(changes(case)) == {("path", ("<x:a>", "<x:b>"))}


def test_what_is_missing_is_refused_by_name(broker, user, tmp_path, monkeypatch):
    """Before anything is read or written; packages are given as they are written."""
    case = new_case(broker, tmp_path, RULES)
    monkeypatch.setitem(session._CLASSES, CONNECTOR, "org.example.NotThere")  # noqa: SLF001
    with pytest.raises(EnvironmentSetupError) as caught:
        run(case.file, spark=user)
    present = user.conf.get("spark.jars.packages", None)
    wanted = ",".join((*filter(None, [present]), CONNECTOR))
    assert f'.config("spark.jars.packages", "{wanted}")' in str(caught.value)
    assert f"spark-submit --packages {wanted}" in str(caught.value)
    with pytest.raises(EnvironmentSetupError, match=r"classic Spark session.*builtins\.object"):
        start(case.file, spark=object())
    with pytest.raises(ConfigError, match=r"no\.toml"):
        start(tmp_path / "no.toml", spark=user)
    case.raw["rules"]["program"] = "./no.dl"
    with pytest.raises(StartError, match=r"(?s)spark\.jars\.packages.*There is no rule file"):
        run(case.file, spark=user)
    assert user.range(3).count() == 3
