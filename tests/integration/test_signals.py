"""Whenever a signal comes, a pipeline ends with 0, and the next one goes on."""

from __future__ import annotations

import random
import re
import signal
import socket
import subprocess
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest
from pipelines import (
    DEADLINE_SECONDS,
    await_published,
    changes,
    eventually,
    fact,
    net,
    new_case,
    produce,
    running,
    terminate,
)
from spark_jvm import joined
from thorough import THOROUGH

from streamreasoner.service.supervise import run
from streamreasoner.system import stopping

RULES = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"
SIGNALS = (signal.SIGTERM, signal.SIGINT)
START_SECONDS = 12.0
AFTER_SECONDS = 0.5


def await_handler(process, number):
    """Wait until a process has a handler for a signal."""

    def caught():
        status = Path(f"/proc/{process.pid}/status").read_text()
        [mask] = re.findall(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
        return int(mask, 16) >> (number - 1) & 1

    eventually(caught, 1, every=0.01)


def await_reading(case, starts):
    """Wait until pipelines have said that they read this many times."""
    log = case.directory / "driver.log"
    eventually(lambda: log.read_text().count("Reading "), starts, every=0.01)


def test_a_start_that_is_ended_has_not_failed(tmp_path, monkeypatch):
    """A broker that never answers is not an error of a process that is asked to end meanwhile."""
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 3600)
    stop = stopping.Stop()
    with closing(stop), socket.create_server(("127.0.0.1", 0)) as silent:

        def end():
            """Ask for the end as soon as the start waits for the broker."""
            connection, _ = silent.accept()
            with connection:
                stop.request()

        asking = threading.Thread(target=end)
        asking.start()
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        run(new_case(address, tmp_path, RULES, topics=False).config, stop)
        asking.join()
    assert stop.ends_start


@pytest.mark.parametrize("seed", range(20 if THOROUGH else 1))
def test_a_signal_ends_a_start_whenever_it_comes(broker, spark_environment, tmp_path, seed):
    """At random moments of a start, and in the half second after it has said that it reads."""
    case = new_case(broker, tmp_path, RULES)
    generator = random.Random(seed)
    for moment in range(10 if THOROUGH else 2):
        number = generator.choice(SIGNALS)
        with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
            await_handler(process, number)
            begun = moment % 2
            if begun:
                starts = (case.directory / "driver.log").read_text().count("Reading ")
                await_reading(case, starts + 1)
            delay = generator.uniform(0, AFTER_SECONDS if begun else START_SECONDS)
            with suppress(subprocess.TimeoutExpired):
                process.wait(delay)
            process.send_signal(number)
            assert process.wait(DEADLINE_SECONDS) == 0, (moment, delay, number)
    sent = produce(case, [fact("edge", "<urn:a>", "<urn:b>"), fact("edge", "<urn:b>", "<urn:c>")])
    with (
        joined(spark_environment),
        running(["-m", "streamreasoner", "run", "--config", case.file], case) as process,
    ):
        await_published(case, sent)
        assert terminate(process) == 0
    assert len(net(changes(case))) == 3
