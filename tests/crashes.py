"""Run pipelines that crash at a chosen point or at random, and some that finish their input."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

from graphs import RULES, changing_edges, expected
from pipelines import (
    DEADLINE_SECONDS,
    await_publication,
    await_published,
    changes,
    net,
    no_change_twice,
    producing,
    published,
    running,
    terminate,
    triple,
)

from streamreasoner.io.spark.offsets import Checkpoint

DRIVER = Path(__file__).parent / "faults" / "driver.py"


def die_at(case, point, epoch):
    """Run a pipeline that kills itself at a point of an epoch, see `faults/driver.py`."""
    with running([DRIVER, case.file, point, epoch], case) as process:
        code = process.wait(DEADLINE_SECONDS)
        log = (case.directory / "driver.log").read_text()
        assert code == -signal.SIGKILL, f"ended with {code}: {log}"


def run_to_the_end(case, records):
    """Start a pipeline by the command, wait until all input is published, stop it: exit code 0."""
    with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
        await_published(case, records, process)
        assert terminate(process) == 0


@contextmanager
def changing(case, rng):
    """Send changes of edges ten times a second; gives what was sent, and the records of it."""
    present, sent, records, done = set(), [], [], threading.Event()

    def load():
        with producing(case) as send:
            while not done.wait(0.1):
                now = list(changing_edges(rng, 20, present))
                records.extend(send(triple(*args, diff=diff) for args, diff in now))
                sent.extend(now)

    loader = threading.Thread(target=load)
    loader.start()
    try:
        yield sent, records
    finally:
        done.set()
        loader.join()


def check_output(case, sent, rules=RULES):
    """Every change was published once, and they sum to what follows from what was sent."""
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(sent, rules)
    # Most of what was derived went again.
    assert len(output) > 2 * len(net(output))


def kill_at_random(case, kills):
    """Killed repeatedly and stopped once under load, a pipeline publishes every change once.

    A stop finishes the batch: the published offsets then equal those committed by Spark.
    """
    rng = random.Random(3)
    with changing(case, rng) as (sent, records):
        for _ in range(kills):
            with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
                await_publication(case, process)
                # The moment of the kill is random; nothing waits for it.
                with suppress(subprocess.TimeoutExpired):
                    process.wait(rng.uniform(0.0, 1.5))
                assert process.poll() is None, (case.directory / "driver.log").read_text()
                process.kill()
        with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
            await_publication(case, process)
            assert terminate(process) == 0
        spark = Checkpoint.read(case.config.state.checkpoint_directory)
        assert published(case) == _ends(spark.range(spark.committed))
    run_to_the_end(case, records)
    check_output(case, sent)


def _ends(ranges):
    """Partition -> end of the input range of one batch."""
    [partitions] = ranges.values()
    return {int(partition): end for partition, (_, end) in partitions.items()}
