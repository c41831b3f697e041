"""SIGKILL of the broker under a running pipeline: it recovers, or fails and is restarted."""

from __future__ import annotations

import gc
import random

import pytest
from graphs import RULES, expected, random_edges
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

from streamreasoner.io.kafka.broker import Broker

# Clients of kafka-python drop a connection that a killed broker leaves half open, and do not close
# its socket.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(autouse=True)
def _no_open_sockets():
    """Collect dropped sockets here, so that no later test is blamed for them."""
    yield
    gc.collect()


def test_the_broker_is_killed_twice(tmp_path):
    """Input before, between and after the crashes is evaluated once, with restarts if needed."""
    rng = random.Random(5)
    with Broker(tmp_path / "kafka") as broker, (tmp_path / "driver.log").open("ab") as log:
        case = new_case(broker, tmp_path / "case", RULES)
        command = ["-m", "streamreasoner", "run", "--config", case.file]
        process, sent, exits = spawn(command, log), [], []
        try:
            for crash in range(3):
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
                if crash < 2:
                    broker.kill()
                    broker.start()
            assert terminate(process) in (0, 1)
        finally:
            process.kill()
            process.wait()
        assert all(code == 1 for code in exits)
        assert "Traceback" not in (tmp_path / "driver.log").read_text()
        output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(sent)
