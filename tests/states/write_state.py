"""Write a small state with the release that is imported: `write_state.py NAME BACKEND`.

Run it with the package and the tests of the release on the Python path. NAME.tar.xz has the state
directory, checkpoint included, and `record.json`: what was sent to which topic and partition, and
what the topics of the pipeline then held. A test sends the same to another broker and goes on.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
from pathlib import Path

from pipelines import Case, await_published, changes, committed, fact, produce

from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.kafka.topics import create_topics
from streamreasoner.service.assemble import pipeline

RULES = """\
@input road/3, town/1, start/1 .
distance(?x, 0) :- start(?x) .
distance(?y, min(?d + ?w)) :- distance(?x, ?d), road(?x, ?y, ?w) .
linked(?x, ?y) :- road(?x, ?y, _) .
linked(?x, ?z) :- linked(?x, ?y), road(?y, ?z, _) .
roads(?x, count(?y)) :- road(?x, ?y, _) .
label(?x, ?l) :- town(?x), ?l = lower("TOWN") .
town("home") .
"""
ADDED = "cutOff(?x) :- town(?x), not linked(_, ?x) .\n"
STATES = Path(__file__).parent
"""The folder of the archives."""
ROADS = (("a", "b", 7), ("b", "c", 1), ("a", "c", 3), ("c", "b", 1), ("c", "d", 9), ("d", "a", 2))


def updates():
    """The updates of each epoch."""
    literal = '"{}"'.format
    number = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'.format
    roads = [("road", literal(x), literal(y), number(w)) for x, y, w in ROADS]
    towns = [("town", literal(name)) for name in "abcde"]
    yield [(*one, 1) for one in (*towns, *roads, ("start", literal("a")))]
    yield [(*roads[2], -1), ("town", literal("a"), 1)]


def configuration(bootstrap_servers, directory, app_id, backend):
    """A pipeline on topics that have names of their own."""
    raw = {
        "kafka": {
            "bootstrap_servers": bootstrap_servers,
            "input_topics": [f"{app_id}-in"],
            "output_topic": f"{app_id}-out",
        },
        "rules": {"program": "./rules.dl", "control_topic": f"{app_id}-control"},
        "state": {"directory": "state"},
        "pipeline": {"app_id": app_id, "backend": backend},
        "server": {"port": 0},
    }
    return Case(raw, directory)


def make_topics(case):
    """Create the topics of the pipeline, each with one partition."""
    create_topics(case.kafka, 1, 1, case.config.rules.control_topic)


def write(case):
    """Run a pipeline through three epochs, and return the record of its topics."""
    (case.directory / "rules.dl").write_text(RULES)
    make_topics(case)
    (facts,), control = case.kafka.input_topics, case.config.rules.control_topic
    sent = []
    with pipeline(case.config):
        first, second = updates()
        for topic, values in (
            (facts, [fact(*args, diff=diff) for *args, diff in first]),
            (control, [json.dumps({"operation": "add", "rules": ADDED}).encode()]),
            (facts, [fact(*args, diff=diff) for *args, diff in second]),
        ):
            await_published(case, produce(case, values, topic))
            sent += ([topic, value.decode()] for value in values)
    markers = committed(case, case.kafka.progress_topic)
    return {
        "sent": sent,
        "markers": [[one.key.decode(), one.value.decode()] for one in markers],
        "changes": [[*one, diff] for one, diff, _ in changes(case)],
    }


def main(name, backend):
    """Write the archive."""
    left_out = "state/tmp"
    with tempfile.TemporaryDirectory() as folder, Broker() as broker:
        directory = Path(folder)
        record = write(configuration(broker.bootstrap_servers, directory, name, backend))
        (directory / "record.json").write_text(json.dumps(record, indent=1))
        with tarfile.open(f"{name}.tar.xz", "w:xz") as file:
            for part in ("rules.dl", "record.json", "state"):
                file.add(
                    directory / part,
                    part,
                    filter=lambda entry: None if entry.name.startswith(left_out) else entry,
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
