"""Slots of event time in pipelines, on real Kafka, Spark and Delta."""

from __future__ import annotations

import time

from pipelines import committed, eventually, fact, net, new_case, parse_change, produce
from spark_jvm import MARKS
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.io.kafka.offsets.positions import Position, last_published
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

PRESENCE = """
@expires seen/2 after "PT3S" .
near(?x, ?y) :- seen(?x, ?z), seen(?y, ?z) .
reached(?y) :- near(_, ?y), not banned(?y) .
"""
ANN, BOB, HALL = (f"<http://example.org/{name}>" for name in ("ann", "bob", "hall"))
MET = ("near", (ANN, BOB))


def seen(who, time, diff=1):
    """Somebody in the hall at a time in milliseconds."""
    return fact("seen", who, HALL, diff=diff, ts=time)


def piece(now):
    """Two meet, and part again as time goes on; one message comes late."""
    return [seen(ANN, now), seen(BOB, now + 500), seen(ANN, now - 9_000, -1), seen(BOB, now - 700)]


def output(case):
    """The messages of the output topic by partition, without the name of the application."""
    found = {}
    for record in committed(case, case.kafka.output_topic):
        headers = [header for header in record.headers if header[0] != "application"]
        found.setdefault(record.partition, []).append((record.key, record.value, headers))
    return found


def test_two_pipelines_publish_the_same_bytes(broker, tmp_path):
    """One reads in pieces and restarts, the other all at once on two parts; ticks close slots."""
    slots = {"granularity": "PT1S", "allowed_lateness": "PT2S", "idle_advance": "PT1S"}
    one = new_case(broker, tmp_path / "one", PRESENCE, time=slots)
    for number in (1, 2):
        with pipeline(one.config):
            produce(one, piece(int(time.time() * 1000)))
            # Ticks come as soon as the partitions are idle.
            eventually(lambda: meetings(one), (number, set()))

    names = {"input_topics": one.raw["kafka"]["input_topics"]}
    other = new_case(
        broker,
        tmp_path / "other",
        PRESENCE,
        kafka=names,
        time=slots,
        pipeline={"cores": 2},
    )
    with pipeline(other.config):
        eventually(lambda: output(other), output(one))
    for epoch in range(last_published(one.kafka, one.config.pipeline.app_id) + 1):
        assert rebuilt(one, epoch) == meetings(one)[1]


def rebuilt(case, epoch):
    """What a reader has that begins with the snapshot of an epoch, in which slots were closed."""
    facts, offsets = case.directory / "facts", case.directory / "offsets"
    names = ["--at", str(epoch), "--output", str(facts), "--offsets", str(offsets)]
    result = CliRunner().invoke(app, ["snapshot", "--config", str(case.file), *names])
    assert result.exception is None, result.exception
    starts = Position.read(offsets).of(case.kafka.output_topic)
    lines = [line[:-1] + ',"epoch":0}' for line in facts.read_text().splitlines()]
    later = [
        message.value
        for message in committed(case, case.kafka.output_topic)
        if message.offset >= starts[message.partition]
    ]
    return net(map(parse_change, [*lines, *later]))


def meetings(case):
    """How often the two have met, and what is present."""
    changes = [parse_change(value) for log in output(case).values() for _, value, _ in log]
    return sum((fact, diff) == (MET, 1) for fact, diff, _ in changes), net(changes)
