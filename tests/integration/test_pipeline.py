"""A real pipeline: Kafka in, Spark, Delta, Kafka out, compared with the oracle."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import oracle
import pytest
from pipelines import (
    await_published,
    changes,
    committed,
    fact,
    net,
    new_case,
    no_change_twice,
    produce,
    triple,
)
from spark_jvm import MARKS

from streamreasoner.errors import StateError
from streamreasoner.program import check_text
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = """
@prefix ex: <http://example.org/> .
[?x, ex:reaches, ?y] :- [?x, ex:next, ?y] .
[?x, ex:reaches, ?z] :- [?x, ex:reaches, ?y], [?y, ex:reaches, ?z] .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
near(?x) :- weight(?x, ?w), ?w < 10 .
"""
EX = "http://example.org/"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


def node(number):
    """An IRI."""
    return f"<{EX}n{number}>"


def updates(seed):
    """Random updates as (predicate, canonical arguments, diff): a walk on small cyclic graphs."""
    rng = random.Random(seed)
    for _ in range(150):
        a, b = node(rng.randrange(7)), node(rng.randrange(7))
        diff = rng.choice((1, 1, 1, 2, -1, -1))
        yield rng.choice(
            (
                ("triple", (a, f"<{EX}next>", b), diff),
                ("edge", (a, b), diff),
                ("weight", (a, f'"{rng.randrange(20)}"^^<{INTEGER}>'), diff),
            )
        )


def message(predicate, args, diff):
    """The message of an update; integers are JSON numbers."""
    if predicate == "triple":
        return triple(*args, diff=diff, ts="2026-01-01T00:00:00.000Z")
    plain = [int(arg.split('"')[1]) if arg.endswith("integer>") else arg for arg in args]
    return fact(predicate, *plain, diff=diff)


def expected(sent):
    """What the oracle derives from the sum of all updates."""
    sums = Counter()
    for predicate, args, diff in sent:
        sums[predicate, args] += diff
    return oracle.derived(oracle.evaluate(check_text(RULES), sums))


@pytest.fixture(scope="module")
def case(broker, tmp_path_factory):
    """A case whose pipeline is started and stopped by the tests."""
    return new_case(broker, tmp_path_factory.mktemp("pipeline"), RULES)


@pytest.fixture(scope="module")
def history(case):
    """All updates after two runs of the pipeline, a restart in between, and its changes."""
    sent = []
    for run in range(2):
        with pipeline(case.config):
            for part in range(3):
                now = list(updates(10 * run + part))
                sent += now
                await_published(case, produce(case, (message(*update) for update in now)))
                assert net(changes(case)) == expected(sent), (run, part)
    return sent


def test_output_sums_to_the_derived_facts(case, history):
    """After any updates on any partition and a restart, the output sums to the derived facts."""
    output = changes(case)
    assert net(output) == expected(history)
    assert no_change_twice(output)


def test_changes_say_what_they_are(case, history):
    """A change carries its epoch and type in headers, its subject as key, its time as value."""
    assert history
    for record in committed(case, case.kafka.output_topic):
        headers = dict(record.headers)
        assert headers["content-type"] == b"application/json"
        assert f'"epoch":{headers["epoch"].decode()}}}'.encode() in record.value
        assert record.key.startswith(b"<http://example.org/n")
        assert record.key.strip(b"<>") in record.value


def test_tables_hold_the_changes_that_were_published(case, history):
    """The table `changes`, read by another reader, has the same rows as the output topic."""
    assert history
    files = case.config.state.directory / "tables" / "changes"
    rows = duckdb.read_parquet(f"{files}/*.parquet").project("predicate, args, multiplicity, epoch")
    stored = Counter(
        ((name, tuple(args)), diff, epoch) for name, args, diff, epoch in rows.fetchall()
    )
    assert stored == Counter(changes(case))


def test_state_that_does_not_fit_is_refused(case, history):
    """Other rules, or tables without their checkpoint, are refused before Spark starts."""
    assert history
    rules = case.directory / "rules.dl"
    rules.write_text(RULES.replace("< 10", "< 11"))
    with pytest.raises(StateError, match="program"), pipeline(case.config):
        pass
    rules.write_text(RULES)
    checkpoint = case.config.state.checkpoint_directory
    checkpoint.rename(checkpoint.with_name("elsewhere"))
    with pytest.raises(StateError, match="do not belong together"), pipeline(case.config):
        pass
    checkpoint.with_name("elsewhere").rename(checkpoint)


def test_a_restart_without_input_publishes_nothing(case, history):
    """A pipeline that is stopped and restarted publishes no change again."""
    assert history
    before = changes(case)
    with pipeline(case.config) as started:
        started.query.stop()
        started.query.wait()
    assert changes(case) == before
