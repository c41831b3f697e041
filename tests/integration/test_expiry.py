"""Facts that expire in a pipeline, on real Kafka, Spark and Delta."""

from __future__ import annotations

import uuid

from pipelines import await_published, changes, eventually, fact, net, new_case, produce
from spark_jvm import MARKS

from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

PRESENCE = """
@expires seen/2 after "PT10M" .
occupied(?room) :- seen(_, ?room) .
"""
ANN, HALL = "<http://example.org/ann>", "<http://example.org/hall>"
NOON = 1_767_268_800_000
MINUTE = 60_000


def seen(minute, diff=1):
    """A heartbeat of Ann in the hall, so many minutes after noon."""
    return fact("seen", ANN, HALL, diff=diff, ts=NOON + minute * MINUTE)


def test_facts_expire_with_input_and_without(broker, tmp_path):
    """A fact leaves when event time passes its end, and after a restart without input by a tick."""
    case = new_case(
        broker,
        tmp_path,
        PRESENCE,
        rules={"control_topic": f"control-{uuid.uuid4().hex[:12]}"},
        time={"idle_advance": "PT0S", "allowed_lateness": "PT1M"},
    )
    occupied = {("occupied", (HALL,))}
    with pipeline(case.config):
        await_published(case, produce(case, [seen(0), seen(5), seen(0), seen(4, -1)]))
        assert net(changes(case)) == occupied
        # The retraction is older than the last assertion; the frontier is a minute behind.
        await_published(case, produce(case, [fact("seen", ANN, '"far"', ts=NOON + 15 * MINUTE)]))
        assert net(changes(case)) == {*occupied, ("occupied", ('"far"',))}
        await_published(case, produce(case, [fact("seen", ANN, '"far"', ts=NOON + 16 * MINUTE)]))
        assert net(changes(case)) == {("occupied", ('"far"',))}
    case.raw["time"]["idle_advance"] = "PT1S"
    with pipeline(case.config):
        eventually(lambda: net(changes(case)), set())
        await_published(case, produce(case, [seen(20)]))

        assert net(changes(case)) == set()


def test_facts_of_the_program_hold_without_input(broker, tmp_path):
    """A tick makes the first epoch of a pipeline whose topics are empty."""
    case = new_case(
        broker,
        tmp_path,
        "seen(1, 2) .\noccupied(?room) :- seen(_, ?room) .\n",
        rules={"control_topic": f"control-{uuid.uuid4().hex[:12]}"},
        time={"idle_advance": "PT1S"},
    )
    two = '"2"^^<http://www.w3.org/2001/XMLSchema#integer>'
    with pipeline(case.config):
        eventually(lambda: net(changes(case)), {("occupied", (two,))})
