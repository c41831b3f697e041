"""Kafka goes away while there is no input: a pipeline says so, and ends when it is asked to."""

from __future__ import annotations

import gc
import os
import signal
from itertools import pairwise

import pytest
from free_ports import free_port
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
from serving import ask

from streamreasoner.io.kafka.broker import Broker

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.usefixtures("joined_jvm"),
]
RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"
METRIC = "streamreasoner_waiting_for_kafka"


@pytest.fixture(autouse=True)
def _no_open_sockets():
    """Collect dropped sockets here, so that no later test is blamed for them."""
    yield
    gc.collect()


def said(port):
    """The status of readiness, and the metric."""
    metrics = ask(port, "/metrics").body.splitlines()
    (value,) = [line.split()[1] for line in metrics if line.startswith(f"{METRIC} ")]
    return ask(port, "/readyz").status, float(value)


def test_an_idle_pipeline_notices_that_kafka_is_away(tmp_path):
    """Silent, then back, then killed: noticed and logged each time; SIGTERM ends it meanwhile."""
    edges = list(pairwise([f"<http://e/{number}>" for number in range(4)]))
    with Broker(tmp_path / "kafka") as broker:
        port = free_port()
        case = new_case(broker, tmp_path / "case", RULES, server={"port": port})
        command = ["-m", "streamreasoner", "run", "--config", case.file]
        log = case.directory / "driver.log"
        with running(command, case) as process:
            await_published(case, produce(case, [fact("edge", *edges[0])]), process)
            assert said(port) == (200, 0)
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                eventually(lambda: said(port), expected=(503, 1))
            finally:
                os.kill(broker.pid, signal.SIGCONT)
            eventually(lambda: said(port), expected=(200, 0))
            await_published(case, produce(case, [fact("edge", *edges[1])]), process)
            broker.kill()
            eventually(lambda: said(port), expected=(503, 1))
            assert terminate(process) == 0
        text = log.read_text()
        assert (text.count("Waiting for Kafka."), text.count("Kafka is back")) == (2, 1)
        assert "Ending while Kafka is away. Nothing is lost." in text
        assert "Traceback" not in text
        broker.start()
        with running(command, case) as process:
            await_published(case, produce(case, [fact("edge", *edges[2])]), process)
            assert terminate(process) == 0
        output = changes(case)
    assert no_change_twice(output)
    assert net(output) == {("path", edge) for edge in edges}
