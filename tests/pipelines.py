"""Building blocks of tests with a real pipeline: configurations, topics, producers, readers.

Input is produced and output is read by kafka-python, which the pipeline's own hot path does not
use.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from spark_jvm import PATIENT, stop_context

from streamreasoner.config import parse
from streamreasoner.io.kafka.topics import create_topics

DEADLINE_SECONDS = int(os.environ.get("TEST_DEADLINE_SECONDS", "300"))
"""The most that a busy machine needs; a passing test does not wait that long."""


@dataclass(frozen=True)
class Case:
    """A separate pipeline: unique topics, an application id and a state directory.

    Attributes:
        raw: The configuration as a TOML document.
        directory: Where configuration, rules and state are.
    """

    raw: dict
    directory: Path

    @property
    def config(self):
        """The checked configuration."""
        return parse(self.raw, {}, self.directory)

    @property
    def file(self):
        """The configuration as a file."""
        path = self.directory / "streamreasoner.toml"
        path.write_text(
            "\n".join(
                f"[{section}]\n" + "\n".join(f"{key} = {toml(v)}" for key, v in table.items())
                for section, table in self.raw.items()
            )
        )
        return path

    @property
    def kafka(self):
        """The section [kafka]."""
        return self.config.kafka


def toml(value):
    """A TOML value; strings, numbers, booleans and lists are written as in JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{name}" = {toml(item)}' for name, item in value.items()) + "}"
    return json.dumps(value)


def new_case(broker, directory, program, *, partitions=2, topics=True, **sections):
    """A case with rules given as text, and its topics."""
    name = uuid.uuid4().hex[:12]
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "rules.dl").write_text(program)
    raw = {
        "kafka": {
            "bootstrap_servers": broker if isinstance(broker, str) else broker.bootstrap_servers,
            "input_topics": [f"in-{name}"],
            "output_topic": f"out-{name}",
        },
        "rules": {"program": "./rules.dl"},
        "state": {"directory": "state"},
        "pipeline": {"app_id": f"app-{name}", "batch_timeout": 600},
        "server": {"port": 0},
        "spark": {"options": PATIENT},
    }
    for section, table in sections.items():
        raw[section] = {**raw.get(section, {}), **table}
    case = Case(raw, directory)
    if topics:
        config = case.config
        control, upsert = config.rules.control_topic, config.output.upsert
        create_topics(config.kafka, partitions, 1, control, upsert=upsert)
    return case


def triple(s, p, o, diff=1, **fields):
    """The JSON value of an update of a triple."""
    return json.dumps({"s": s, "p": p, "o": o, "diff": diff, **fields}).encode()


def fact(predicate, *args, diff=1, **fields):
    """The JSON value of an update of a fact."""
    return json.dumps({"predicate": predicate, "args": list(args), "diff": diff, **fields}).encode()


@contextmanager
def producing(case, linger_ms=5):
    """A function that sends messages, as `produce` does, through one producer."""
    producer = KafkaProducer(bootstrap_servers=case.kafka.bootstrap_servers, linger_ms=linger_ms)

    def send(messages, topic=None):
        topic = case.kafka.input_topics[0] if topic is None else topic
        partitions = itertools.cycle(sorted(producer.partitions_for(topic)))
        sent = []
        for message in messages:
            parts = message if isinstance(message, tuple) else (message,)
            value, headers, key, timestamp = (*parts, None, None, None)[:4]
            sent.append(
                producer.send(
                    topic,
                    value=value,
                    key=key,
                    headers=headers,
                    partition=next(partitions),
                    timestamp_ms=timestamp,
                )
            )
        return [future.get(DEADLINE_SECONDS) for future in sent]

    try:
        yield send
    finally:
        producer.close()


def produce(case, messages, topic=None):
    """Send values, or (value, headers, key, ...), over the partitions; returns when delivered.

    A timestamp may follow the key. The topic defaults to the first input topic.
    """
    with producing(case) as send:
        return send(messages, topic)


def recreate(case, topic, partitions=1, configs=None):
    """Delete a topic and create it again, empty; nothing else is changed but its settings."""
    admin = KafkaAdminClient(bootstrap_servers=case.kafka.bootstrap_servers)
    if configs is None:
        configs = {"cleanup.policy": "compact"} if topic == case.kafka.progress_topic else {}
    config = {"num_partitions": partitions, "replication_factor": 1, "configs": configs}
    try:
        admin.delete_topics([topic])
        eventually(lambda: topic in admin.list_topics(), expected=False)
        admin.create_topics({topic: config}, wait_for_metadata=True)
    finally:
        admin.close()


@contextmanager
def open_transaction(case, topic):
    """A transaction of another application with a record on a topic; gives a function to end it."""
    producer = KafkaProducer(
        bootstrap_servers=case.kafka.bootstrap_servers, transactional_id=f"other-{topic}"
    )
    ended = threading.Event()

    def end():
        if not ended.is_set():
            ended.set()
            producer.abort_transaction()

    try:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, key=b"other", value=b"{}").get()
        yield end
        end()
    finally:
        producer.close()


