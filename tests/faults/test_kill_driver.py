"""SIGKILL of the driver at every durable step, and at random: exactly once, or the test is red."""

from __future__ import annotations

import random
import subprocess
import threading
from contextlib import suppress

from crashes import DRIVER, die_at, run_to_the_end
from graphs import RULES, expected, random_edges
from pipelines import (
    await_published,
    changes,
    eventually,
    net,
    new_case,
    no_change_twice,
    produce,
    published,
    running,
    terminate,
    triple,
)

from streamreasoner.streaming.offsets import Checkpoint

# Before step 1, within it, after it, within step 2, after it, before Spark commits.
POINTS = ("read", "evaluate", "within-store", "store", "within-publish", "publish", "finished")


def ends(ranges):
    """Partition -> end of the input range of one batch."""
    [partitions] = ranges.values()
    return {int(partition): end for partition, (_, end) in partitions.items()}


def test_killed_at_every_durable_step(broker, tmp_path):
    """Killed at one point after the other, the output is that of a run without crashes."""
    case = new_case(broker, tmp_path, RULES, pipeline={"max_offsets_per_trigger": 10})
    sent = list(random_edges(random.Random(1), 400))
    records = produce(case, (triple(*args, diff=diff) for args, diff in sent))
    for number, point in enumerate(POINTS):
        die_at(case, point, 3 * number + 2)
        found = changes(case)
        assert no_change_twice(found), point
        assert net(found) is not None, point
    run_to_the_end(case, records)
    found = changes(case)
    assert no_change_twice(found)
    assert net(found) == expected(sent)


def test_the_check_sees_a_missing_marker(broker, tmp_path):
    """Without the marker a crash after the commit publishes twice, and the check notices."""
    case = new_case(broker, tmp_path, RULES, pipeline={"max_offsets_per_trigger": 10})
    records = produce(
        case, (triple(*args, diff=1) for args, _ in random_edges(random.Random(2), 30))
    )
    die_at(case, "publish", 0)
    with running([DRIVER, case.file, "ignore-marker", 0], case) as process:
        await_published(case, records)
        assert terminate(process) == 0
    assert not no_change_twice(changes(case))


def test_killed_at_random_under_load(broker, tmp_path):
    """Killed five times, stopped once, while input keeps coming: all comes out, and once.

    The stop finishes its batch: what is published then is also what Spark has committed.
    """
    case = new_case(broker, tmp_path, RULES)
    rng = random.Random(3)
    sent, records, done = [], [], threading.Event()

    def load():
        while not done.is_set():
            now = list(random_edges(rng, 20))
            records.extend(produce(case, (triple(*args, diff=diff) for args, diff in now)))
            sent.extend(now)

    loader = threading.Thread(target=load)
    loader.start()
    try:
        for _ in range(5):
            before = published(case)
            with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
                eventually(lambda: published(case) != before or process.poll(), True)  # noqa: B023, FBT003
                # The moment is what is random here; nothing waits for it.
                with suppress(subprocess.TimeoutExpired):
                    process.wait(rng.uniform(0.0, 1.5))
                assert process.poll() is None, (case.directory / "driver.log").read_text()
                process.kill()
        before = published(case)
        with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
            eventually(lambda: published(case) != before or process.poll(), True)  # noqa: FBT003
            assert terminate(process) == 0
        spark = Checkpoint.read(case.config.state.checkpoint_directory)
        assert published(case) == ends(spark.range(spark.committed))
    finally:
        done.set()
        loader.join()
    run_to_the_end(case, records)
    found = changes(case)
    assert no_change_twice(found)
    assert net(found) == expected(sent)
