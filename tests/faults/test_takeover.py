"""SIGKILL of a pipeline while another process stands by: it goes on, and output is exactly-once."""

from __future__ import annotations

import random
import subprocess
import time
import urllib.request
from contextlib import ExitStack, suppress
from urllib.error import HTTPError

from crashes import changing, check_output
from graphs import RULES
from pipelines import (
    DEADLINE_SECONDS,
    Case,
    await_publication,
    await_published,
    new_case,
    spawn,
    terminate,
)
from prometheus_server import free_port
from thorough import THOROUGH

TAKEOVERS = 100 if THOROUGH else 3


class Process:
    """A process of a pipeline, with a port of its own."""

    def __init__(self, case):
        self._port = free_port()
        own = Case({**case.raw, "server": {"port": self._port}}, case.directory)
        file = case.directory / f"{self._port}.toml"
        own.file.rename(file)
        with (case.directory / "driver.log").open("ab") as log:
            command = ["-m", "streamreasoner", "run", "--standby", "--config", file]
            self.running = spawn(command, log)

    def get(self, path):
        """What the process says at a path; the empty text before it does."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}") as answer:
                return answer.read().decode()
        except HTTPError as error:
            return error.read().decode()
        except OSError:
            return ""

    def await_ready(self, beginning):
        """Wait until `/readyz` says something that begins so."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not (said := self.get("/readyz")).startswith(beginning):
            assert self.running.poll() is None
            assert time.monotonic() < deadline, said
            with suppress(subprocess.TimeoutExpired):
                self.running.wait(0.1)

    def end(self):
        """Kill it."""
        self.running.kill()
        self.running.wait()


def test_another_process_takes_over(broker, tmp_path):
    """Whenever it is killed, the one that stands by goes on; nothing is lost or published twice."""
    case, rng = new_case(broker, tmp_path, RULES), random.Random(4)
    with ExitStack() as stack:

        def start():
            process = Process(case)
            stack.callback(process.end)
            return process

        with changing(case, rng) as (sent, records):
            leader = start()
            leader.await_ready("ok: the query is running")
            for _ in range(TAKEOVERS):
                standby = start()
                standby.await_ready(f"standing by for process {leader.running.pid}, at epoch ")
                assert standby.get("/healthz").startswith("ok: standing by")
                assert "\nstreamreasoner_standby 1.0" in standby.get("/metrics")
                # The moment of the kill is random; nothing waits for it.
                with suppress(subprocess.TimeoutExpired):
                    leader.running.wait(rng.uniform(0.0, 1.5))
                leader.end()
                leader = standby
                await_publication(case, leader.running)
                leader.await_ready("ok: the query is running")
                assert "\nstreamreasoner_standby 0.0" in leader.get("/metrics")
        standby = start()
        standby.await_ready("standing by")
        await_published(case, records, leader.running)
        assert terminate(standby.running) == 0
        assert terminate(leader.running) == 0
    assert "A term has another id" not in (case.directory / "driver.log").read_text()
    check_output(case, sent)