@contextmanager
def reader(case, topic):
    """A consumer of committed messages at the beginning of all partitions of a topic."""
    consumer = KafkaConsumer(
        bootstrap_servers=case.kafka.bootstrap_servers,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    try:
        partitions = [
            TopicPartition(topic, n) for n in sorted(consumer.partitions_for_topic(topic))
        ]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        yield consumer
    finally:
        consumer.close()


def committed(case, topic):
    """All committed messages of a topic up to its present end."""
    with reader(case, topic) as consumer:
        ends = consumer.end_offsets(list(consumer.assignment()))
        records = []
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            for messages in consumer.poll(timeout_ms=200).values():
                records += messages
        return records


def changes(case):
    """The committed changes of the output topic, as (fact, diff, epoch), in offset order."""
    return [parse_change(message.value) for message in committed(case, case.kafka.output_topic)]


def parse_change(value):
    """One change as (fact, diff, epoch); a fact is its predicate and arguments."""
    change = json.loads(value)
    if "s" in change:
        return ("triple", (change["s"], change["p"], change["o"])), change["diff"], change["epoch"]
    return (change["predicate"], tuple(change["args"])), change["diff"], change["epoch"]


def net(changes):
    """The facts whose diffs sum to 1; every sum must be 0 or 1."""
    sums = Counter()
    for fact, diff, _ in changes:
        sums[fact] += diff
    assert set(sums.values()) <= {0, 1}
    return {fact for fact, total in sums.items() if total}


def no_change_twice(changes):
    """Whether every fact changes at most once in each epoch."""
    seen = Counter((fact, epoch) for fact, _, epoch in changes)
    return all(times == 1 for times in seen.values())


def eventually(read, expected, every=0.1):
    """Read until the result is as expected, with pauses; fail with the last one at the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while (result := read()) != expected:
        if time.monotonic() > deadline:
            message = f"{result!r}, and not {expected!r}"
            raise AssertionError(message)
        time.sleep(every)
    return result


def published(case, topic=None):
    """The offsets of a topic up to which epochs are published, by partition; {} before the first.

    The topic defaults to the first input topic.
    """
    markers = _markers(case, committed(case, case.kafka.progress_topic))
    if not markers:
        return {}
    return _ends(markers[-1], topic or case.kafka.input_topics[0])


def _markers(case, records):
    """The markers of the application on the progress topic since it was last reset."""
    application = case.config.pipeline.app_id.encode()
    own = [record for record in records if record.key == application]
    deleted = max((at for at, record in enumerate(own) if record.value is None), default=-1)
    return own[deleted + 1 :]


def _ends(marker, topic):
    """The offsets up to which a marker records epochs as published, by partition."""
    ranges = json.loads(marker.value)["offsets"].get(topic, {})
    return {int(partition): end for partition, (_, end) in ranges.items()}


def await_published(case, sent, process=None):
    """Wait until every sent message is in a published epoch; the process, if given, must go on."""
    ends = {}
    for record in sent:
        place = record.topic, record.partition
        ends[place] = max(ends.get(place, 0), record.offset + 1)

    deadline = time.monotonic() + DEADLINE_SECONDS
    behind = ends
    # One waiting consumer: a new consumer for each check takes more CPU time than the pipeline.
    with reader(case, case.kafka.progress_topic) as consumer:
        while behind:
            assert time.monotonic() < deadline, behind
            assert process is None or process.poll() is None, behind
            for records in consumer.poll(timeout_ms=1000).values():
                for marker in _markers(case, records)[-1:]:
                    done = {
                        (topic, partition): end
                        for topic in {topic for topic, _ in ends}
                        for partition, end in _ends(marker, topic).items()
                    }
                    behind = {at: end for at, end in ends.items() if done.get(at, 0) < end}


def await_publication(case, process):
    """Wait until a process publishes another epoch, or ends."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    with reader(case, case.kafka.progress_topic) as consumer:
        consumer.seek_to_end(*consumer.assignment())
        while process.poll() is None:
            assert time.monotonic() < deadline
            for records in consumer.poll(timeout_ms=1000).values():
                if _markers(case, records):
                    return


def spawn(arguments, log, stdin=None, program=sys.executable):
    """A process, of Python by default, that can import the package and the tests."""
    root = Path(__file__).resolve().parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")]),
        "PYTHONUNBUFFERED": "1",
    }
    return subprocess.Popen(
        [program, *map(str, arguments)],
        stdin=stdin,
        stdout=log,
        stderr=log,
        env=environment,
        cwd=root,
    )


@contextmanager
def running(arguments, case, program=sys.executable):
    """A driver process, killed on exit if it still runs; its output goes to a file."""
    with (case.directory / "driver.log").open("ab") as log:
        process = spawn(arguments, log, program=program)
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            stop_context()


def terminate(process):
    """Ask a process to stop and return its exit code."""
    process.send_signal(signal.SIGTERM)
    return process.wait(DEADLINE_SECONDS)
