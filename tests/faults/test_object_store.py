"""A pipeline whose state is in an object store: what it has published is never lost or doubled.

Each start is on an empty disk, as that of a new pod, and the store refuses, delays, resets and
loses the answers of some requests.
"""

from __future__ import annotations

import random
import shutil
from contextlib import contextmanager

import pytest
from crashes import die_at, run_to_the_end
from graphs import RULES, expected, random_edges
from object_store import Fault, object_store
from pipelines import (
    changes,
    net,
    new_case,
    no_change_twice,
    produce,
    triple,
)
from spark_jvm import MARKS_OF_KILLED_PROCESSES
from thorough import THOROUGH

pytestmark = MARKS_OF_KILLED_PROCESSES

POINTS = (
    "within-plan-upload",
    "plan-uploaded",
    "evaluate",
    "within-store",
    "store",
    "within-upload",
    "uploaded",
    "within-publish",
    "publish",
    "finished",
)
CHOSEN = POINTS * 8 if THOROUGH else POINTS[1::2]
RATE = 0.1
FAULTS = (Fault.SLOW, Fault.ERROR, Fault.BUSY, Fault.CUT, Fault.LOST)


@pytest.fixture(scope="module")
def store():
    """A server for all tests of the module."""
    with object_store() as running_store:
        yield running_store


@contextmanager
def unreliable(store, seed):
    """Let some requests fail."""
    rng = random.Random(seed)
    store.fault = lambda _method, _path: rng.choice(FAULTS) if rng.random() < RATE else None
    try:
        yield
    finally:
        store.fault = lambda _method, _path: None


def lose_the_disk(case):
    """Delete the state directory."""
    shutil.rmtree(case.config.state.directory)


def test_a_new_pod_goes_on_after_each_step(store, broker, tmp_path):
    """Killed at each point, and without its disk: the output is that of a run without crashes."""
    case = new_case(
        broker,
        tmp_path,
        RULES,
        pipeline={"max_offsets_per_trigger": 10},
        state={"object_store": store.folder()},
    )
    sent = list(random_edges(random.Random(1), 400))
    records = produce(case, (triple(*args, diff=diff) for args, diff in sent))
    with unreliable(store, 1):
        for number, point in enumerate(CHOSEN):
            die_at(case, point, 3 * number + 2)
            output = changes(case)
            assert no_change_twice(output), point
            assert net(output) is not None, point
            lose_the_disk(case)
        run_to_the_end(case, records)
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(sent)
    lose_the_disk(case)
    more = [(edge, 1) for edge, _ in random_edges(random.Random(3), 40) if edge not in net(output)]
    run_to_the_end(case, produce(case, (triple(*args, diff=diff) for args, diff in more)))
    assert net(changes(case)) == expected(sent + more)
