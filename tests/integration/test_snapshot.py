"""A snapshot and the messages from its offsets on are all that was published, each once."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import oracle
import pytest
from graphs import RULES, random_edges
from kafka import KafkaAdminClient, TopicPartition
from pipelines import (
    await_published,
    committed,
    net,
    new_case,
    parse_change,
    producing,
    reader,
    triple,
)
from spark_jvm import MARKS
from thorough import THOROUGH
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.errors import BrokerError, ConfigError, DataError, StateError
from streamreasoner.io.codec.encode import Outgoing
from streamreasoner.io.kafka.offsets.positions import Position, after, last_published
from streamreasoner.io.kafka.sink import Publication, Sink
from streamreasoner.program import check_text
from streamreasoner.service.assemble import pipeline
from streamreasoner.state.record import EpochRecord

pytestmark = MARKS

ROOT = Path(__file__).parents[2]
PREDICATES = """
@prefix ex: <http://example.org/> .
reaches(?x, ?y) :- [?x, ex:next, ?y] .
reaches(?x, ?z) :- reaches(?x, ?y), reaches(?y, ?z) .
"""
QUADS = RULES + "[?y, ex:next, ?x, ex:back] :- [?x, ex:next, ?y] .\n"
QUOTED = RULES + "[ex:map, ex:has, <<( ?x ex:next ?y )>>] :- [?x, ex:next, ?y] .\n"


def invoke(case, command, *arguments):
    """Run a command in this process; its error is raised."""
    result = CliRunner().invoke(app, [command, "--config", str(case.file), *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result


def snapshot(case, number, *arguments):
    """Take a snapshot: its facts, and the file of its position."""
    facts, offsets = (case.directory / f"{number}.{name}" for name in ("facts", "offsets"))
    invoke(case, "snapshot", "--output", facts, "--offsets", offsets, *arguments)
    found = [parse_change(line[:-1] + ',"epoch":0}')[0] for line in facts.read_text().splitlines()]
    assert len(found) == len(set(found))
    return set(found), offsets


def printed(case, count, *arguments):
    """The changes that `consume` prints of the first *count* messages."""
    if not count:
        return []
    found = invoke(case, "consume", "--format", "json", "--count", count, *arguments)
    return [parse_change(line) for line in found.stdout.splitlines()]


@pytest.mark.parametrize(
    ("rules", "form", "include", "partitions"),
    [
        (PREDICATES, "json", "derived", 3),
        (QUADS, "nquads", "all", 2),
        (QUOTED, "rdf-patch", "derived", 3),
    ],
)
def test_a_snapshot_and_what_follows_is_the_closure(  # noqa: PLR0917 - the case
    broker, tmp_path, rules, form, include, partitions
):
    """At random moments of a pipeline under churn, and for every epoch of the past."""
    case = new_case(
        broker,
        tmp_path,
        rules,
        partitions=partitions,
        output={"format": form, "include": include},
        pipeline={"max_offsets_per_trigger": 25},
    )
    rng, sent, taken, records = random.Random(form), [], [], []
    with pipeline(case.config), producing(case) as send:
        for number in range(20 if THOROUGH else 4):
            now = [*random_edges(rng, rng.randrange(10, 60))]
            records += send(triple(*args, diff=diff) for args, diff in now)
            sent += now
            if number == 0:
                await_published(case, records)
            taken.append(snapshot(case, number))
        await_published(case, records)
        last = last_published(case.kafka, case.config.pipeline.app_id)
        taken += [
            snapshot(case, f"at-{epoch}", "--at", epoch)
            for epoch in range(0, last + 1, 1 if THOROUGH else 6)
        ]
    messages = committed(case, case.kafka.output_topic)
    everything = Counter()
    for fact, diff, _ in printed(case, len(messages), "--from-beginning"):
        everything[fact] += diff
    evaluate = oracle.closure if include == "all" else oracle.derived
    totals = Counter()
    for args, diff in sent:
        totals["triple", args] += diff
    expected = evaluate(oracle.evaluate(check_text(rules), totals))
    assert set(+everything) == expected
    assert len({Position.read(offsets).epoch for _, offsets in taken}) > 1
    for facts, offsets in taken:
        position = Position.read(offsets)
        starts = position.of(case.kafka.output_topic)
        later = [each for each in messages if each.offset >= starts[each.partition]]
        tail = printed(case, len(later), "--offsets", offsets)
        assert all(epoch > position.epoch for _, _, epoch in tail)
        assert net([*((fact, 1, 0) for fact in facts), *tail]) == expected


def test_the_documented_reader_goes_on_from_a_snapshot(broker, tmp_path, monkeypatch):
    """Its facts are those of the state at the end, with the changes of two later epochs."""
    case = new_case(broker, tmp_path, PREDICATES)
    rng = random.Random(9)
    with pipeline(case.config), producing(case) as send:
        await_published(
            case, send(triple(*args, diff=diff) for args, diff in random_edges(rng, 30))
        )
        stated = invoke(case, "snapshot", "--output", tmp_path / "snapshot.jsonl")
        (tmp_path / "position.json").write_text(stated.stderr.splitlines()[-1])
        for _ in range(2):
            await_published(
                case, send(triple(*args, diff=diff) for args, diff in random_edges(rng, 9))
            )
        facts, _ = snapshot(case, "end")
    text = (ROOT / "docs/how-to/late-readers.md").read_text("utf-8")
    block = r"^```python\n(import json\n\nfrom kafka.*?)^```"
    [program] = re.findall(block, text, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(program.replace("127.0.0.1:9092", broker.bootstrap_servers), names)  # noqa: S102
    try:
        assert {(name, tuple(args)) for name, *args in names["facts"]} == facts
    finally:
        names["consumer"].close()


def test_open_and_aborted_transactions_belong_to_their_epoch(broker, tmp_path):
    """No offset lies between the messages of an epoch, whatever became of earlier attempts."""
    case = new_case(broker, tmp_path, RULES, partitions=1)
    app_id, topic = case.config.pipeline.app_id, case.kafka.output_topic

    def outgoing(epoch):
        return Outgoing([None], [b"x"], [("epoch", str(epoch).encode())], 1)

    class LostError(Exception):
        """Ends an attempt between its messages and its commit."""

    def attempt(epoch, *, commit=True):
        """The transaction of an epoch in a process of its own, which is committed or left open."""

        def changes():
            yield outgoing(epoch)
            if not commit:
                sink._producer.flush()  # noqa: SLF001 - Kafka has the messages
                raise LostError

        sink = Sink(case.kafka, app_id, 60.0)
        sink.start()
        try:
            sink.publish(Publication(changes(), [], EpochRecord(epoch, {}, "hash")))
        except LostError:
            assert not commit
        finally:
            sinks.append(sink)

    sinks = []
    attempt(0)
    attempt(1, commit=False)
    attempt(1)
    attempt(2, commit=False)
    assert last_published(case.kafka, app_id) == 1
    # The transaction of epoch 2 is open: the end of epoch 1 is known nevertheless.
    ends = {epoch: after(case.kafka, app_id, epoch, 1, epoch).of(topic)[0] for epoch in (0, 1)}
    attempt(2)
    for epoch, end in ends.items():
        assert after(case.kafka, app_id, epoch, 2, epoch).of(topic)[0] == end
    found = {}
    for message in committed(case, topic):
        found[int(dict(message.headers)["epoch"])] = message.offset
    assert found[0] < ends[0] < found[1] < ends[1] < found[2]
    with reader(case, topic) as consumer:
        consumer.seek(TopicPartition(topic, 0), ends[1])
        [[message]] = consumer.poll(timeout_ms=60_000).values()
        assert message.offset == found[2]
    for sink in sinks:
        sink.close()

    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    admin.delete_records({TopicPartition(topic, 0): found[2]})
    admin.close()
    with pytest.raises(StateError, match=r"may have been deleted\. Take a snapshot of a later"):
        after(case.kafka, app_id, 1, 2, 1)
    end = after(case.kafka, app_id, 2, 2, 2)
    assert end.of(topic)[0] > found[2]
    old = tmp_path / "old.json"
    old.write_text(Position(app_id, 0, {topic: {"0": ends[0], "7": 0}}).to_json())
    with pytest.raises(BrokerError, match=r"partition 7 does not exist; offset \d of partition 0"):
        invoke(case, "consume", "--offsets", old)


def test_what_cannot_be_told_is_refused(broker, tmp_path):
    """By name: no epoch, an unpublished one, a topic of facts, a format, and wrong options."""
    case = new_case(broker, tmp_path, PREDICATES)
    with pytest.raises(StateError, match=r"Epoch \d is not published yet|no pipeline has used"):
        invoke(case, "snapshot")
    with pipeline(case.config), producing(case) as send:
        await_published(case, send([triple("<urn:a>", "<http://example.org/next>", "<urn:b>")]))
    with pytest.raises(DataError, match=r"epoch \d: reaches.* cannot be written in nquads"):
        invoke(case, "snapshot", "--format", "nquads", "--output", tmp_path / "facts.nq")
    assert not [*tmp_path.glob("*facts.nq*")]
    with pytest.raises(StateError, match="Epoch 9 is not complete"):
        invoke(case, "snapshot", "--at", 9)
    with pytest.raises(DataError, match=r"missing/x: cannot be written"):
        invoke(case, "snapshot", "--output", tmp_path / "missing/x")
    with pytest.raises(ConfigError, match="not both"):
        invoke(case, "consume", "--from-beginning", "--offsets", "x")
    (tmp_path / "other.json").write_text('{"application":"a","epoch":1,"offsets":{"t":{"x":1}}}')
    for name, topic, words in (
        ("missing.json", "t", "cannot be read"),
        ("rules.dl", "t", "is not what"),
        ("other.json", "u", "are of the topic t, not of u"),
        ("other.json", "t", "not by number of partition"),
    ):
        with pytest.raises(DataError, match=words):
            invoke(case, "consume", "--offsets", tmp_path / name, "--topic", topic)
    case.raw["pipeline"]["app_id"] += "-other"
    with pytest.raises(StateError, match=r"Epoch \d is not published yet; the last .* is none"):
        invoke(case, "snapshot")
    case.raw["output"] = {"envelope": "upsert"}
    with pytest.raises(ConfigError, match=r"holds facts .* needs no snapshot"):
        invoke(case, "snapshot")
