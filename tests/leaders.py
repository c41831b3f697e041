"""Processes of one pipeline, of which one leads and others stand by."""

from __future__ import annotations

import subprocess
import time
import urllib.request
from contextlib import suppress
from urllib.error import HTTPError

from free_ports import free_port
from pipelines import DEADLINE_SECONDS, Case, spawn


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

    @classmethod
    def started(cls, case, stack):
        """A process that is killed at the latest when a stack is closed."""
        process = cls(case)
        stack.callback(process.end)
        return process

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
            self.pause(0.1)

    def pause(self, seconds):
        """Wait, but not for a process that has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.running.wait(seconds)

    def end(self):
        """Kill it."""
        self.running.kill()
        self.running.wait()
