"""A stream whose state becomes too large for one store."""

from __future__ import annotations

import itertools
import os
import re
import signal
import threading
import urllib.request

import pytest
from cluster import from_archive
from free_ports import free_port
from oracle import derived, evaluate, total
from pipelines import (
    await_published,
    changes,
    committed,
    eventually,
    fact,
    net,
    new_case,
    producing,
)
from spark_jvm import MARKS_OF_AN_OWN_JVM, PATIENT

from streamreasoner.backends.columnar import arena
from streamreasoner.program import check_text
from streamreasoner.service.supervise import run
from streamreasoner.system.stopping import on_signals

pytestmark = MARKS_OF_AN_OWN_JVM


RULES = "path(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) ."
EDGES = 20


def node(number):
    """The term of a node in a ring."""
    return f"<http://example.org/{number % EDGES}>"


@pytest.mark.parametrize(
    ("full", "until", "said"),
    [
        ("memory", (8, 16, EDGES), ["2 executors"]),
        ("addresses", (8, 11, EDGES), ["2 parts", "4 parts"]),
    ],
)
def test_a_state_that_becomes_too_large_goes_on(  # noqa: PLR0917 - fixtures
    broker, tmp_path, caplog, monkeypatch, request, full, until, said
):
    """With `auto`, a state starts in one store, and moves or is divided within one run.

    On a cluster it moves between two batches when it takes more memory than it may. Elsewhere it is
    divided among twice as many parts when it fills more of their addresses than leaves room for a
    batch, or with the batch whose facts they cannot address: more parts evaluate it again. The
    metrics name the backend that runs.
    """
    port = free_port()
    case = new_case(broker, tmp_path, RULES, partitions=1, server={"port": port})
    case.raw["pipeline"]["backend"] = "auto"
    if full == "memory":
        case.raw["pipeline"]["max_state_bytes"] = 1
        options = {
            **PATIENT,
            **from_archive(tmp_path),
            "spark.master": "local-cluster[2,2,1024]",
        }
        case.raw["spark"] = {"options": options}
    else:
        request.getfixturevalue("joined_jvm")
        # The first facts take less than the share at which `auto` divides, the next take more; the
        # last do not fit.
        monkeypatch.setattr(arena, "ADDRESSABLE_UNITS", 112)
    sent, place = [], "executors" if full == "memory" else "columnar"
    named = []

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
            for first, last in itertools.pairwise((0, *until)):
                now = [("edge", (node(n), node(n + 1)), 1) for n in range(first, last)]
                # They arrive as one, so that they are one batch.
                with producing(case, linger_ms=1000) as send:
                    delivered = send(fact("edge", *ends) for _, ends, _ in now)
                await_published(case, delivered)
                sent.append(now)
            eventually(backends, [place])
            named.append(place)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    # Only the main thread handles signals, so it runs the pipeline; another thread drives it.
    driving = threading.Thread(target=drive)
    with caplog.at_level("INFO", "streamreasoner"):
        driving.start()
        with on_signals() as stop:
            run(case.config, stop)
    driving.join()
    assert re.findall(r"continues .*?(\d \w+)", caplog.text) == said
    assert (full != "memory") == ("can be addressed" in caplog.text)
    assert committed(case, case.kafka.dead_letter_topic) == []
    assert (tmp_path / "state" / "backend").read_text() == place
    assert len(sent) == 3
    assert named == [place]
    assert net(changes(case)) == derived(evaluate(check_text(RULES), total(sent)))
