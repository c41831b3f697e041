"""SIGKILL of the driver at random, with and without its JVM: output stays exactly-once."""

from __future__ import annotations

import random
import subprocess
import threading
from contextlib import suppress

import pytest
from crashes import run_to_the_end
from graphs import RULES, expected, random_edges
from pipelines import (
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
from thorough import THOROUGH

from streamreasoner.io.spark.offsets import Checkpoint

KILLS_WITH_JVM = 50 if THOROUGH else 1
KILLS_ALONE = 450 if THOROUGH else 4


def ends(ranges):
    """Partition -> end of the input range of one batch."""
    [partitions] = ranges.values()
    return {int(partition): end for partition, (_, end) in partitions.items()}


def test_killed_with_its_jvm(broker, tmp_path):
    """The driver's JVM ends with it, and the next driver starts another."""
    check_kills(new_case(broker, tmp_path, RULES), KILLS_WITH_JVM)


@pytest.mark.usefixtures("joined_jvm")
def test_killed_alone(broker, tmp_path):
    """The JVM stays, which makes a restart cheap, so there are many."""
    check_kills(new_case(broker, tmp_path, RULES), KILLS_ALONE)


def check_kills(case, kills):
    """Killed repeatedly and stopped once under load, a pipeline publishes every change once.

    A stop finishes the batch: the published offsets then equal those committed by Spark.
    """
    rng = random.Random(3)
    sent, records, done = [], [], threading.Event()

    def load():
        while not done.wait(0.1):
            now = list(random_edges(rng, 20))
            records.extend(produce(case, (triple(*args, diff=diff) for args, diff in now)))
            sent.extend(now)

    loader = threading.Thread(target=load)
    loader.start()
    try:
        for _ in range(kills):
            before = published(case)
            with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
                eventually(
                    lambda: published(case) != before or process.poll() is not None,  # noqa: B023
                    True,  # noqa: FBT003
                )
                # The moment of the kill is random; nothing waits for it.
                with suppress(subprocess.TimeoutExpired):
                    process.wait(rng.uniform(0.0, 1.5))
                assert process.poll() is None, (case.directory / "driver.log").read_text()
                process.kill()
        before = published(case)
        with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
            eventually(
                lambda: published(case) != before or process.poll() is not None,
                True,  # noqa: FBT003
            )
            assert terminate(process) == 0
        spark = Checkpoint.read(case.config.state.checkpoint_directory)
        assert published(case) == ends(spark.range(spark.committed))
    finally:
        done.set()
        loader.join()
    run_to_the_end(case, records)
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(sent)
