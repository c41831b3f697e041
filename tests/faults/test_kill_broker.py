"""The broker is killed, or silent, under a running pipeline: it goes on, or is restarted."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
from contextlib import suppress

import pytest
from graphs import RULES, expected, random_edges
from half_open import Proxy
from pipelines import (
    changes,
    eventually,
    net,
    new_case,
    no_change_twice,
    produce,
    published,
    spawn,
    terminate,
    triple,
)
from thorough import THOROUGH

from streamreasoner.io.kafka.broker import Broker

# Clients of kafka-python drop a connection that a killed broker leaves half open, and do not close
# its socket.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
OUTAGE_SECONDS = 60 if THOROUGH else 4
_ADVERTISED = "advertised.listeners=PLAINTEXT://127.0.0.1:{}\n"


@pytest.fixture(autouse=True)
def _no_open_sockets():
    """Collect dropped sockets here, so that no later test is blamed for them."""
    yield
    gc.collect()


def last(process):
    """Let an outage last, unless the pipeline ends in it."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(OUTAGE_SECONDS)


def restarted(broker, _):
    """The broker is killed and started again."""
    broker.kill()
    broker.start()


def away(broker, process):
    """The broker is killed, and away for some time."""
    broker.kill()
    last(process)
    broker.start()


def silent(broker, process):
    """The broker is stopped for some time: connections stay and can be made, without an answer."""
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        last(process)
    finally:
        os.kill(broker.pid, signal.SIGCONT)


OUTAGES = {"killed and silent": (restarted, silent)}
if THOROUGH:
    OUTAGES |= {"killed twice": (restarted,) * 2, "away": (away,) * 2, "silent": (silent,) * 2}


def go_on(broker, case, outages, log):
    """Input before, between and after two outages is evaluated once, with restarts if needed."""
    rng = random.Random(5)
    command = ["-m", "streamreasoner", "run", "--config", case.file]
    process, sent, exits = spawn(command, log), [], []
    try:
        for outage in (*outages, None):
            now = list(random_edges(rng, 100))
            records = produce(case, (triple(*args, diff=diff) for args, diff in now))
            sent += now
            ends = {record.partition: record.offset + 1 for record in records}

            def behind():
                nonlocal process
                if process.poll() is not None:
                    exits.append(process.returncode)
                    process = spawn(command, log)
                done = published(case)
                return any(done.get(p, 0) < end for p, end in ends.items())  # noqa: B023

            # Each reading makes a consumer, which takes more CPU time than the pipeline.
            eventually(behind, expected=False, every=1)
            if outage is not None:
                outage(broker, process)
        assert terminate(process) in (0, 1)
    finally:
        process.kill()
        process.wait()
    assert all(code == 1 for code in exits)
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(sent)


@pytest.mark.parametrize("name", OUTAGES)
def test_the_broker_is_out_twice(tmp_path, name):
    """All input is evaluated once, and no traceback is shown."""
    with Broker(tmp_path / "kafka") as broker, (tmp_path / "driver.log").open("ab") as log:
        go_on(broker, new_case(broker, tmp_path / "case", RULES), OUTAGES[name], log)
    assert "Traceback" not in (tmp_path / "driver.log").read_text()


@pytest.mark.skipif(not THOROUGH, reason="takes minutes; part of `make test-thorough`")
def test_connections_are_half_open(tmp_path):
    """Those of the pipeline carry nothing any more, while the broker answers new ones."""
    with (
        Proxy() as proxy,
        Broker(tmp_path / "kafka", _ADVERTISED.format(proxy.port), proxy.target) as broker,
        (tmp_path / "driver.log").open("ab") as log,
    ):
        case = new_case(f"127.0.0.1:{proxy.port}", tmp_path / "case", RULES)
        go_on(broker, case, (lambda *_: proxy.drop(),) * 2, log)
    assert proxy.dropped
    assert "Traceback" not in (tmp_path / "driver.log").read_text()
