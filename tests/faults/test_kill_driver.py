"""SIGKILL of the driver at every durable step: output stays exactly-once."""

from __future__ import annotations

import random
import signal
from contextlib import ExitStack
from itertools import pairwise

from crashes import DRIVER, die_at, run_to_the_end
from graphs import RULES, expected, random_edges
from pipelines import (
    DEADLINE_SECONDS,
    await_published,
    changes,
    eventually,
    net,
    new_case,
    no_change_twice,
    open_transaction,
    produce,
    running,
    terminate,
    triple,
)
from spark_jvm import MARKS_OF_KILLED_PROCESSES

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


def test_killed_while_a_neighbour_has_an_open_transaction(broker, tmp_path):
    """Kafka hides the marker behind that transaction; a restart waits, and publishes once."""
    case = new_case(broker, tmp_path, RULES)
    names = [f"<http://example.org/n{number}>" for number in range(4)]
    # Every edge of a path has new consequences.
    sent = [((a, "<http://example.org/next>", b), 1) for a, b in pairwise(names)]
    first, second, third = ([triple(*args, diff=diff)] for args, diff in sent)
    log = case.directory / "driver.log"
    with ExitStack() as stack:
        with running([DRIVER, case.file, "publish", 1], case) as process:
            await_published(case, produce(case, first))
            # Opened before the transaction of the marker that it hides.
            end = stack.enter_context(open_transaction(case, case.kafka.progress_topic))
            produce(case, second)
            assert process.wait(DEADLINE_SECONDS) == -signal.SIGKILL
        with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
            eventually(lambda: "Waiting for an open transaction" in log.read_text(), True)  # noqa: FBT003
            end()
            await_published(case, produce(case, third))
            assert terminate(process) == 0
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
