"""SIGKILL of executors and drivers of a cluster at random: output stays exactly-once."""

from __future__ import annotations

import random
from contextlib import ExitStack
from functools import partial

from cluster import cluster, from_archive, kill
from crashes import changing, check_output
from leaders import Process
from pipelines import await_publication, await_published, new_case, terminate
from spark_jvm import MARKS_OF_AN_OWN_JVM
from thorough import THOROUGH

pytestmark = MARKS_OF_AN_OWN_JVM

RULES = """
@prefix ex: <http://example.org/> .
[?x, ex:reaches, ?y] :- [?x, ex:next, ?y] .
[?x, ex:reaches, ?z] :- [?x, ex:reaches, ?y], [?y, ex:next, ?z] .
reached(?x, count(?y)) :- [?x, ex:reaches, ?y] .
farther(?x, ?y) :- reached(?x, ?n), reached(?y, ?m), [?x, ex:next, ?y], ?n > ?m .
"""
WORKERS = 3 if THOROUGH else 2
"""Of the cluster, each with an executor that holds a part."""
# What a second application would still have room for.
ROOM = {"spark.cores.max": "4", "spark.executor.memory": "512m"}
VICTIMS = {"leader": 50, "executor": 50} if THOROUGH else {"executor": 1}
HASTE = 0.2 if THOROUGH else 0.0
"""How often the next kill comes before the pipeline is back from the one before."""
LONGEST_RETURN = 20.0
"""Seconds in which such a kill comes."""


def test_nothing_is_lost_on_a_cluster(broker, tmp_path):
    """Each worker holds a part; leaders and executors are killed at any time.

    A leader that is killed is started again, an executor by Spark. At last a process takes over
    that has stood by without executors of its own.
    """
    rng = random.Random(5)
    victims = rng.sample([*VICTIMS], counts=VICTIMS.values(), k=sum(VICTIMS.values()))
    with cluster(tmp_path, WORKERS, cores=2) as machines, ExitStack() as stack:
        case = new_case(
            broker,
            tmp_path,
            RULES,
            pipeline={"backend": "executors", "parts": WORKERS},
            spark={"options": {**machines.options, **from_archive(tmp_path), **ROOM}},
        )
        start = partial(Process.started, case, stack)
        with changing(case, rng) as (sent, records):
            leader = start()
            for victim in victims:
                if rng.random() < HASTE:
                    leader.pause(rng.uniform(0.0, LONGEST_RETURN))
                else:
                    await_publication(case, leader.running)
                    leader.pause(rng.uniform(0.0, 1.5))
                executors = machines.executors()
                if victim == "executor" and executors:
                    kill(rng.choice(executors))
                else:
                    leader.end()
                    leader = start()
                assert leader.running.poll() is None
            await_publication(case, leader.running)
            leader.await_ready("ok: the query is running")
            executors = machines.executors()
            standby = start()
            standby.await_ready(f"standing by for process {leader.running.pid}")
            assert machines.executors() == executors
            leader.end()
            await_publication(case, standby.running)
        await_published(case, records, standby.running)
        assert terminate(standby.running) == 0
    check_output(case, sent, RULES)
