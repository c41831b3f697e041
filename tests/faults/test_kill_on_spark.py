"""SIGKILL of a driver whose state is in Spark's tables: nothing is lost and nothing doubled."""

from __future__ import annotations

import random
import signal
from collections import Counter
from pathlib import Path

import oracle
from graphs import RULES, random_edges
from pipelines import (
    DEADLINE_SECONDS,
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

from streamreasoner.analysis import check_text

DRIVER = Path(__file__).with_name("driver.py")
# Computed terms get their ids while the epoch is evaluated.
SIZE = "size(?x, count(?y)) :- [?x, ex:reaches, ?y] .\n"
# Between iterations; when the state has the epoch and the trace has not.
POINTS = ("within-epoch", "evaluate")


def test_killed_on_spark(broker, tmp_path):
    """Killed in two epochs, the output is that of a run without crashes."""
    rules = RULES + SIZE
    options = {"max_offsets_per_trigger": 10, "backend": "spark"}
    case = new_case(broker, tmp_path, rules, pipeline=options)
    sent = list(random_edges(random.Random(5), 25))
    records = produce(case, (triple(*args, diff=diff) for args, diff in sent))
    for epoch, point in enumerate(POINTS):
        with running([DRIVER, case.file, point, epoch], case) as process:
            code = process.wait(DEADLINE_SECONDS)
            assert code == -signal.SIGKILL, (case.directory / "driver.log").read_text()
        assert no_change_twice(changes(case)), point
    with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
        await_published(case, records)
        assert terminate(process) == 0

    sums = Counter()
    for args, diff in sent:
        sums["triple", args] += diff
    found = changes(case)
    assert no_change_twice(found)
    assert net(found) == oracle.derived(oracle.evaluate(check_text(rules), sums))
