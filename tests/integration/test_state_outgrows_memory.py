"""A stream whose state moves to Spark, in one process."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
import urllib.request
import uuid

import pytest
from cluster import CHEAP
from control_builders import control
from oracle import derived, evaluate, total
from pipelines import (
    await_published,
    changes,
    committed,
    eventually,
    fact,
    net,
    new_case,
    produce,
)
from spark_backend import MARKS_OF_AN_OWN_JVM
from thorough import THOROUGH

from streamreasoner.backends.columnar import arena
from streamreasoner.program import check_text
from streamreasoner.service.supervise import run
from streamreasoner.system.stopping import on_signals

pytestmark = MARKS_OF_AN_OWN_JVM


RULES = "path(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) ."
MORE = "near(?y, ?x) :- edge(?x, ?y) .\nend(?x) :- edge(?x, ?y) .\nend(?y) :- edge(?x, ?y) .\n"


@pytest.mark.parametrize("full", ["memory", "arena", "change"])
def test_a_state_that_outgrows_memory_goes_on_in_spark(  # noqa: PLR0917 - fixtures
    broker, tmp_path, caplog, monkeypatch, request, full
):
    """With `auto`, a state starts in memory and moves to Spark within one run.

    Between two batches when it takes more memory than it may, and with the batch whose facts or
    change of the program cannot be addressed when that ends first: Spark evaluates it again.
    The metrics name the backend that runs.
    """
    if not THOROUGH or full != "memory":
        # With time, the first case starts two JVMs, one after the other.
        request.getfixturevalue("joined_jvm")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    topic = f"control-{uuid.uuid4().hex[:12]}"
    case = new_case(broker, tmp_path, RULES, server={"port": port}, rules={"control_topic": topic})
    case.raw["pipeline"]["backend"] = "auto"
    if full == "memory":
        case.raw["pipeline"]["max_state_bytes"] = 1
        case.raw["spark"] = {"options": {"spark.driver.defaultJavaOptions": CHEAP}}
    else:
        # The first fact takes less than the share at which `auto` moves; the second does not fit,
        # nor does what the other rules derive from the first.
        monkeypatch.setattr(arena, "ADDRESSABLE_UNITS", 22)
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
                if full == "change" and len(sent) == 1:
                    await_published(case, produce(case, [control("add", MORE)], topic))
            eventually(backends, ["spark"])
            named.append("spark")
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    # Only the main thread handles signals, so it runs the pipeline; another thread drives it.
    driving = threading.Thread(target=drive)
    with caplog.at_level("INFO", "streamreasoner"):
        driving.start()
        with on_signals() as stop:
            run(case.config, stop)
    driving.join()
    assert "Continuing in Spark" in caplog.text
    assert (full != "memory") == ("can be addressed" in caplog.text)
    assert committed(case, case.kafka.dead_letter_topic) == []
    assert (tmp_path / "state" / "backend").read_text() == "spark"
    assert len(sent) == 3
    assert named == ["spark"]
    rules = RULES + MORE * (full == "change")
    assert net(changes(case)) == derived(evaluate(check_text(rules), total([sent])))
