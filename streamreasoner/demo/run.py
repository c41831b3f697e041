"""Run the demo from startup to verdict.

Invariant: when `run` returns or raises, the broker and Spark have been stopped and temporary files
removed.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from streamreasoner import config
from streamreasoner.demo.configuration import RULES, configure
from streamreasoner.demo.page import choose_address
from streamreasoner.demo.plain import summary_lines, verdict_lines
from streamreasoner.demo.stream import Stream, background, change
from streamreasoner.demo.tally import Tally
from streamreasoner.demo.verdict import compare, taken
from streamreasoner.errors import ConfigError, EnvironmentSetupError, StreamReasonerError
from streamreasoner.io.kafka import broker
from streamreasoner.io.kafka.broker import Broker
from streamreasoner.io.kafka.topics import create_topics, read_all
from streamreasoner.pipeline.warming import warmup
from streamreasoner.program.load import load_program
from streamreasoner.service import assemble

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from streamreasoner.config import Config
    from streamreasoner.demo.page import PageAddress
    from streamreasoner.demo.stream import Options, View

_PARTITIONS = 3


def run(options: Options, view: View) -> bool:
    """Run the demo; return whether the closure equals an evaluation from scratch.

    Raises:
        StreamReasonerError: A component does not start, or fails.
        KeyboardInterrupt: Interrupted before or after the stream; during the stream, an interrupt
            only ends the stream.
    """
    with ExitStack() as stack:
        directory = Path(stack.enter_context(_workspace(options.state)))
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
    compiled = background("kernels", partial(_compile, view))
    server = Broker(directory / "kafka")
    page = choose_address()
    path = directory / "pipeline.toml"
    settings = _start_broker(view, stack, server, path, page)
    [topic] = settings.kafka.input_topics
    tally = Tally(topic)
    with _step(view, "Pipeline: Spark and its Kafka connector, tables, query"):
        pipeline = stack.enter_context(assemble.pipeline(settings, tally))
        compiled.result()
    view.open(page, path)
    tally.pipeline = pipeline
    stream = stack.enter_context(Stream(options, settings.kafka, server, pipeline, tally, view))
    with _step(view, "The university opens: first derived changes"):
        stream.await_first_change()
    first_change = _age()
    view.stream()
    began = time.monotonic()
    reason = stream.watch(began)
    seconds = time.monotonic() - began
    view.finish(reason)
    stream.drain()
    received, rejected, published = (
        read_all(settings.kafka, name)
        for name in (topic, settings.kafka.dead_letter_topic, settings.kafka.output_topic)
    )
    input_ = taken(received, rejected, pipeline.position or {})
    verdict = compare(input_, map(change, published), pipeline.session)
    summary = summary_lines(tally.snapshot(), seconds, first_change)
    view.conclude([*summary, "", *verdict_lines(verdict)], equal=verdict.equal)
    view.stop("Stopping the pipeline and the broker; after a first run this takes up to a minute.")
    return verdict.equal


def _workspace(chosen: Path | None) -> AbstractContextManager[Path | str]:
    if chosen is None:
        return TemporaryDirectory(prefix="streamreasoner-demo-", ignore_cleanup_errors=True)
    try:
        chosen.mkdir(parents=True, exist_ok=True)
        used = any(chosen.iterdir())
    except OSError as error:
        raise EnvironmentSetupError(
            f"The directory {chosen} (--state) cannot be used: {error.strerror}."
        ) from None
    if used:
        raise ConfigError(
            f"The directory {chosen} (--state) is not empty. Choose another one.{_kept(chosen)}"
        )
    return nullcontext(chosen.absolute())


def _kept(directory: Path) -> str:
    """How to go on with the pipeline of a demo whose files were kept."""
    path = directory / "pipeline.toml"
    try:
        _, _, port = config.load(path, {}).kafka.bootstrap_servers.rpartition(":")
    except StreamReasonerError:
        return ""
    return (
        " To go on with the pipeline of the demo in it, start its broker with `streamreasoner"
        f" broker --directory {directory / 'kafka'} --port {port}`, then"
        f" `streamreasoner run --config {path}`."
    )


@contextmanager
def _step(view: View, what: str) -> Iterator[None]:
    """Show a step of the startup and how long it takes."""
    began = _age()
    view.step(what, began)
    yield
    now = _age()
    view.step(what, now, now - began)


def _age() -> float:
    """Seconds since this process began; see proc_pid_stat(5)."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _compile(view: View) -> None:
    what = "Kernels: compiled, or loaded from the cache"
    with _step(view, what):
        warmup.prepare(
            load_program(RULES), lambda done, total: view.progress(what, _age(), done, total)
        )


def _start_broker(
    view: View, stack: ExitStack, server: Broker, path: Path, page: PageAddress
) -> Config:
    download = "" if broker.is_downloaded() else "downloaded once, then "
    with _step(view, f"Kafka: {download}a broker on this machine"):
        stack.enter_context(server)
    settings = configure(path, server.bootstrap_servers, page)
    with _step(view, f"Kafka: topics, {_PARTITIONS} partitions"):
        create_topics(settings.kafka, _PARTITIONS, 1, settings.rules.control_topic)
    return settings
