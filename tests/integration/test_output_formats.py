"""Pipelines that are chained: the output topic of one is the input topic of the next."""

from __future__ import annotations

import json
import random
from collections import Counter

import oracle
import pytest
from pipelines import await_published, changes, committed, net, new_case, produce, triple
from spark_jvm import MARKS

from streamreasoner.errors import ConfigError
from streamreasoner.program import check_text
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

FIRST = """
@prefix ex: <http://example.org/> .
@output triple, quad .
step(?x, ?y) :- [?x, ex:next, ?y] .
[?x, ex:reaches, ?y] :- step(?x, ?y) .
[?x, ex:reaches, ?z] :- [?x, ex:reaches, ?y], step(?y, ?z) .
[?y, ex:next, ?x, ex:back] :- step(?x, ?y) .
"""
SECOND = """
@prefix ex: <http://example.org/> .
both(?x, ?y) :- [?x, ex:reaches, ?y], [?x, ex:next, ?y, ex:back] .
degree(?x, count(?y)) :- [?x, ex:reaches, ?y] .
"""
NODES = ["<http://example.org/a>", "_:b.c", "<http://example.org/é>", "_:d", "<urn:e>"]
NEXT = "<http://example.org/next>"


def test_a_pipeline_reads_what_another_publishes(broker, tmp_path):
    """Over several epochs, with retractions; the second one derives what the oracle does."""
    generator = random.Random(7)
    first = new_case(broker, tmp_path / "first", FIRST, output={"format": "nquads"})
    sent = Counter()
    with pipeline(first.config):
        for _ in range(3):
            now = [
                (generator.choice(NODES), NEXT, generator.choice(NODES), generator.choice((1, -1)))
                for _ in range(12)
            ]
            await_published(first, produce(first, (triple(*each) for each in now)))
            for *terms, diff in now:
                sent["triple", tuple(terms)] += diff
    output = committed(first, first.kafka.output_topic)
    headers = [dict(record.headers) for record in output]
    assert {each["content-type"] for each in headers} == {b"application/n-quads"}
    assert {each["diff"] for each in headers} == {b"1", b"-1"}
    second = new_case(
        broker,
        tmp_path / "second",
        SECOND,
        kafka={"input_topics": [first.kafka.output_topic]},
    )
    with pipeline(second.config):
        await_published(second, output)
    published = oracle.derived(oracle.evaluate(check_text(FIRST), sent))
    facts = Counter(each for each in published if each[0] in {"triple", "quad"})
    expected = oracle.derived(oracle.evaluate(check_text(SECOND), facts))
    assert {name for name, _ in expected} == {"both", "degree"}
    assert net(changes(second)) == expected
    assert committed(second, second.kafka.dead_letter_topic) == []

    second.raw["output"] = {"format": "nquads"}
    refusal = "facts of both, degree, but .* The state has this program"
    with pytest.raises(ConfigError, match=refusal), pipeline(second.config):
        pass


def latest(case):
    """The facts of the latest value of every key of the output topic, without the tombstones."""
    values = {}
    for record in committed(case, case.kafka.output_topic):
        values[record.key] = record.value
    return {
        (predicate, tuple(args))
        for key, value in values.items()
        if value is not None
        for predicate, *args in [json.loads(key)]
    }


def test_the_latest_values_of_a_compacted_topic_are_the_facts(broker, tmp_path):
    """Over epochs with retractions and another @output, and after a restart."""
    generator = random.Random(8)
    control = f"control-{tmp_path.name}"
    case = new_case(
        broker,
        tmp_path,
        FIRST,
        output={"envelope": "upsert", "include": "all", "format": "rdf-patch"},
        rules={"control_topic": control},
    )
    sent = Counter()

    def send(number):
        now = [
            (generator.choice(NODES), NEXT, generator.choice(NODES), generator.choice((1, 1, -1)))
            for _ in range(number)
        ]
        await_published(case, produce(case, (triple(*each) for each in now)))
        for *terms, diff in now:
            sent["triple", tuple(terms)] += diff

    def expected(*predicates):
        facts = oracle.closure(oracle.evaluate(check_text(FIRST), sent))
        return {fact for fact in facts if fact[0] in predicates}

    with pipeline(case.config):
        send(20)
        send(20)
        assert latest(case) == expected("triple", "quad")
        other = FIRST.replace("@output triple, quad .", "@output triple .")
        change = json.dumps({"operation": "replace", "rules": other}).encode()
        await_published(case, produce(case, [change], control))
        assert latest(case) == expected("triple")
    with pipeline(case.config):
        send(20)
        assert latest(case) == expected("triple")
    assert None in {record.value for record in committed(case, case.kafka.output_topic)}


def test_what_a_format_cannot_say_is_refused_at_start(broker, tmp_path):
    """Nothing is written, so a program with another @output is that of a new state."""
    case = new_case(broker, tmp_path, FIRST.replace("@output triple, quad .", ""))
    case.raw["output"] = {"format": "nquads"}
    with pytest.raises(ConfigError, match="publishes facts of step, but"), pipeline(case.config):
        pass
    assert not (case.config.state.tables / "programs").exists()
