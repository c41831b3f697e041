"""Run the demo from startup to verdict.

Invariant: when `run` returns or raises, the broker and Spark have been stopped and temporary files
removed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamreasoner import app, config
from streamreasoner.demo.consumer import read_all
from streamreasoner.demo.stream import Stream, background
from streamreasoner.demo.tally import Tally
from streamreasoner.demo.verdict import compare
from streamreasoner.demo.view import StartupStep, Summary
from streamreasoner.errors import (
    BrokerError,
    ConfigError,
    EnvironmentSetupError,
    StreamReasonerError,
)
from streamreasoner.io.kafka import broker
from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.kafka.topics import create_topics
from streamreasoner.pipeline import warmup
from streamreasoner.program.load import load_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from streamreasoner.config import Config
    from streamreasoner.demo.stream import Options
    from streamreasoner.demo.view import View


class Startup:
    """Times the steps of the startup, measured from the start of the process.

    Args:
        view: Notified of each step.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._process_start = _process_start()

    def elapsed(self) -> float:
        """Seconds since the process began."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) - self._process_start

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Show a step and measure its duration."""
        began = self.elapsed()
        self._view.step(StartupStep(what, began))
        yield
        self._view.step(StartupStep(what, began, self.elapsed() - began))

    def in_background(self, what: str, work: Callable[[], None]) -> Future[None]:
        """Run a step on another thread."""

        def run() -> None:
            with self.step(what):
                work()

        return background(what, run)


def _process_start() -> float:
    """When this process began, in seconds since the machine booted; see proc_pid_stat(5)."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")


_RULES = "rho-df"
_PARTITIONS = 3


def run(options: Options, view: View) -> bool:
    """Run the demo; return whether the closure equals an evaluation from scratch.

    Raises:
        StreamReasonerError: A component does not start, or fails.
        KeyboardInterrupt: Interrupted before or after the stream; during the stream, an interrupt
            only ends the stream.
    """
    with ExitStack() as stack:
        directory = stack.enter_context(_workspace(options.state))
        stack.callback(view.close)
        try:
            return _run(options, view, directory, stack)
        except KeyboardInterrupt:
            view.finish("Interrupted; shutting down.")
            raise
        except StreamReasonerError:
            # The error is printed after the shutdown, which may take long if the broker stopped.
            view.finish("The demo failed; shutting down.")
            raise


def _run(options: Options, view: View, directory: Path, stack: ExitStack) -> bool:
    startup = Startup(view)
    compiled = startup.in_background(
        "Kernels: compiled, or loaded from the cache",
        partial(warmup.prepare, load_program(_RULES)),
    )
    server = Broker(directory / "kafka")
    settings = _start_broker(startup, stack, server, directory)
    tally = Tally()
    with startup.step("Pipeline: Spark and its Kafka connector, tables, query"):
        pipeline = stack.enter_context(app.pipeline(settings, tally))
        compiled.result()
    tally.watch(pipeline.reasoner)
    stream = stack.enter_context(
        Stream(options, settings.kafka, pipeline, tally, view, partial(_check_broker, server))
    )
    with startup.step("The university opens: first derived changes"):
        stream.await_first_change()
    first_change = startup.elapsed()
    view.stream()
    began = time.monotonic()
    reason = stream.watch(began)
    seconds = time.monotonic() - began
    view.finish(reason)
    stream.drain()
    received, published = (
        read_all(settings.kafka, topic)
        for topic in (*settings.kafka.input_topics, settings.kafka.output_topic)
    )
    verdict = compare(received, published, pipeline.reasoner)
    view.conclude(Summary(tally.snapshot(), seconds, first_change), verdict)
    return verdict.equal


@contextmanager
def _workspace(chosen: Path | None) -> Iterator[Path]:
    if chosen is None:
        directory = Path(tempfile.mkdtemp(prefix="streamreasoner-demo-"))
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        return
    try:
        chosen.mkdir(parents=True, exist_ok=True)
        used = any(chosen.iterdir())
    except OSError as error:
        raise EnvironmentSetupError(
            f"The directory {chosen} (--state) cannot be used: {error.strerror}."
        ) from None
    if used:
        raise ConfigError(f"The directory {chosen} (--state) is not empty. Choose another one.")
    yield chosen.absolute()


def _start_broker(startup: Startup, stack: ExitStack, server: Broker, directory: Path) -> Config:
    download = "" if broker.is_downloaded() else "downloaded once, then "
    with startup.step(f"Kafka: {download}a broker on this machine"):
        stack.enter_context(server)
    settings = _settings(server.bootstrap_servers, directory / "pipeline")
    with startup.step(f"Kafka: topics, {_PARTITIONS} partitions"):
        create_topics(settings.kafka, _PARTITIONS, 1)
    return settings


def _settings(servers: str, directory: Path) -> Config:
    raw = {
        "kafka": {
            "bootstrap_servers": servers,
            "input_topics": ["university"],
            "output_topic": "derived",
        },
        "rules": {"program": _RULES},
        "metrics": {"port": 0},
        "state": {"directory": str(directory)},
    }
    # The demo ignores the environment, whose variables are meant for other pipelines.
    return config.parse(raw, {}, directory)


def _check_broker(server: Broker) -> None:
    """Raise if the broker has exited; its exit status is left for `Broker` to read."""
    how = os.WEXITED | os.WNOHANG | os.WNOWAIT
    ended = None if server.pid is None else os.waitid(os.P_PID, server.pid, how)
    if ended is not None:
        by = "exited with" if ended.si_code == os.CLD_EXITED else "was killed by signal"
        raise BrokerError(f"The embedded broker {by} {ended.si_status} during the demo.")
