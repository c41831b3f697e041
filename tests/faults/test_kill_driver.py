"""SIGKILL of the driver at every durable step: output stays exactly-once."""

from __future__ import annotations

import random

from crashes import DRIVER, die_at, run_to_the_end
from graphs import RULES, expected, random_edges
from pipelines import (
    await_published,
    changes,
    net,
    new_case,
    no_change_twice,
    produce,
    running,
    terminate,
    triple,
)
from spark_backend import MARKS_OF_KILLED_PROCESSES

pytestmark = MARKS_OF_KILLED_PROCESSES

# Before step 1, within it, after it, within step 2, after it, before Spark commits.
POINTS = ("read", "evaluate", "within-store", "store", "within-publish", "publish", "finished")


def test_killed_at_every_durable_step(broker, tmp_path):
    """Killed at each point in turn, a pipeline has the output of a run without crashes."""
    case = new_case(broker, tmp_path, RULES, pipeline={"max_offsets_per_trigger": 10})
    sent = list(random_edges(random.Random(1), 400))
    records = produce(case, (triple(*args, diff=diff) for args, diff in sent))
    for number, point in enumerate(POINTS):
        die_at(case, point, 3 * number + 2)
        output = changes(case)
        assert no_change_twice(output), point
        assert net(output) is not None, point
    run_to_the_end(case, records)
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(sent)


def test_the_check_sees_a_missing_marker(broker, tmp_path):
    """Without the marker, a crash after the commit publishes twice, which the check detects."""
    case = new_case(broker, tmp_path, RULES, pipeline={"max_offsets_per_trigger": 10})
    records = produce(
        case, (triple(*args, diff=1) for args, _ in random_edges(random.Random(2), 30))
    )
    die_at(case, "publish", 0)
    with running([DRIVER, case.file, "ignore-marker", 0], case) as process:
        await_published(case, records)
        assert terminate(process) == 0
    assert not no_change_twice(changes(case))
