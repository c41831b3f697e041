"""Topics whose facts are sets, or have keys, on real Kafka, Spark and Delta."""

from __future__ import annotations

import json

import pytest
from pipelines import await_published, changes, committed, fact, net, new_case, produce
from spark_jvm import MARKS

from streamreasoner.errors import StateError
from streamreasoner.io.kafka.topics import create_topics
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
path(?x, ?y) :- flight(?x, ?y, _, _, _, _, _, _) .
"""
A, B, C = (f"<http://example.org/{name}>" for name in "abc")


def test_a_repeated_message_changes_nothing(broker, tmp_path):
    """Also after a restart; and the semantics of a topic that was read is fixed."""
    case = new_case(broker, tmp_path, RULES, partitions=1, input={"semantics": "set"})
    log = [fact("edge", A, B), fact("edge", B, C), fact("edge", A, B, diff=-1), fact("edge", A, B)]
    with pipeline(case.config):
        await_published(case, produce(case, [*log, *log[1:]]))
        assert len(net(changes(case))) == 3
    with pipeline(case.config):
        await_published(case, produce(case, [fact("edge", B, C), fact("edge", B, C, diff=-1)]))
        assert net(changes(case)) == {("path", (A, B))}
        await_published(case, produce(case, [fact("edge", A, B, diff=-1)] * 2))
        assert net(changes(case)) == set()
    case.raw["input"]["semantics"] = "multiset"
    with (
        pytest.raises(StateError, match=r"has read the topic .* as set, .* is multiset"),
        pipeline(case.config),
    ):
        pass
    other = f"{case.kafka.input_topics[0]}-keyed"
    case.raw["kafka"]["input_topics"].append(other)
    case.raw["input"] = {"semantics": "set", "semantics_by_topic": {other: "upsert"}}
    create_topics(case.kafka, 1, 1)
    with (
        pytest.raises(StateError, match="have columns for 8 arguments, and a topic with"),
        pipeline(case.config),
    ):
        pass


def test_the_latest_value_of_a_key_counts(broker, tmp_path):
    """Over a restart, with tombstones, and alongside messages that are rejected."""
    case = new_case(broker, tmp_path, RULES, partitions=1, input={"semantics": "upsert"})

    def value(key, *edges):
        lines = [{"predicate": "edge", "args": list(edge), "diff": 1} for edge in edges]
        return json.dumps(lines).encode() if edges else None, [], key

    with pipeline(case.config):
        await_published(case, produce(case, [value(b"1", (A, B), (B, C)), value(b"2", (A, B))]))
        assert len(net(changes(case))) == 3
        await_published(case, produce(case, [value(b"1", (B, C)), value(b"3", (C, A))]))
        assert len(net(changes(case))) == 9
    rejected = [(fact("edge", A, B), [], None), (fact("edge", A, B, diff=-1), [], b"2")]
    with pipeline(case.config):
        await_published(case, produce(case, [*rejected, value(b"3"), value(b"1", (B, C))]))
        assert net(changes(case)) == {("path", pair) for pair in ((A, B), (B, C), (A, C))}
        await_published(case, produce(case, [value(b"1"), value(b"2"), value(b"2")]))
        assert net(changes(case)) == set()
    letters = committed(case, case.kafka.dead_letter_topic)
    reasons = [dict(letter.headers)["class"].decode() for letter in letters]
    assert reasons == ["no-key", "retraction"]
