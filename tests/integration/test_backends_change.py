"""A stream that switches backends, on real Kafka, Spark and Delta."""

from __future__ import annotations

import random
import uuid

from control_builders import control
from oracle import derived, evaluate, total
from pipelines import (
    await_published,
    changes,
    fact,
    net,
    new_case,
    no_change_twice,
    produce,
)
from spark_backend import MARKS

from streamreasoner.program import check_text
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS


RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
degree(?x, count(?y)) :- edge(?x, ?y) .
"""
FAR = "far(?x, ?y) :- path(?x, ?y), not edge(?x, ?y) .\n"
# In order: the backend of a run, and the program that it switches to.
LEGS = (("columnar", RULES + FAR), ("spark", RULES), ("spark", RULES + FAR), ("columnar", FAR))


def test_a_stream_can_switch_backends(broker, tmp_path):
    """Columnar, Spark, Spark again, columnar: the output equals that of a single run.

    The program changes during every run, and the next run continues with the program in effect.
    """
    generator = random.Random(3)
    node = [f"<http://example.org/n{number}>" for number in range(5)]
    sent = []
    topic = f"control-{uuid.uuid4().hex[:12]}"
    case = new_case(broker, tmp_path, RULES, rules={"control_topic": topic})
    for backend, rules in LEGS:
        case.raw["pipeline"]["backend"] = backend
        with pipeline(case.config):
            ends = [(generator.choice(node), generator.choice(node)) for _ in range(8)]
            now = [("edge", pair, generator.choice((1, 1, -1))) for pair in ends]
            records = produce(case, (fact(name, *args, diff=diff) for name, args, diff in now))
            records += produce(case, [control("replace", rules)], topic)
            await_published(case, records)
            sent += now
        output = changes(case)
        assert no_change_twice(output)
        assert net(output) == derived(evaluate(check_text(rules), total([sent])))
