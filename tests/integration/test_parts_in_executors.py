"""A pipeline whose state is in Spark's executors, on real Kafka, Spark and Delta."""

from __future__ import annotations

import random
import time

import psutil
import pytest
from cluster import kill
from pipelines import (
    await_published,
    changes,
    eventually,
    fact,
    net,
    new_case,
    no_change_twice,
    produce,
    running,
    terminate,
)
from processes import living
from spark_jvm import MARKS
from thorough import THOROUGH

from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
reached(?x, count(?y)) :- path(?x, ?y) .
longer(?x) :- reached(?x, ?n), reached(?y, ?m), edge(?x, ?y), ?n > ?m .
"""
RUN = ("-m", "streamreasoner", "run", "--config")
ENCRYPTED = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": "secret",
    "spark.network.crypto.enabled": "true",
}
VARYING = {"spark.dynamicAllocation.enabled": "true"}
PARTS = 3
KILLS = 100 if THOROUGH else 2


def new_state(broker, directory, parts):
    """A case whose state is in as many parts; Spark has room for one more."""
    return new_case(broker, directory, RULES, pipeline={"backend": "executors", "parts": parts})


def nodes(*numbers):
    """Terms of nodes."""
    return tuple(f"<http://example.org/{number}>" for number in numbers)


def edge(start, diff=1):
    """An update of an edge of a chain."""
    return fact("edge", *nodes(start, start + 1), diff=diff)


def derived(present):
    """What follows from edges of a chain, by the numbers of their first nodes."""
    facts, reached = set(), {}
    for start in present:
        end = start
        while end in present:
            end += 1
            facts.add(("path", nodes(start, end)))
        reached[start] = end - start
    integer = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'.format
    for start, count in reached.items():
        facts.add(("reached", (*nodes(start), integer(count))))
        if count > reached.get(start + 1, count):
            facts.add(("longer", nodes(start)))
    return facts


def part_processes():
    """The Python processes of tasks below this one."""
    return living(psutil.Process().children(recursive=True), holds_a_part)


def holds_a_part(process):
    """Whether it is one that Spark's daemon has forked, and that a task uses."""
    module = "streamreasoner.io.spark.tasks.worker_daemon"
    # It has a connection to Spark, and those to the driver and to other parts.
    return module in process.cmdline() and len(process.net_connections()) > PARTS


def test_a_pipeline_goes_on_with_other_parts(broker, tmp_path):
    """Each start divides what the tables have; what is published is that of one store."""
    case = new_state(broker, tmp_path, PARTS)
    with pipeline(case.config):
        await_published(case, produce(case, [edge(n) for n in range(12)]))
        assert net(changes(case)) == derived(range(12))
    present = {*range(12)}
    for backend, parts, cut in (("executors", 2, 4), ("columnar", 2, 8), ("executors", 1, 2)):
        case.raw["pipeline"] |= {"backend": backend, "parts": parts}
        with pipeline(case.config):
            await_published(case, produce(case, [edge(cut, -1)]))
        present -= {cut}
    assert net(changes(case)) == derived(present)
    assert no_change_twice(changes(case))


def test_a_state_without_a_core_to_read_with_is_refused(broker, tmp_path):
    """Each part takes a core for good, and one more is needed; both limits are named."""
    case = new_state(broker, tmp_path, PARTS + 1)
    with (
        pytest.raises(EnvironmentSetupError, match=r"4 cores.*pipeline\.parts"),
        pipeline(case.config),
    ):
        pass
    for options, said in ((ENCRYPTED, "without encryption"), (VARYING, "number of executors")):
        case.raw["spark"] = {"options": options}
        with pytest.raises(EnvironmentSetupError, match=said), pipeline(case.config):
            pass


def test_parts_that_die_lose_nothing(broker, tmp_path):
    """With processes of parts killed at any time, each change is published once, by one driver."""
    case = new_state(broker, tmp_path, PARTS)
    present = set()
    chances = random.Random(1)
    with running([*RUN, case.file], case) as process:
        for round_ in range(KILLS + 1):
            chosen = {chances.randrange(20) for _ in range(4)}
            sent = produce(case, [edge(n, -1 if n in present else 1) for n in sorted(chosen)])
            present ^= chosen
            if round_:
                time.sleep(chances.choice((0, 0.05, 0.2)))
                kill(chances.choice(part_processes()))
            await_published(case, sent, process)
        assert terminate(process) == 0
    eventually(lambda: net(changes(case)), derived(present))
    assert no_change_twice(changes(case))
    said = (case.directory / "driver.log").read_text()
    assert "A process that holds a part of the state has ended" in said
