"""The threads of a running demo. Invariant: an error in any thread reaches the caller."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from streamreasoner.demo.consumer import follow
from streamreasoner.demo.producer import Producer
from streamreasoner.errors import BrokerError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from streamreasoner.app import Pipeline
    from streamreasoner.config import KafkaConfig
    from streamreasoner.demo.tally import Tally
    from streamreasoner.demo.view import View


def background(name: str, work: Callable[[], None]) -> Future[None]:
    """Run *work* on a daemon thread, which does not keep the process alive after a failure."""
    done: Future[None] = Future()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised where the future's result is read
            done.set_exception(error)
        else:
            done.set_result(None)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done


_POLL_SECONDS = 0.2
_SETTLE_SECONDS = 120.0
_SHUTDOWN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Options:
    """How the demo runs.

    Attributes:
        duration: Seconds of stream.
        rate: Updates per second.
        seed: Seed of the university.
        state: Where broker and pipeline keep their files; None for a temporary directory.
    """

    duration: float
    rate: float
    seed: int
    state: Path | None


class Stream:
    """The threads around a running pipeline; leaving the context stops and joins them.

    Args:
        options: How the demo runs.
        kafka: The cluster and its topics.
        pipeline: Reads the input and publishes the changes.
        tally: The pipeline's observer.
        view: Shows the stream.
        check_broker: Raises if the broker has exited.
    """

    def __init__(  # noqa: PLR0917 - the parts of the demo, wired once
        self,
        options: Options,
        kafka: KafkaConfig,
        pipeline: Pipeline,
        tally: Tally,
        view: View,
        check_broker: Callable[[], None],
    ) -> None:
        self._options = options
        self._pipeline = pipeline
        self._tally = tally
        self._view = view
        self._check_broker = check_broker
        self._stop_producer = threading.Event()
        self._stop_consumer = threading.Event()
        self._producer = Producer(
            kafka, options.seed, options.rate, tally, view.announce, self._stop_producer
        )
        self._follow = partial(follow, kafka, kafka.output_topic, tally, self._stop_consumer)
        self._futures: list[Future[None]] = []

    def __enter__(self) -> Self:
        tasks: dict[str, Callable[[], None]] = {
            "query": self._pipeline.query.wait,
            "consumer": self._follow,
            "producer": self._producer.run,
        }
        self._futures = [background(name, work) for name, work in tasks.items()]
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop_producer.set()
        self._stop_consumer.set()
        self._pipeline.query.stop()
        # After a failure a client may wait minutes for a broker that has stopped.
        wait(self._futures, None if kind is None else _SHUTDOWN_SECONDS)

    def await_first_change(self) -> None:
        """Wait until the first derived change is received.

        Raises:
            StreamReasonerError: A thread failed, or the wait timed out.
        """
        deadline = time.monotonic() + _SETTLE_SECONDS
        while not self._tally.first_change.wait(_POLL_SECONDS):
            self._check()
            if time.monotonic() > deadline:
                raise BrokerError(f"Nothing was derived within {_SETTLE_SECONDS:g} s.")

    def watch(self, began: float) -> str:
        """Show the stream until its duration has passed or Ctrl-C; return which, as text.

        Raises:
            StreamReasonerError: A thread failed.
        """
        try:
            while (elapsed := time.monotonic() - began) < self._options.duration:
                self._check()
                self._view.show(self._tally.snapshot(), elapsed)
                self._stop_producer.wait(_POLL_SECONDS)
        except KeyboardInterrupt:
            return f"Interrupted after {time.monotonic() - began:.0f} s."
        return "The stream has ended."

    def drain(self) -> None:
        """Stop sending, wait until everything is published and received, and stop the pipeline.

        Raises:
            StreamReasonerError: A thread failed, or the wait timed out.
        """
        self._stop_producer.set()
        query, _, producer = self._futures
        producer.result()
        deadline = time.monotonic() + _SETTLE_SECONDS
        while not self._tally.await_settled(_POLL_SECONDS):
            self._check()
            if time.monotonic() > deadline:
                raise BrokerError(
                    f"The stream was not consumed and published within {_SETTLE_SECONDS:g} s."
                )
        self._pipeline.query.stop()
        query.result()

    def _check(self) -> None:
        """Raise the error that ended a thread or the broker early."""
        self._check_broker()
        for future in self._futures:
            if future.done():
                future.result()
