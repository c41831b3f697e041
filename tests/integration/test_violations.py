"""Violations on real Kafka: on a topic of their own, in the transaction of their epoch."""

from __future__ import annotations

import json
import uuid

import pytest
from control_builders import control
from pipelines import await_published, changes, committed, fact, net, new_case, produce
from spark_jvm import MARKS

from streamreasoner.errors import StateError
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = "open(?x) :- order(?x), not shipped(?x) .\n"
LATE = '@message late(?x) "{?x} is \\"late\\"" .\n!late(?x) :- open(?x), due(?x) .\n'
A, B = "<http://example.org/a>", "<http://example.org/b>"


def test_violations_have_a_topic_of_their_own(broker, tmp_path):
    """They come and go with data and rules, across a restart, and are not on the output topic."""
    topic = f"control-{uuid.uuid4().hex[:12]}"
    case = new_case(broker, tmp_path, RULES, rules={"control_topic": topic})
    with pipeline(case.config):
        await_published(case, produce(case, [control("add", LATE)], topic))
        facts = [fact(name, x) for name in ("order", "due") for x in (A, B)]
        await_published(case, produce(case, [*facts, fact("late", A)]))
    with pipeline(case.config):
        await_published(case, produce(case, [fact("shipped", A)]))
        await_published(case, produce(case, [control("remove", LATE)], topic))

    records = committed(case, case.kafka.violations_topic)
    violations = [json.loads(record.value) for record in records]
    assert sorted((each["args"], each["diff"]) for each in violations) == [
        ([A], -1),
        ([A], 1),
        ([B], -1),
        ([B], 1),
    ]
    assert {each["predicate"] for each in violations} == {"late"}
    assert {each["message"] for each in violations} == {f'{x} is "late"' for x in (A, B)}
    assert [record.key.decode() for record in records] == [each["args"][0] for each in violations]
    headers = [dict(record.headers) for record in records]
    assert {each["application"].decode() for each in headers} == {case.config.pipeline.app_id}
    assert [int(each["epoch"]) for each in headers] == [each["epoch"] for each in violations]
    assert net(changes(case)) == {("open", (B,))}
    [letter] = committed(case, case.kafka.dead_letter_topic)
    assert dict(letter.headers)["class"] == b"constraint"

    other = new_case(
        broker, tmp_path / "other", RULES, kafka={"violations_topic": case.kafka.violations_topic}
    )
    match = r"publishes to the topic .*-violations \(kafka.violations_topic;"
    with pytest.raises(StateError, match=match), pipeline(other.config):
        pass
