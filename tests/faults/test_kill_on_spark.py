"""SIGKILL of a driver whose state is in Spark's tables: nothing is lost or duplicated."""

from __future__ import annotations

import random
import uuid

from control_builders import control
from crashes import die_at, run_to_the_end
from graphs import RULES, expected, random_edges
from pipelines import changes, net, new_case, no_change_twice, produce, triple
from spark_backend import MARKS_OF_KILLED_PROCESSES
from thorough import THOROUGH

pytestmark = MARKS_OF_KILLED_PROCESSES

# Computed terms get ids during the evaluation.
SIZE = "size(?x, count(?y)) :- [?x, ex:reaches, ?y] .\n"
PREFIX = "@prefix ex: <http://example.org/> .\n"
CYCLE = f"{PREFIX}[?x, ex:on, ex:cycle] :- [?x, ex:reaches, ?x] .\n"
LEAST = f"{PREFIX}least(?x, min(?y)) :- [?x, ex:reaches, ?y] .\n"
# Points of death, between iterations or when the state has the epoch and the trace has not, each
# with a control message.
POINTS = (
    ("within-epoch", control("add", CYCLE)),
    ("evaluate", control("replace", RULES + LEAST)),
    ("within-epoch", control("add", CYCLE)),
)


def test_killed_on_spark(broker, tmp_path):
    """Killed in epochs that change the program, it has the output of a run without crashes."""
    rules = RULES + SIZE
    topic = f"control-{uuid.uuid4().hex[:12]}"
    options = {"max_offsets_per_trigger": 10, "backend": "spark"}
    case = new_case(broker, tmp_path, rules, pipeline=options, rules={"control_topic": topic})
    sent = list(random_edges(random.Random(5), 30))
    records = produce(case, (triple(*args, diff=diff) for args, diff in sent))
    points = POINTS if THOROUGH else POINTS[1:]
    records += produce(case, [message for _, message in points], topic)
    for epoch, (point, _) in enumerate(points):
        die_at(case, point, epoch)
        assert no_change_twice(changes(case)), point
    run_to_the_end(case, records)

    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(sent, RULES + LEAST + CYCLE)
