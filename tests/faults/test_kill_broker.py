"""The broker is killed, or silent, under a running pipeline: the same process goes on."""

from __future__ import annotations

import gc
import os
import random
import signal
import time

import pytest
from graphs import RULES, expected, random_edges
from half_open import Proxy
from pipelines import (
    await_published,
    changes,
    net,
    new_case,
    no_change_twice,
    produce,
    running,
    terminate,
    triple,
)
from thorough import THOROUGH

from streamreasoner.io.kafka.broker import Broker

# Clients of kafka-python drop a connection that a killed broker leaves half open, and do not close
# its socket.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.usefixtures("joined_jvm"),
]
OUTAGE_SECONDS = 60 if THOROUGH else 4
_ADVERTISED = "advertised.listeners=PLAINTEXT://127.0.0.1:{}\n"


@pytest.fixture(autouse=True)
def _no_open_sockets():
    """Collect dropped sockets here, so that no later test is blamed for them."""
    yield
    gc.collect()


def restarted(broker):
    """The broker is killed and started again."""
    broker.kill()
    broker.start()


def away(broker):
    """The broker is killed, and away for some time."""
    broker.kill()
    time.sleep(OUTAGE_SECONDS)
    broker.start()


def silent(broker):
    """The broker is stopped for some time: connections stay and can be made, without an answer."""
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        time.sleep(OUTAGE_SECONDS)
    finally:
        os.kill(broker.pid, signal.SIGCONT)


OUTAGES = {"killed and silent": (restarted, silent)}
if THOROUGH:
    OUTAGES |= {"killed twice": (restarted,) * 2, "away": (away,) * 2, "silent": (silent,) * 2}


def goes_on(broker, directory, servers, outages):
    """Input before, between and after outages is evaluated once, by one process."""
    case = new_case(servers, directory, RULES)
    rng, sent = random.Random(5), []
    with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
        for outage in (*outages, None):
            now = list(random_edges(rng, 100))
            records = produce(case, (triple(*args, diff=diff) for args, diff in now))
            sent += now
            await_published(case, records, process)
            if outage is not None:
                outage(broker)
        assert terminate(process) == 0
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(sent)
    assert "Traceback" not in (directory / "driver.log").read_text()


@pytest.mark.parametrize("name", OUTAGES)
def test_the_broker_is_out_twice(tmp_path, name):
    """Each outage is survived."""
    with Broker(tmp_path / "kafka") as broker:
        goes_on(broker, tmp_path / "case", broker, OUTAGES[name])


@pytest.mark.skipif(not THOROUGH, reason="takes minutes; part of `make test-thorough`")
def test_connections_are_half_open(tmp_path):
    """Those of the pipeline carry nothing any more, while the broker answers new ones."""
    with (
        Proxy() as proxy,
        Broker(tmp_path / "kafka", _ADVERTISED.format(proxy.port), proxy.target) as broker,
    ):
        servers = f"127.0.0.1:{proxy.port}"
        goes_on(broker, tmp_path / "case", servers, (lambda _: proxy.drop(),) * 2)
    assert proxy.dropped
