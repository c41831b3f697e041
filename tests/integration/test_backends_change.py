"""A stream that goes from one backend to the other, on real Kafka, Spark and Delta."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import threading
import urllib.request
import uuid

import pytest
from control_builders import control
from oracle import derived, evaluate, total
from pipelines import (
    await_published,
    changes,
    eventually,
    fact,
    net,
    new_case,
    no_change_twice,
    produce,
)
from spark_backend import MARKS

from streamreasoner.analysis import check_text
from streamreasoner.app import pipeline, run
from streamreasoner.backends.columnar import state

pytestmark = MARKS


RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
degree(?x, count(?y)) :- edge(?x, ?y) .
"""
FAR = "far(?x, ?y) :- path(?x, ?y), not edge(?x, ?y) .\n"
# One after the other: where the state is, and the program that comes meanwhile.
LEGS = (("columnar", RULES + FAR), ("spark", RULES), ("spark", RULES + FAR), ("columnar", FAR))


def test_a_stream_goes_from_one_backend_to_the_other(broker, tmp_path):
    """Columnar, Spark, Spark again, columnar: the output is what one run would have published.

    With every backend the program changes, and the next one goes on with the one in effect.
    """
    generator = random.Random(3)
    node = [f"<http://example.org/n{number}>" for number in range(5)]
    sent = []
    topic = f"control-{uuid.uuid4().hex[:12]}"
    case = new_case(broker, tmp_path, RULES, rules={"control_topic": topic})
    for backend, rules in LEGS:
        case.raw["pipeline"]["backend"] = backend
        with pipeline(case.config):
            ends = [(generator.choice(node), generator.choice(node)) for _ in range(8)]
            now = [("edge", pair, generator.choice((1, 1, -1))) for pair in ends]
            records = produce(case, (fact(name, *args, diff=diff) for name, args, diff in now))
            records += produce(case, [control("replace", rules)], topic)
            await_published(case, records)
            sent += now
        found = changes(case)
        assert no_change_twice(found)
        assert net(found) == derived(evaluate(check_text(rules), total([sent])))


@pytest.mark.parametrize("full", ["memory", "arena"])
def test_a_state_that_outgrows_memory_goes_on_in_spark(broker, tmp_path, caplog, monkeypatch, full):
    """With `auto` a stream begins in memory, and goes on in Spark within one run.

    Between two batches when it takes more memory than it may, and with the batch whose facts
    cannot be addressed when that ends first: Spark evaluates it again.
    The metrics name the backend that runs.
    """
    rules = "path(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) ."
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    case = new_case(broker, tmp_path, rules, metrics={"port": port})
    case.raw["pipeline"]["backend"] = "auto"
    if full == "memory":
        case.raw["pipeline"]["max_state_bytes"] = 1
    else:
        monkeypatch.setattr(state, "ADDRESSABLE_UNITS", 16)
    sent, named = [], []

    def backends():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                text = answer.read().decode()
        except OSError:
            return []
        return re.findall(r'^streamreasoner_build_info{backend="(\w+)"', text, re.MULTILINE)

    def drive():
        try:
            eventually(backends, ["columnar"])
            for ends in ("ab", "bc", "ca"):
                now = ("edge", tuple(f"<http://example.org/{end}>" for end in ends), 1)
                await_published(case, produce(case, [fact(now[0], *now[1], diff=1)]))
                sent.append(now)
            eventually(backends, ["spark"])
            named.append("spark")
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    # Signals are the main thread's: it runs the pipeline, and another one drives it.
    driving = threading.Thread(target=drive)
    with caplog.at_level("INFO", "streamreasoner"):
        driving.start()
        run(case.config)
    driving.join()
    assert "It goes on in Spark" in caplog.text
    assert (full == "arena") == ("can be addressed" in caplog.text)
    assert len(net(changes(case))) == 3
    assert (tmp_path / "state" / "backend").read_text() == "spark"
    assert len(sent) == 3
    assert named == ["spark"]
    assert net(changes(case)) == derived(evaluate(check_text(rules), total([sent])))
