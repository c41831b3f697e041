"""A topic whose producer delivers at least once, on real Kafka, Spark and Delta."""

from __future__ import annotations

import pytest
from pipelines import await_published, changes, fact, net, new_case, produce
from spark_backend import MARKS

from streamreasoner.app import pipeline
from streamreasoner.errors import StateError

pytestmark = MARKS

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
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
