"""The threads of a running demo. Invariant: an error in any thread reaches the caller."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import Future, wait
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamreasoner.demo.producer import Producer
from streamreasoner.demo.university import Change
from streamreasoner.errors import BrokerError
from streamreasoner.io.codec.encode import Message
from streamreasoner.io.kafka.topics import consume, produce
from streamreasoner.lang.ast import QUAD, TRIPLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from streamreasoner.config.kafka import KafkaConfig
    from streamreasoner.demo.dashboard import Dashboard
    from streamreasoner.demo.plain import PlainView
    from streamreasoner.demo.tally import Tally
    from streamreasoner.io.kafka.broker import Broker
    from streamreasoner.service.assemble import Pipeline

    View = Dashboard | PlainView


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


@dataclass(slots=True)
class Stream:
    """The threads around a running pipeline; leaving the context stops and joins them.

    Attributes:
        options: How the demo runs.
        kafka: The cluster and its topics.
        broker: The cluster's only broker.
        pipeline: Reads the input and publishes the changes.
        tally: The pipeline's observer.
        view: Shows the stream.
    """

    options: Options
    kafka: KafkaConfig
    broker: Broker
    pipeline: Pipeline
    tally: Tally
    view: View
    _stop_producer: threading.Event = field(default_factory=threading.Event)
    _stop_consumer: threading.Event = field(default_factory=threading.Event)
    _futures: list[Future[None]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._futures = [
            background("query", self.pipeline.query.wait),
            background("consumer", self._follow),
            background("producer", self._send),
        ]
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop_producer.set()
        self._stop_consumer.set()
        self.pipeline.query.stop()
        # After a failure a client may wait minutes for a broker that has stopped.
        wait(self._futures, None if kind is None else _SHUTDOWN_SECONDS)

    def await_first_change(self) -> None:
        """Wait until the first derived change is received.

        Raises:
            StreamReasonerError: A thread failed, or the wait timed out.
        """
        self._await(self.tally.first_change.wait, "Nothing was derived")

    def watch(self, began: float) -> str:
        """Show the stream until its duration has passed or Ctrl-C; return which, as text.

        Raises:
            StreamReasonerError: A thread failed.
        """
        try:
            while (elapsed := time.monotonic() - began) < self.options.duration:
                self._check()
                self.view.show(self.tally.snapshot(), elapsed)
                self._stop_producer.wait(_POLL_SECONDS)
        except KeyboardInterrupt:
            return f"Interrupted after {time.monotonic() - began:.0f} s."
        return "The stream has ended."

    def drain(self) -> None:
        """Stop sending, wait until everything sent is evaluated, and stop the pipeline.

        Raises:
            StreamReasonerError: A thread failed, or the wait timed out.
        """
        self._stop_producer.set()
        query, _, producer = self._futures
        producer.result()
        self._await(self.tally.await_settled, "The stream was not consumed and published")
        self.pipeline.query.stop()
        query.result()

    def _send(self) -> None:
        """Send the university's updates; when it returns, all of them have been delivered."""
        options, stop = self.options, self._stop_producer
        producer = Producer(options.seed, options.rate, self.tally, self.view.announce, stop)
        messages = (Message(value, key, []) for key, value in producer.messages())
        [topic] = self.kafka.input_topics
        for _ in produce(self.kafka, topic, messages, self.tally.acknowledged):
            pass

    def _follow(self) -> None:
        """Pass changes to the tally as they are committed."""
        with closing(consume(self.kafka, self.kafka.output_topic, from_beginning=True)) as polls:
            for messages in polls:
                if self._stop_consumer.is_set():
                    return
                self.tally.received([change(message) for message in messages])

    def _await(self, condition: Callable[[float], object], failure: str) -> None:
        """Wait until *condition*, which takes a timeout in seconds, returns something true."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while not condition(_POLL_SECONDS):
            self._check()
            if time.monotonic() > deadline:
                raise BrokerError(f"{failure} within {_SETTLE_SECONDS:g} s.")

    def _check(self) -> None:
        """Raise the error that ended a thread or the broker early."""
        if (code := self.broker.exit_code) is not None:
            how = f"exited with {code}" if code >= 0 else f"was killed by signal {-code}"
            raise BrokerError(f"The embedded broker {how} during the demo.")
        for future in self._futures:
            if future.done():
                future.result()


def change(message: Message) -> Change:
    """The change in a message of the output topic."""
    assert message.value is not None  # noqa: S101 - the sink of a topic of changes deletes nothing
    fields = json.loads(message.value)
    predicate = fields.get("predicate", QUAD if "g" in fields else TRIPLE)
    fact = fields["args"] if "args" in fields else [fields[key] for key in "spog" if key in fields]
    return Change(tuple(fact), fields["diff"], fields["epoch"], predicate)
